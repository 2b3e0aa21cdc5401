import Linkspan

/// Describes the end of the connection in a sentence.
enum ConnectionNews {
    /// The sentence for a change of status, or nil when there is nothing to tell.
    static func sentence(for change: StatusChange, of status: ConnectionStatus, over transport: String) -> String? {
        switch change {
        case .state(let change): self.sentence(for: change, over: transport, to: status.url)
        // When the user has asked for an attempt, its failure is no change of state.
        case .progress(.waiting(let time, attempt: 2))
        where [nil, .moved].contains(status.history.last?.reason.error?.code):
            status.lastError.map { "cannot connect: \(self.words(for: $0, status.url)); \(self.retry(at: time))" }
        case .progress: nil
        }
    }

    /// Why lines are not confirmed, as far as it is known.
    static func obstacle(_ status: ConnectionStatus) -> String {
        switch status.lastError {
        case _ where status.state == .connected: "connected, but the server has not confirmed"
        case let error? where error.code != .moved: self.words(for: error, status.url)
        case _ where status.state == .disconnected: "the chat is offline"
        default: "no answer from \(self.place(of: status.url))"
        }
    }

    /// The sentence for a change of state to an adapter and its URL, or nil when there is nothing to tell.
    static func sentence(for change: StateChange, over transport: String, to url: ConnectionURL) -> String? {
        switch (change.to, change.reason) {
        case (.connected, _):
            "connected over \(transport)"
        case (.reconnecting, .lost(let error)) where error.code == .moved:
            "joining again"
        case (.reconnecting, .lost(let error)):
            "\(self.what(error, of: change, url)); \(self.retry(at: change.nextAttempt, after: change.time))"
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
        let place = self.place(of: url)
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

    private static func place(of url: ConnectionURL) -> String {
        url.host.contains(":") ? "[\(url.host)]:\(url.port)" : "\(url.host):\(url.port)"
    }

    private static func what(_ error: LinkspanError, of change: StateChange, _ url: ConnectionURL) -> String {
        // Attempts count from the last time it was up.
        guard change.attempt == 0 else { return "cannot connect: \(self.words(for: error, url))" }
        return error.code == .connectionLost ? "connection lost" : "connection lost (\(error.message))"
    }

    private static func retry(
        at time: ContinuousClock.Instant?, after now: ContinuousClock.Instant = .now
    ) -> String {
        let tenths = max(0, Int(now.duration(to: time ?? now) / .milliseconds(100)))
        return "trying again in \(tenths / 10).\(tenths % 10) s"
    }
}

extension LinkspanError {
    /// The reason behind a wait that was too long, if there is one.
    var innermost: LinkspanError {
        guard self.code == .timedOut, let cause = self.cause as? LinkspanError else { return self }
        return cause
    }
}
