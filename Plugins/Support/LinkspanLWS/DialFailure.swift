/// Why the library gave a connection up, read from its text, which is all that it tells.
enum DialFailure {
    /// There was no TCP connection.
    case connect
    /// TCP was there, TLS failed.
    case tls(String)
    /// The peer hung up.
    case hangUp
    /// The peer's answer could not be understood.
    case answer(String)

    init(text: String, isSecure: Bool, isConnected: Bool) {
        let lowercase = text.lowercased()
        if isSecure, lowercase.contains("ssl") || lowercase.contains("tls") {
            self = .tls(text)
        } else if lowercase.contains("read failed") || lowercase.contains("hung up") || lowercase.contains("closed") {
            self = .hangUp
        } else if lowercase.contains("connect") && !isConnected {
            self = .connect
        } else {
            self = .answer(text)
        }
    }

    /// The error when the request had been sent.
    var duringUpgrade: ByteStreamError {
        switch self {
        case .connect, .hangUp: ByteStreamError(.closedByPeer, "closed before the request was answered")
        case .tls(let text): ByteStreamError(.tlsFailed, "TLS failed: \(text)")
        case .answer(let text): ByteStreamError(.handshakeMalformed, "the answer is not understood: \(text)")
        }
    }
}
