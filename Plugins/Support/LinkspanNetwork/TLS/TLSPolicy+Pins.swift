extension TLSPolicy {
    /// Compares the keys of a whole verified chain with the pins, as RFC 7469 section 2.6 does.
    ///
    /// A pin may then be of an authority's key, which outlives those of its servers. What counts is the chain that was
    /// verified; the server may have sent other certificates besides.
    ///
    /// - Parameter keys: the digest of each key of the chain, nil for one that cannot be told.
    /// - Returns: the end of the attempt, nil when the pins allow the chain.
    package func problem(withKeys keys: [PublicKeyPin?]) -> ByteStreamError? {
        guard !self.pins.isEmpty || !self.revokedPins.isEmpty else { return nil }
        let pins = Set(keys.compactMap(\.self))
        guard keys.allSatisfy({ $0 != nil }) else {
            return ByteStreamError(.tls(.pinMismatch), "a key of the server's chain cannot be compared")
        }
        guard pins.isDisjoint(with: self.revokedPins) else {
            return ByteStreamError(.tls(.revokedKey), "a key of the server's chain is among the revoked pins")
        }
        guard self.pins.isEmpty || !pins.isDisjoint(with: self.pins) else {
            return ByteStreamError(.tls(.pinMismatch), "no key of the server's chain is pinned")
        }
        return nil
    }
}
