#if LWS
internal import CLibwebsockets
internal import LinkspanNetwork

/// From the library's text, which is all that it tells, and from what OpenSSL told us.
extension DialFailure {
    init(_ connection: OpaquePointer, text: String, request: StreamRequest) {
        let lowercase = text.lowercased()
        clws_tls_hear_out(lws_get_ssl(connection))
        let tls = clws_tls_failure_of(lws_get_ssl(connection), TLSContext.note)
        if request.isSecure, tls == .identity || lowercase.contains("ssl") || lowercase.contains("tls") {
            self = .rejected(Self.error(tls, text))
        } else if ["read failed", "hung up", "closed", "unable to connect"].contains(where: { lowercase.contains($0) })
        {
            self = .hangUp
        } else {
            self = .answer(text)
        }
    }

    /// The failure of a connection that the library only calls closed, when the server said that it is about our
    /// certificate: in TLS 1.3 it does so after the handshake.
    static func refusedIdentity(_ connection: OpaquePointer, request: StreamRequest) -> Self? {
        guard request.isSecure else { return nil }
        clws_tls_hear_out(lws_get_ssl(connection))
        guard clws_tls_failure_of(lws_get_ssl(connection), TLSContext.note) == .identity else { return nil }
        return .rejected(Self.error(.identity, ""))
    }

    /// The same for a connection whose end was read by us.
    static func noted(_ tls: OpaquePointer) -> Self? {
        clws_tls_failure_of(tls, TLSContext.note) == .identity ? .rejected(Self.error(.identity, "")) : nil
    }

    private static func error(_ failure: clws_tls_failure, _ text: String) -> ByteStreamError {
        switch failure {
        case .cut: HandshakeFailure.cut.error
        case .version: HandshakeFailure.version.error
        case .identity: HandshakeFailure.identity.error
        case .foreign: HandshakeFailure.foreign.error
        case .unknown: HandshakeFailure.unknown(text).error
        }
    }
}
#endif
