internal import Linkspan
internal import LinkspanRuntime

/// Reports that a connection's status has changed, until it is ended.
///
/// A class, because the timer that looks at the figures goes on as long as there is a reference.
final class Following: Sendable {
    private let interval: Duration
    private let changes: Subscription
    private let connectionEnd: Subscription
    private let signal: AsyncStream<Void>.Continuation

    private init(_ connection: any Connection, _ interval: Duration, _ signal: AsyncStream<Void>.Continuation) {
        self.interval = max(interval, .milliseconds(10))
        self.signal = signal
        self.changes = connection.onStatusChange { _ in signal.yield() }
        // A holder that releases the connection gets no change.
        self.connectionEnd = connection.onEnd {
            signal.yield()
            signal.finish()
        }
    }

    /// Begins to follow a connection without retaining it.
    ///
    /// - Parameters:
    ///   - connection: the connection.
    ///   - interval: how often values are read whose changes are not reported.
    /// - Returns: one element for all changes since the former element, and a function that ends the sequence.
    static func begin(_ connection: any Connection, _ interval: Duration) -> (AsyncStream<Void>, Following) {
        let (stream, signal) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let following = Following(connection, interval, signal)
        following.look(at: connection, last: nil)
        return (stream, following)
    }

    /// Ends it.
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

    private func look(at connection: any Connection, last: Figures?) {
        let scheduler = connection.scheduler
        // Weak: a timer that fires after the last reference is gone does nothing and is not repeated.
        _ = scheduler.schedule(at: scheduler.now + self.interval) { [weak self, weak connection] in
            guard let self, let connection else { return }
            let status = connection.status
            guard status.state != .released else { return }
            let figures = Figures(waitingCommands: status.waitingCommands, roundTrip: status.link?.roundTrip)
            if figures != last, case .terminated = self.signal.yield() { return }
            self.look(at: connection, last: figures)
        }
    }
}
