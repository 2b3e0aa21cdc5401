internal import CLibwebsockets
internal import LinkspanNetwork

/// Our own look at a server's certificate, within OpenSSL's verification and before any request is sent.
struct CertificateCheck {
    let host: String
    let policy: TLSPolicy

    /// What a step of the verification comes to.
    enum Verdict {
        /// OpenSSL goes on.
        case next
        /// That was the server's own certificate, and nothing is wrong with any.
        case good
        case bad(ByteStreamError)
    }

    /// Judges one step of the verification: OpenSSL goes from the root to the server's certificate.
    ///
    /// The name is checked here too, and not left to the library: version 4.1 checks no IPv6 address, or rejects every
    /// one, depending on how it is written.
    func verdict(_ certificate: UnsafeMutablePointer<clws_certificate>) -> Verdict {
        let isFor = certificate.pointee.depth == 0 && self.isFor(certificate)
        let isOverruled = clws_certificate_problem_of(certificate) == .name && isFor
        if isOverruled { clws_certificate_overrule(certificate) }
        if let error = self.problem(certificate, isFor: isFor) { return .bad(error) }
        guard certificate.pointee.depth == 0, !isOverruled else { return .next }
        if let error = self.pinProblem(certificate) { return .bad(error) }
        return .good
    }

    private func problem(_ certificate: UnsafeMutablePointer<clws_certificate>, isFor: Bool) -> ByteStreamError? {
        let text = "certificate rejected: \(String(cString: clws_certificate_text(certificate)))"
        switch clws_certificate_problem_of(certificate) {
        case .none: return certificate.pointee.depth > 0 || isFor ? nil : self.mismatch(certificate)
        case .name: return self.mismatch(certificate)
        case .expired: return ByteStreamError(.tls(.expired), text)
        case .early: return ByteStreamError(.tls(.notYetValid), text)
        case .self_signed: return ByteStreamError(.tls(.selfSigned), text)
        case .weak: return ByteStreamError(.tls(.weakKey), text)
        case .purpose: return ByteStreamError(.tls(.wrongPurpose), text)
        case .authority: return ByteStreamError(.tls(.untrustedRoot), text)
        case .incomplete:
            let hint = "an intermediate certificate was not sent, or its authority is not trusted"
            return ByteStreamError(.tls(.incompleteChain), "\(text) (\(hint))")
        }
    }

    private func mismatch(_ certificate: UnsafeMutablePointer<clws_certificate>) -> ByteStreamError {
        guard clws_certificate_names_hosts(certificate) else {
            return ByteStreamError(
                .tls(.noSubjectAltName),
                "the certificate has no host in its subjectAltName; a common name alone does not count (RFC 9525)")
        }
        if self.isAddress { return ByteStreamError(.tls(.wrongAddress), "the certificate is not for this address") }
        guard clws_certificate_misuses_wildcard(certificate, self.host) else {
            return ByteStreamError(.tls(.wrongHost), "the certificate is for another host")
        }
        let rule = "an asterisk stands for one whole label, the first"
        return ByteStreamError(.tls(.wildcardMisuse), "the certificate's wildcard does not match the host: \(rule)")
    }

    /// Compares the keys of the whole verified chain with the pins, as RFC 7469 section 2.6 does.
    ///
    /// A pin may then be of an authority's key, which outlives those of its servers. Checked is the chain that
    /// OpenSSL has built and verified; the server may have sent other certificates besides.
    private func pinProblem(_ certificate: UnsafeMutablePointer<clws_certificate>) -> ByteStreamError? {
        guard !self.policy.pins.isEmpty || !self.policy.revokedPins.isEmpty else { return nil }
        var pins: Set<PublicKeyPin> = []
        for index in 0..<clws_chain_count(certificate) {
            var bytes = [UInt8](repeating: 0, count: Int(clws_key_digest_size))
            guard clws_chain_key_digest(certificate, index, &bytes), let pin = PublicKeyPin(digest: bytes) else {
                return ByteStreamError(.tls(.pinMismatch), "a key of the server's chain cannot be compared")
            }
            pins.insert(pin)
        }
        guard pins.isDisjoint(with: self.policy.revokedPins) else {
            return ByteStreamError(.tls(.revokedKey), "a key of the server's chain is among the revoked pins")
        }
        guard self.policy.pins.isEmpty || !pins.isDisjoint(with: self.policy.pins) else {
            return ByteStreamError(.tls(.pinMismatch), "no key of the server's chain is pinned")
        }
        return nil
    }

    private var isAddress: Bool { NumericAddress.isIPv4(self.host) || NumericAddress.isIPv6(self.host) }

    private func isFor(_ certificate: UnsafeMutablePointer<clws_certificate>) -> Bool {
        clws_certificate_is_for(certificate, self.host, self.isAddress)
    }
}
