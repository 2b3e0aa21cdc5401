internal import LinkspanNetwork
internal import LinkspanWebSocketProtocol

/// A page that follows the recording over a WebSocket.
///
/// Lives on the inspector's loop.
final class LiveFeed: ConnectionOwner {
    /// A page that is further behind than this misses batches, which a later one makes up for.
    private static let maximumWaitingBytes = 256 * 1024

    let connection: ServerConnection
    let unusedSince: ContinuousClock.Instant? = nil
    /// The position of the page in the recording.
    var cursor = PageCursor()
    /// Carries out a command of the page; nil when the page has gone.
    private let onCommand: (PageCommand?, LiveFeed) -> Void

    init(_ connection: ServerConnection, onCommand: @escaping (PageCommand?, LiveFeed) -> Void) {
        self.connection = connection
        self.onCommand = onCommand
    }

    /// Whether so little waits to be sent that the page may get another batch.
    var hasRoom: Bool { self.connection.stream.pendingBytes < Self.maximumWaitingBytes }

    /// Sends a value as JSON.
    func send(_ value: some Encodable) { self.connection.send([.text(JSONText.of(value))]) }

    func received(_ next: () -> WebSocketMessage?, on connection: ServerConnection) {
        while let message = next() {
            guard case .text(let text) = message, let command = PageCommand(text) else {
                return connection.close(.policyViolation, reason: "not a command of the inspector")
            }
            self.onCommand(command, self)
        }
    }

    func ended(_ connection: ServerConnection) { self.onCommand(nil, self) }
}
