internal import CLibwebsockets

/// Our own look at a server's certificate, within OpenSSL's verification and before any request is sent.
struct CertificateCheck {
    let host: String

    /// What is wrong at this step of the verification, nil when nothing is.
    ///
    /// The name is checked here too, and not left to the library: version 4.1 checks no IPv6 address, or rejects every
    /// one, depending on how it is written.
    func error(_ certificate: UnsafeMutablePointer<clws_certificate>) -> ByteStreamError? {
        let isFor = certificate.pointee.depth == 0 && self.isFor(certificate)
        if clws_certificate_problem_of(certificate) == .name, isFor {
            clws_certificate_overrule(certificate)
        }
        let text = String(cString: clws_certificate_text(certificate))
        switch clws_certificate_problem_of(certificate) {
        case .none:
            guard certificate.pointee.depth == 0, !isFor else { return nil }
            return ByteStreamError(.tlsHostMismatch, "the certificate is for another host")
        case .name: return ByteStreamError(.tlsHostMismatch, "certificate rejected: \(text)")
        case .time: return ByteStreamError(.tlsExpired, "certificate rejected: \(text)")
        case .authority: return ByteStreamError(.tlsUntrusted, "certificate rejected: \(text)")
        }
    }

    private func isFor(_ certificate: UnsafeMutablePointer<clws_certificate>) -> Bool {
        let isAddress = NumericAddress.isIPv4(self.host) || NumericAddress.isIPv6(self.host)
        return clws_certificate_is_for(certificate, self.host, isAddress)
    }
}
