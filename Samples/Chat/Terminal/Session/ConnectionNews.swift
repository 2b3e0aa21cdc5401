import Linkspan

/// Describes the end of the connection in a sentence.
enum ConnectionNews {
    /// The sentence for a change of state to an adapter and its URL, or nil when there is nothing to tell.
    static func sentence(for change: StateChange, over transport: String, to url: ConnectionURL) -> String? {
        switch (change.to, change.reason) {
        case (.connected, _):
            "connected over \(transport)"
        case (.reconnecting, .lost(let error)) where error.code == .moved:
            "joining again"
        case (.reconnecting, .lost(let error)):
            "\(self.what(error, of: change, url)); trying again in \(self.seconds(change))"
        case (.reconnecting, _):
            "connecting again"
        case (.disconnected, .failed(let error)):
            "\(self.words(for: error, url)); giving up"
        case (.disconnected, .requested), (.disconnected, .unoccupied):
            "disconnected"
        case (.disconnected, _), (.created, _), (.released, _):
            nil
        }
    }

    /// Why a connection could not be made, and what may help, for somebody who has typed the URL.
    static func words(for error: LinkspanError, _ url: ConnectionURL) -> String {
        let place = url.host.contains(":") ? "[\(url.host)]:\(url.port)" : "\(url.host):\(url.port)"
        return switch error.code {
        case .connectionLost: "no answer from \(place): is a server running there? (\(error.message))"
        case .nameNotResolved: "there is no host '\(url.host)' (\(error.message))"
        case .serverUnavailable: "\(place) cannot serve now (\(error.message))"
        case .tlsFailed: "no secure connection to \(place) (\(error.message))"
        case .protocolViolation, .unsupportedVersion, .refused:
            "\(place) does not take this connection: are transport and path right? (\(error.message))"
        default: error.message
        }
    }

    private static func what(_ error: LinkspanError, of change: StateChange, _ url: ConnectionURL) -> String {
        // Attempts count from the last time it was up.
        guard change.attempt == 0 else { return "cannot connect: \(self.words(for: error, url))" }
        return error.code == .connectionLost ? "connection lost" : "connection lost (\(error.message))"
    }

    private static func seconds(_ change: StateChange) -> String {
        let wait = change.nextAttempt.map { change.time.duration(to: $0) } ?? .zero
        let tenths = Int((Double(wait.components.seconds) + Double(wait.components.attoseconds) / 1e18) * 10)
        return "\(tenths / 10).\(tenths % 10) s"
    }
}
