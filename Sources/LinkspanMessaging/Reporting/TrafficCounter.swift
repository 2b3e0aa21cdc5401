internal import LinkspanLifecycle
internal import LinkspanRuntime

/// Counts the messages of one connection by event, and reports the totals that have changed.
final class TrafficCounter: Sendable {
    /// The number of events that are counted apart.
    static let limit = 256

    private struct State: Sendable {
        var entries: [(event: String, totals: TrafficEvent.Totals, isChanged: Bool)] = []
        var places: [String: Int] = [:]
        /// The place that was counted at last, which is most often the next one, too.
        var last = 0
        var changed: [Int] = []
        /// Whether the connection has ended, after which nothing is reported.
        var hasEnded = false

        mutating func place(of event: String) -> Int {
            if self.last < self.entries.count, self.entries[self.last].event == event { return self.last }
            if let known = self.places[event] {
                self.last = known
            } else if self.entries.count < TrafficCounter.limit {
                self.last = self.entries.count
                self.places[event] = self.last
                self.entries.append((event, TrafficEvent.Totals(), false))
            } else {
                // All others together, behind those that are counted apart.
                self.last = TrafficCounter.limit
                if self.entries.count == TrafficCounter.limit {
                    self.entries.append(("", TrafficEvent.Totals(), false))
                }
            }
            return self.last
        }
    }

    private let connection: UInt64
    private let services: ServiceRegistry
    private let onFirstChange: @Sendable (TrafficCounter) -> Void
    // Guards the totals, and is held while they are emitted, so that reports keep their order and none follows the end. The
    // connection's executor contends with a report, once in an interval.
    private let state = Lock(State())

    /// Makes a counter.
    ///
    /// - Parameters:
    ///   - connection: the connection's number.
    ///   - services: gets the totals.
    ///   - onFirstChange: called with the first change after a report.
    init(
        of connection: UInt64, _ services: ServiceRegistry, onFirstChange: @escaping @Sendable (TrafficCounter) -> Void
    ) {
        self.connection = connection
        self.services = services
        self.onFirstChange = onFirstChange
    }

    /// Counts a message.
    func count(_ event: String, _ change: (inout TrafficEvent.Totals) -> Void) {
        let isFirst = self.state.withLock { state in
            let place = state.place(of: event)
            change(&state.entries[place].totals)
            if state.entries[place].isChanged { return false }
            state.entries[place].isChanged = true
            state.changed.append(place)
            return state.changed.count == 1
        }
        if isFirst { self.onFirstChange(self) }
    }

    /// Emits the totals that have changed since the last report.
    ///
    /// - Parameter isLast: whether the connection has ended, after which nothing more is emitted.
    func report(isLast: Bool = false) {
        self.state.withLock { state in
            if state.hasEnded { return }
            state.hasEnded = isLast
            for place in state.changed {
                let (event, totals, _) = state.entries[place]
                state.entries[place].isChanged = false
                self.services.emit(TrafficEvent(connection: self.connection, event: event, totals: totals))
            }
            state.changed = []
        }
    }
}
