internal import Linkspan
internal import LinkspanRuntime

/// Reports that a connection's status has changed, until it is ended.
struct Following: Sendable {
    private let changes: Subscription
    private let connectionEnd: Subscription
    private let signal: AsyncStream<Void>.Continuation

    /// Begins to follow a connection, which is not kept.
    ///
    /// - Parameters:
    ///   - connection: the connection.
    ///   - interval: how often what is not told by itself is looked at.
    /// - Returns: one element for all changes since the former element, and what ends them.
    static func begin(_ connection: any Connection, _ interval: Duration) -> (AsyncStream<Void>, Following) {
        let (stream, signal) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let changes = connection.onStatusChange { _ in signal.yield() }
        // A holder that gives the connection back is told no change.
        let end = connection.onEnd {
            signal.yield()
            signal.finish()
        }
        Self.look(at: connection, every: max(interval, .milliseconds(10)), last: nil, signal)
        return (stream, Following(changes: changes, connectionEnd: end, signal: signal))
    }

    /// Ends it; the last look that is due finds that out and is not repeated.
    func end() {
        self.changes.cancel()
        self.connectionEnd.cancel()
        self.signal.finish()
    }

    /// The figures that change without a report.
    private struct Figures: Sendable, Equatable {
        let waitingCommands: Int
        let roundTrip: Duration?
    }

    private static func look(
        at connection: any Connection, every interval: Duration, last: Figures?,
        _ signal: AsyncStream<Void>.Continuation
    ) {
        let scheduler = connection.scheduler
        _ = scheduler.schedule(at: scheduler.now + interval) { [weak connection] in
            guard let connection else { return }
            let status = connection.status
            guard status.state != .released else { return }
            let figures = Figures(waitingCommands: status.waitingCommands, roundTrip: status.link?.roundTrip)
            if figures != last, case .terminated = signal.yield() { return }
            Self.look(at: connection, every: interval, last: figures, signal)
        }
    }
}
