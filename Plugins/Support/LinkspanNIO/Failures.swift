#if NIO
internal import CNIOBoringSSL
internal import LinkspanNetwork
internal import LinkspanRuntime
internal import NIOCore
internal import NIOSSL
#if canImport(NIOTransportServices) && canImport(Network)
private import Darwin
private import Network
#endif

extension DialFailure {
    /// Reads the error of a connection that was not made.
    init(_ error: any Error) {
        #if canImport(NIOTransportServices) && canImport(Network)
        switch error as? NWError {
        case .posix(let code):
            self = .connect(SystemProblem.text(of: code.rawValue))
            return
        // Network.framework looks names up by itself.
        case .dns:
            self = .rejected(ByteStreamError(.nameNotResolved, "the host's name was not resolved: \(error)"))
            return
        default: ()
        }
        #endif
        self = .connect((error as? IOError).map { SystemProblem.text(of: $0.errnoCode) } ?? "\(error)")
    }
}

/// Whether an error of a channel says only that the connection has ended, and nothing about a failure of TLS.
func isOfTransport(_ error: any Error) -> Bool {
    #if canImport(NIOTransportServices) && canImport(Network)
    if error is NWError { return true }
    #endif
    return error is IOError || error is ChannelError
}

extension HandshakeFailure {
    /// Reads an error of the channel; nil for those that say nothing of TLS.
    init?(_ error: any Error) {
        switch error {
        case NIOSSLError.handshakeFailed(let cause): self.init(cause)
        case NIOSSLError.uncleanShutdown: self = .cut
        case let cause as BoringSSLError: self.init(cause)
        case _ where isOfTransport(error): return nil
        default: self = .unknown("\(error)")
        }
    }

    private init(_ error: BoringSSLError) {
        switch error {
        case .sslError(let stack), .unknownError(let stack):
            self = stack.lazy.compactMap { Self($0) }.first ?? .unknown("\(error)")
        case .syscallError, .zeroReturn: self = .cut
        default: self = .unknown("\(error)")
        }
    }

    /// The code of an error is in its description alone.
    private init?(_ error: BoringSSLInternalError) {
        guard error != .eofDuringHandshake else {
            self = .cut
            return
        }
        let words = error.description.split(separator: " ")
        guard words.count > 1, let code = UInt32(words[1]) else { return nil }
        switch ERR_GET_REASON(code) {
        case SSL_R_UNSUPPORTED_PROTOCOL, SSL_R_WRONG_SSL_VERSION,
            SSL_AD_REASON_OFFSET + SSL_AD_PROTOCOL_VERSION:
            self = .version
        case SSL_R_WRONG_VERSION_NUMBER, SSL_R_HTTP_REQUEST: self = .foreign
        case let reason where Self.identityAlerts.contains(reason - SSL_AD_REASON_OFFSET): self = .identity
        default: return nil
        }
    }

    /// The alerts of a server about this side's certificate.
    private static let identityAlerts: Set<CInt> = [
        SSL_AD_BAD_CERTIFICATE, SSL_AD_UNSUPPORTED_CERTIFICATE, SSL_AD_CERTIFICATE_REVOKED, SSL_AD_CERTIFICATE_EXPIRED,
        SSL_AD_CERTIFICATE_UNKNOWN, SSL_AD_UNKNOWN_CA, SSL_AD_ACCESS_DENIED, SSL_AD_CERTIFICATE_REQUIRED,
    ]
}
#endif
