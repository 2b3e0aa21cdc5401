internal import DequeModule
internal import Linkspan
public import LinkspanLifecycle
internal import LinkspanMessaging
internal import LinkspanRuntime

/// Keeps the latest lifecycle events in memory, for bug reports.
///
/// ```swift
/// let journal = try messaging.services.service(of: JournalService.self)
/// attach(journal.report)
/// ```
///
/// Each event of every family becomes one line, from the event's own fields: states, codes, counts,
/// times, names of events and endpoints without query and credentials. Payloads, credentials, names and digests of
/// users, and the texts of errors that handlers threw are never kept. Messages that went well are counted and not kept,
/// so that a busy connection does not push out other entries.
///
/// The journal emits nothing.
public final class JournalService: LifecycleService {
    /// The name in registries and configuration.
    public let name: ServiceName = "journal"
    /// Behind other threads, since the service only observes.
    public let urgency: Urgency = .utility
    /// Among the first, so that it sees the others start.
    public let placement = Placement(phase: .core, priority: 80)

    fileprivate struct State: Sendable {
        var options: Options
        var entries: Deque<Stamped<String>> = []
        var summary = Summary()
        var traffic = TrafficIncreases()

        mutating func makeRoom(for count: Int) {
            while self.entries.count + count > self.options.capacity, !self.entries.isEmpty {
                self.entries.removeFirst()
                self.summary.dropped += 1
            }
        }
    }

    // Guards options and entries: the thread that handles events contends with readers.
    private let state: Lock<State>
    private let now: @Sendable () -> ContinuousClock.Instant

    /// Options of the service.
    public struct Options: Sendable, Hashable, Decodable {
        /// The number of entries kept; the oldest make room.
        ///
        /// Default 256.
        public var capacity: Int

        /// Makes options; the defaults are those named at the properties.
        public init(capacity: Int = 256) { self.capacity = capacity }
    }

    /// Counts of everything that has no entry.
    package struct Summary: Sendable, Hashable {
        /// The number of entries that made room for others.
        package var dropped = 0
        /// The number of events that the journal was not given, because too many waited for it.
        package var missed = 0
        /// The number of messages sent.
        package var sent = 0
        /// The number of messages received.
        package var received = 0
        /// The number of messages that the server confirmed.
        package var acknowledged = 0

        /// Counts messages that went well; false when others did not.
        fileprivate mutating func count(_ increase: TrafficEvent.Totals) -> Bool {
            self.sent += increase.sent
            self.received += increase.received
            self.acknowledged += increase.acknowledged
            return increase.timedOut + increase.expired + increase.dropped == 0
        }
    }

    /// Makes the service.
    ///
    /// - Parameters:
    ///   - options: the options.
    ///   - now: the time, from which ``report`` counts back.
    public init(
        options: Options = Options(), now: @escaping @Sendable () -> ContinuousClock.Instant = { .now }
    ) {
        self.state = Lock(State(options: options))
        self.now = now
    }

    /// The options; a smaller capacity drops the oldest entries at once.
    public var options: Options {
        get { self.state.withLock { $0.options } }
        set {
            self.state.withLock { state in
                state.options = newValue
                state.makeRoom(for: 0)
            }
        }
    }

    /// The events that are kept, each as one line, the oldest first.
    public var entries: [Stamped<String>] { self.state.withLock { Array($0.entries) } }

    /// Counts of everything that has no entry.
    package var summary: Summary { self.state.withLock { $0.summary } }

    /// Describes an event in one line, as the report does: without payloads, credentials and names of users.
    ///
    /// - Parameter event: an event of any family; for an unknown family the entry has its name.
    /// - Returns: the line.
    package static func line(for event: any LifecycleEvent) -> String {
        ForeignText.line(EventLine(event, quotesErrors: false).text, limit: 1_000)
    }

    /// The journal as text, with the age of each entry in seconds.
    public var report: String { self.report { _ in } }

    /// The journal as text, as ``report``, with the counts of a service that counts messages itself.
    ///
    /// - Parameter count: replaces counts of the journal by others.
    /// - Returns: the text.
    package func report(count: (inout Summary) -> Void) -> String {
        let now = self.now()
        var (entries, summary) = self.state.withLock { (Array($0.entries), $0.summary) }
        count(&summary)
        let head =
            "\(entries.count) entries, \(summary.dropped) older ones dropped, \(summary.missed) events missed; messages: "
            + "\(summary.sent) sent, \(summary.acknowledged) acknowledged, \(summary.received) received"
        return ([head] + entries.map { $0.line(at: now) }).joined(separator: "\n")
    }
}

extension JournalService: AnyEventObserving {
    /// Keeps an event.
    public func on(_ event: Stamped<any LifecycleEvent>, _ scope: ServiceScope) async throws {
        let isCounted = self.state.withLock { state in
            state.summary.missed += event.gap
            if let event = event.event as? ConnectionEvent, case .released = event.kind {
                state.traffic.forget(connection: event.connection)
            }
            guard let traffic = event.event as? TrafficEvent else { return false }
            return state.summary.count(state.traffic.note(event.with(traffic)))
        }
        if isCounted { return }
        let text = Self.line(for: event.event)
        self.state.withLock { state in
            state.makeRoom(for: 1)
            guard state.options.capacity > 0 else { return }
            state.entries.append(event.with(text))
        }
    }
}

extension Stamped<String> {
    /// The event as a line of a report.
    fileprivate func line(at now: ContinuousClock.Instant) -> String {
        let (seconds, attoseconds) = self.time.duration(to: now).components
        let milliseconds = "\(1_000 + abs(attoseconds / 1_000_000_000_000_000))".dropFirst()
        var line = "-\(max(0, seconds)).\(milliseconds)s #\(self.seq) \(self.event)"
        if let cause = self.cause { line += " cause=#\(cause)" }
        if self.replayed { line += " replayed" }
        if self.gap > 0 { line += " gap=\(self.gap)" }
        return line
    }
}
