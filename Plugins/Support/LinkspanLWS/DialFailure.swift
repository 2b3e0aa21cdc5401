internal import CLibwebsockets
internal import LinkspanNetwork

/// Why the library gave a connection up: from its text, which is all that it tells, and from what OpenSSL told us.
enum DialFailure {
    /// There was no TCP connection.
    case connect
    /// The proxy took the connection and led it nowhere.
    case proxy
    /// TCP was there, TLS failed.
    case tls(ByteStreamError)
    /// The peer hung up.
    case hangUp
    /// The peer's answer could not be understood.
    case answer(String)

    init(_ connection: OpaquePointer, text: String, request: UpgradeRequest) {
        let lowercase = text.lowercased()
        clws_tls_hear_out(lws_get_ssl(connection))
        let tls = clws_tls_failure_of(lws_get_ssl(connection), TLSContext.note)
        if request.proxy != nil, lowercase.contains("proxy") {
            self = .proxy
        } else if request.isSecure, tls == .identity || lowercase.contains("ssl") || lowercase.contains("tls") {
            self = .tls(Self.error(tls, text))
        } else if lowercase.contains("read failed") || lowercase.contains("hung up") || lowercase.contains("closed") {
            self = .hangUp
        } else if lowercase.contains("connect") && !clws_has_peer(connection) {
            self = .connect
        } else {
            self = .answer(text)
        }
    }

    /// The failure of a connection that the library only calls closed, when the server said that it is about our
    /// certificate: in TLS 1.3 it does so after the handshake.
    static func refusedIdentity(_ connection: OpaquePointer, request: UpgradeRequest) -> Self? {
        guard request.isSecure else { return nil }
        clws_tls_hear_out(lws_get_ssl(connection))
        guard clws_tls_failure_of(lws_get_ssl(connection), TLSContext.note) == .identity else {
            return nil
        }
        return .tls(Self.error(.identity, ""))
    }

    /// The same for an open stream, whose end was read by us.
    static func noted(_ tls: OpaquePointer) -> Self? {
        clws_tls_failure_of(tls, TLSContext.note) == .identity ? .tls(Self.error(.identity, "")) : nil
    }

    /// The error when the request had been sent.
    var duringUpgrade: ByteStreamError {
        switch self {
        case .connect, .hangUp, .proxy: ByteStreamError(.closedByPeer, "closed before the request was answered")
        case .tls(let error): error
        case .answer(let text): ByteStreamError(.handshakeMalformed, "the answer is not understood: \(text)")
        }
    }

    private static func error(_ failure: clws_tls_failure, _ text: String) -> ByteStreamError {
        switch failure {
        case .cut: ByteStreamError(.tls(.handshakeCut), "the connection ended in the middle of the TLS handshake")
        case .version: ByteStreamError(.tls(.versionTooOld), "the server speaks no version of TLS that is allowed")
        case .identity:
            ByteStreamError(.tls(.clientCertificateRefused), "the server does not accept our certificate or wants one")
        case .foreign: ByteStreamError(.tls(.other), "TLS failed: the server does not speak TLS")
        case .unknown: ByteStreamError(.tls(.other), "TLS failed: \(text)")
        }
    }
}
