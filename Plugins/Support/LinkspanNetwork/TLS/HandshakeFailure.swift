/// The reason why a TLS handshake failed, other than the server's certificate; the same for every back end.
package enum HandshakeFailure {
    /// The connection ended in the middle.
    case cut
    /// There is no version that both sides speak.
    case version
    /// The server refuses our certificate, or wants one.
    case identity
    /// The server speaks something else than TLS.
    case foreign
    /// Another reason, in the library's words.
    case unknown(String)

    /// The failure as the end of an attempt.
    package var error: ByteStreamError {
        switch self {
        case .cut: ByteStreamError(.tls(.handshakeCut), "the connection ended in the middle of the TLS handshake")
        case .version: ByteStreamError(.tls(.versionTooOld), "the server speaks no version of TLS that is allowed")
        case .identity:
            ByteStreamError(.tls(.clientCertificateRefused), "the server does not accept our certificate or wants one")
        case .foreign: ByteStreamError(.tls(.other), "the server does not speak TLS")
        case .unknown(let text): ByteStreamError(.tls(.other), "TLS failed: \(text)")
        }
    }
}
