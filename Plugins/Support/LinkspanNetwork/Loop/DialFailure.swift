/// The reason why a back end gave a connection up before the stream was open.
package enum DialFailure {
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

    /// The error when the request had been sent.
    package var duringUpgrade: ByteStreamError {
        switch self {
        case .connect, .hangUp, .proxy: ByteStreamError(.closedByPeer, "closed before the request was answered")
        case .tls(let error): error
        case .answer(let text): ByteStreamError(.handshakeMalformed, "the answer is not understood: \(text)")
        }
    }
}
