#if LWS
internal import CLibwebsockets
internal import LinkspanNetwork

/// Our own look at a server's certificate, within OpenSSL's verification and before any request is sent.
struct CertificateCheck {
    let host: String
    let policy: TLSPolicy

    /// The result of a step of the verification.
    enum Verdict {
        /// OpenSSL goes on.
        case next
        /// The server's own certificate is reached, and nothing is wrong with any.
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
        let failure: TLSFailure
        switch clws_certificate_problem_of(certificate) {
        case .none:
            guard certificate.pointee.depth == 0, !isFor else { return nil }
            failure = self.mismatch(certificate)
        case .name: failure = self.mismatch(certificate)
        case .expired: failure = .expired
        case .early: failure = .notYetValid
        case .self_signed: failure = .selfSigned
        case .weak: failure = .weakKey
        case .purpose: failure = .wrongPurpose
        case .authority: failure = .untrustedRoot
        case .incomplete: failure = .incompleteChain
        }
        return failure.rejection(String(cString: clws_certificate_text(certificate)))
    }

    private func mismatch(_ certificate: UnsafeMutablePointer<clws_certificate>) -> TLSFailure {
        guard clws_certificate_names_hosts(certificate) else { return .noSubjectAltName }
        if self.isAddress { return .wrongAddress }
        return clws_certificate_misuses_wildcard(certificate, self.host) ? .wildcardMisuse : .wrongHost
    }

    /// The chain in DER as far as OpenSSL has built it, the server's certificate first.
    func chain(_ certificate: UnsafeMutablePointer<clws_certificate>) -> [[UInt8]] {
        (0..<clws_chain_count(certificate)).map { index in
            var bytes = [UInt8](repeating: 0, count: Int(max(0, clws_chain_der(certificate, index, nil))))
            _ = clws_chain_der(certificate, index, &bytes)
            return bytes
        }
    }

    /// Compares the keys of the chain that OpenSSL has built and verified.
    private func pinProblem(_ certificate: UnsafeMutablePointer<clws_certificate>) -> ByteStreamError? {
        let keys = (0..<clws_chain_count(certificate)).map { index in
            var bytes = [UInt8](repeating: 0, count: Int(clws_key_digest_size))
            return clws_chain_key_digest(certificate, index, &bytes) ? PublicKeyPin(digest: bytes) : nil
        }
        return self.policy.problem(withKeys: keys)
    }

    private var isAddress: Bool { NumericAddress.isIPv4(self.host) || NumericAddress.isIPv6(self.host) }

    private func isFor(_ certificate: UnsafeMutablePointer<clws_certificate>) -> Bool {
        clws_certificate_is_for(certificate, self.host, self.isAddress)
    }
}
#endif
