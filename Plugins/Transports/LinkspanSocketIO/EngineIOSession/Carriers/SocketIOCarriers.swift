/// The carriers of Engine.IO packets.
public enum SocketIOCarriers: String, Sendable, Hashable, CaseIterable {
    /// A WebSocket from the start: one connection, the shortest way.
    case webSocket = "websocket"
    /// Long polling alone: HTTP requests, for networks that let nothing else through.
    case polling
    /// Long polling at first, and a WebSocket as soon as one has proved itself.
    ///
    /// What the reference client does. Polls need sticky sessions: where two sessions were lost for the lack of them, the
    /// next ten minutes begin with a WebSocket.
    case upgrade
    /// A WebSocket, and long polling where none can be opened.
    ///
    /// When the failure was about WebSockets, and not about a busy or absent server, one is tried beside the session
    /// every ten minutes, and sessions that begin within the next ten minutes poll first and probe at once.
    case fallback
}
