/// The reason why a back end gave a connection up before the stream was open.
package enum DialFailure {
    /// There was no TCP connection, for this reason.
    case connect(String)
    /// TCP was there; the proxy or the TLS handshake failed.
    case rejected(ByteStreamError)
    /// The peer hung up.
    case hangUp
    /// The peer's answer could not be understood.
    case answer(String)

    /// The error when the request had been sent.
    package var duringUpgrade: ByteStreamError {
        switch self {
        case .connect, .hangUp: ByteStreamError(.closedByPeer, "closed before the request was answered")
        case .rejected(let error): error
        case .answer(let text): ByteStreamError(.handshakeMalformed, "the answer is not understood: \(text)")
        }
    }

    /// The reason as text, for the error of a host of which no address was of use.
    var reason: String {
        switch self {
        case .connect(let text), .answer(let text): text
        case .rejected(let error): error.message
        case .hangUp: "the connection was closed at once"
        }
    }
}
