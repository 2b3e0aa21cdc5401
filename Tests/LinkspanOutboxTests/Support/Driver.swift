#if OUTBOX && Metrics
internal import CoreMetrics
internal import Linkspan
@testable import LinkspanOutbox
internal import LinkspanRuntime
internal import LinkspanTesting
internal import Logging

/// Asks an outbox as a connection does; each call has ended when it returns.
final class Driver {
    let outbox: Outbox
    private let executor = TestExecutor()
    private let log = ReportLog()
    /// The errors that the outbox has logged.
    var reports: [ReportLog.Report] { self.log.reports }

    init(
        _ path: String, clock: OutboxClock = .system, metrics: any MetricsFactory = NOOPMetricsHandler.instance,
        _ configure: (inout OutboxOptions) -> Void = { _ in }
    ) {
        var options = OutboxOptions(configure)
        options.logger = self.log.logger
        self.outbox = Outbox(
            path: path, options: options, clock: clock, executor: self.executor,
            meters: OutboxMeters(metrics))
    }

    /// Makes calls in one job, so that they share a transaction.
    func together(_ calls: @escaping @Sendable (Outbox) -> Void) {
        self.executor.execute { [outbox] in calls(outbox) }
    }

    private func answer<Value: Sendable>(
        _ call: @escaping @Sendable (Outbox, @escaping @Sendable (Value) -> Void) -> Void
    ) -> Value {
        let answers = Lock<[Value]>([])
        self.together { outbox in call(outbox) { value in answers.withLock { $0.append(value) } } }
        let given = answers.withLock { $0 }
        precondition(given.count == 1, "\(given.count) answers")
        return given[0]
    }

    func open(_ account: String? = nil) -> Result<Void, any Error> {
        self.answer { $0.open(account: account, $1) }
    }

    func close(_ account: String? = nil) { self.together { $0.close(account: account) } }

    func keep(_ delivery: StoredDelivery) -> Result<StoredDelivery, any Error> {
        self.answer { $0.keep(delivery, $1) }
    }

    func end(_ delivery: StoredDelivery, _ outcome: Result<Payload, LinkspanError>) {
        var delivery = delivery
        delivery.outcome = outcome
        let ended = delivery
        let _: Bool = self.answer { outbox, answer in outbox.end(ended) { answer(true) } }
    }

    func find(_ key: String, _ account: String? = nil) -> Result<StoredDelivery?, any Error> {
        self.answer { $0.find(key: key, account: account, $1) }
    }

    func load(
        _ account: String? = nil, after number: UInt64 = 0, rows: Int = 1_000, bytes: Int = 1 << 20
    ) -> Result<[StoredDelivery], any Error> {
        self.answer { $0.load(account: account, after: number, rows: rows, bytes: bytes, $1) }
    }

    func confirm(_ key: String, _ account: String? = nil) -> Bool {
        self.answer { outbox, answer in
            outbox.add(perform: { try $0.confirm(key: key, account: account) }) { answer((try? $0.get()) ?? false) }
        }
    }

    func outcomes(_ account: String? = nil) -> [OutboxEntry] {
        self.answer { outbox, answer in
            outbox.add(perform: { try $0.outcomes(account: account, after: 0, limit: 1_000) }) { entries in
                answer((try? entries.get()) ?? [])
            }
        }
    }

    func session(_ account: String? = nil) -> Result<StoredSession?, any Error> {
        self.answer { $0.session(account: account, $1) }
    }

    /// Records a message as that of a connection, and says whether nothing was missed by it.
    @discardableResult
    func record(_ message: Message, _ resumption: Secret? = nil, account: String? = nil) -> Bool {
        let count = self.received(account).count
        self.together { $0.record(.message(message), account: account, resumption) }
        return self.received(account).count > count
    }

    func received(_ account: String? = nil) -> [ReceivedEntry] {
        self.answer { outbox, answer in
            outbox.add(perform: { try $0.received(account: account, after: 0, limit: 1_000) }) { entries in
                answer((try? entries.get()) ?? [])
            }
        }
    }

    func confirm(_ entry: ReceivedEntry) -> Bool {
        self.answer { outbox, answer in
            outbox.add(perform: { try $0.confirm(received: entry.number) }) { answer((try? $0.get()) ?? false) }
        }
    }

    /// Closes the file.
    func shut() { self.together { $0.closeFile() } }

    func erase(_ account: String? = nil) {
        let _: Bool = self.answer { outbox, answer in outbox.erase(account: account) { answer(true) } }
    }

    /// Opens an account, and gives the keys of all that waits in it.
    func waiting(_ account: String? = nil) throws -> [String] {
        try self.open(account).get()
        defer { self.close(account) }
        var (keys, last) = ([String](), UInt64(0))
        while true {
            let page = try self.load(account, after: last).get()
            guard let end = page.last else { return keys }
            keys += page.filter { $0.outcome == nil }.map(\.key)
            last = end.number
        }
    }
}

extension Result {
    /// The code of an outbox's error.
    var outboxCode: OutboxError.Code? {
        guard case .failure(let error) = self else { return nil }
        return (error as? OutboxError)?.code
    }
}

extension StoredDelivery {
    /// The error that it ended with.
    var failure: LinkspanError? {
        guard case .failure(let error) = self.outcome else { return nil }
        return error
    }
}

extension ReceivedEntry {
    var isGap: Bool { if case .continuity(.gap) = self.item { true } else { false } }
}

/// A delivery of a test.
func delivery(
    _ key: String, account: String? = nil, orderingKey: String = "room", _ payload: Payload = .empty,
    timeout: Duration? = nil
) -> StoredDelivery {
    StoredDelivery(
        key: key, account: account, orderingKey: orderingKey, event: "event \(key)", payload: payload, timeout: timeout)
}

/// A clock that a test sets.
final class TestClock: Sendable {
    private let moment = Lock(OutboxClock.Moment(wall: 1_000_000_000, sinceStart: 5_000))
    private let start: String

    init(start: String = "first start") { self.start = start }

    var clock: OutboxClock { OutboxClock(start: self.start) { self.moment.withLock { $0 } } }

    func advance(wall: Int64 = 0, sinceStart: Int64 = 0) {
        self.moment.withLock {
            $0.wall += wall
            $0.sinceStart += sinceStart
        }
    }
}
#endif
