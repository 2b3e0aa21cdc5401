// swift-format-ignore-file
// SwiftNIO's words for TLS.
public enum TLSUserEvent: Equatable, Sendable {
    case handshakeCompleted(negotiatedProtocol: String?)
    case shutdownCompleted
}
