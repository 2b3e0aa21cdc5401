/// The problem of a server's certificate or the chain above it; the same for every back end.
package enum CertificateProblem: Hashable {
    case expired, notYetValid, selfSigned, weak, purpose
    /// The chain leads to an authority that is not trusted.
    case authority
    /// The chain leads nowhere: the issuer was not sent and is not known.
    case incomplete
    /// The certificate is not for the host.
    case name(Mismatch)

    /// How a certificate fails to match the host.
    package enum Mismatch: Hashable {
        /// It has no host in its subjectAltName.
        case noHost
        case address, host, wildcard
    }

    /// The problem as the end of an attempt, in the library's words.
    package func error(_ text: String) -> ByteStreamError {
        let text = "certificate rejected: \(text)"
        switch self {
        case .expired: return ByteStreamError(.tls(.expired), text)
        case .notYetValid: return ByteStreamError(.tls(.notYetValid), text)
        case .selfSigned: return ByteStreamError(.tls(.selfSigned), text)
        case .weak: return ByteStreamError(.tls(.weakKey), text)
        case .purpose: return ByteStreamError(.tls(.wrongPurpose), text)
        case .authority: return ByteStreamError(.tls(.untrustedRoot), text)
        case .incomplete:
            let hint = "an intermediate certificate was not sent, or its authority is not trusted"
            return ByteStreamError(.tls(.incompleteChain), "\(text) (\(hint))")
        case .name(let mismatch): return Self.error(mismatch)
        }
    }

    private static func error(_ mismatch: Mismatch) -> ByteStreamError {
        switch mismatch {
        case .noHost:
            return ByteStreamError(
                .tls(.noSubjectAltName),
                "the certificate has no host in its subjectAltName; a common name alone does not count (RFC 9525)")
        case .address: return ByteStreamError(.tls(.wrongAddress), "the certificate is not for this address")
        case .host: return ByteStreamError(.tls(.wrongHost), "the certificate is for another host")
        case .wildcard:
            let rule = "an asterisk stands for one whole label, the first"
            return ByteStreamError(.tls(.wildcardMisuse), "the certificate's wildcard does not match the host: \(rule)")
        }
    }
}

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
