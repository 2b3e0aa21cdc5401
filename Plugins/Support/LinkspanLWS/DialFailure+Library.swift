#if LWS
internal import CLibwebsockets
internal import LinkspanNetwork

/// From the library's text, which is all that it tells, and from what OpenSSL told us.
extension DialFailure {
    init(_ connection: OpaquePointer, text: String, request: UpgradeRequest) {
        let lowercase = text.lowercased()
        clws_tls_hear_out(lws_get_ssl(connection))
        let tls = clws_tls_failure_of(lws_get_ssl(connection), TLSContext.note)
        if request.isSecure, tls == .identity || lowercase.contains("ssl") || lowercase.contains("tls") {
            self = .rejected(Self.error(tls, text))
        } else if ["read failed", "hung up", "closed", "unable to connect"].contains(where: { lowercase.contains($0) })
        {
            self = .hangUp
        } else if lowercase.contains("problems parsing header") {
            self = .rejected(Self.longHead)
        } else {
            self = .answer(text)
        }
    }

    /// The failure of a connection that the library only calls closed, when the server said that it is about our
    /// certificate: in TLS 1.3 it does so after the handshake.
    static func refusedIdentity(_ connection: OpaquePointer, request: UpgradeRequest) -> Self? {
        guard request.isSecure else { return nil }
        clws_tls_hear_out(lws_get_ssl(connection))
        guard clws_tls_failure_of(lws_get_ssl(connection), TLSContext.note) == .identity else { return nil }
        return .rejected(Self.error(.identity, ""))
    }

    /// The same for an open stream, whose end was read by us.
    static func noted(_ tls: OpaquePointer) -> Self? {
        clws_tls_failure_of(tls, TLSContext.note) == .identity ? .rejected(Self.error(.identity, "")) : nil
    }

    // The library skips lines of an answer that it does not understand, and gives a head up only when it has no room or no
    // place left for a field; it does not tell which, or how much there was. It says the same of two mistakes that no server
    // makes by accident: a line that is a request with an impossible path, and in later versions a NUL.
    private static let longHead = ByteStreamError(
        .answerHeadTooLong,
        "the answer's head has more than \(Int(clws_header_size)) bytes, or more fields than are accepted here")

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
