extension TLSFailure {
    /// The end of an attempt in which the server's certificate, or the chain above it, is rejected for this reason; the same
    /// for every back end.
    ///
    /// - Parameter text: the reason in the library's words.
    /// - Returns: the error.
    package func rejection(_ text: String) -> ByteStreamError {
        let hint =
            self == .incompleteChain
            ? " (an intermediate certificate was not sent, or its authority is not trusted)" : ""
        return ByteStreamError(.tls(self), self.mismatch ?? "certificate rejected: \(text)\(hint)")
    }

    /// The sentence for a certificate that is not for the host; nil for other reasons.
    private var mismatch: String? {
        switch self {
        case .noSubjectAltName:
            "the certificate has no host in its subjectAltName; a common name alone does not count (RFC 9525)"
        case .wrongAddress: "the certificate is not for this address"
        case .wrongHost: "the certificate is for another host"
        case .wildcardMisuse:
            "the certificate's wildcard does not match the host: an asterisk stands for one whole label, the first"
        default: nil
        }
    }
}
