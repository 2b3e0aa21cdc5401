/// A step of opening a byte stream, named by the error when it takes too long.
package enum OpeningStage: Sendable, Hashable {
    /// The address of a name.
    case resolving(Peer)
    /// The TCP connection.
    case connecting(Peer)
    /// The proxy's connection to the server.
    case proxy
    /// The TLS handshake with the server.
    case tls
    /// The answer to the request for an upgrade.
    case upgrade
    /// The answer to another HTTP request.
    case answer

    /// The host at the other end.
    package enum Peer: String, Sendable {
        /// The server that is asked for.
        case server
        /// The proxy on the way to it.
        case proxy
    }
}

extension OpeningStage: CustomStringConvertible {
    /// The stage as an activity, such as `resolving the server's name`.
    package var description: String {
        switch self {
        case .resolving(let peer): "resolving the \(peer.rawValue)'s name"
        case .connecting(let peer): "connecting to the \(peer.rawValue) by TCP"
        case .proxy: "waiting for the proxy to reach the server"
        case .tls: "waiting for the TLS handshake"
        case .upgrade: "waiting for the answer to the WebSocket upgrade"
        case .answer: "waiting for the answer to the HTTP request"
        }
    }
}
