import Linkspan

/// Says in a sentence what became of the connection.
enum ConnectionNews {
    /// The sentence for a change, or nil when there is nothing to tell.
    static func sentence(for change: StateChange, over transport: String) -> String? {
        switch (change.to, change.reason) {
        case (.connected, _):
            "connected over \(transport)"
        case (.reconnecting, .lost(let error)) where error.code == .moved:
            "entering anew"
        case (.reconnecting, .lost(let error)):
            "\(self.what(error, of: change)); trying again in \(self.seconds(change))"
        case (.reconnecting, _):
            "connecting again"
        case (.disconnected, .failed(let error)):
            "\(error.message); giving up"
        case (.disconnected, .requested), (.disconnected, .unoccupied):
            "disconnected"
        case (.disconnected, _), (.created, _), (.released, _):
            nil
        }
    }

    private static func what(_ error: LinkspanError, of change: StateChange) -> String {
        // Attempts count from the last time it was up.
        guard change.attempt == 0 else { return "cannot connect (\(error.message))" }
        return error.code == .connectionLost ? "connection lost" : "connection lost (\(error.message))"
    }

    private static func seconds(_ change: StateChange) -> String {
        let wait = change.nextAttempt.map { change.time.duration(to: $0) } ?? .zero
        let tenths = Int((Double(wait.components.seconds) + Double(wait.components.attoseconds) / 1e18) * 10)
        return "\(tenths / 10).\(tenths % 10) s"
    }
}
