#if OUTBOX
internal import CoreMetrics
public import Linkspan
public import LinkspanRuntime

/// A store of deliveries in an SQLite file: they survive the process, even after `kill -9`.
///
/// ```swift
/// let outbox = Outbox(path: folder + "/outbox.sqlite")
/// let handler = try ConnectionBuilder(url).transport(.socketIO)
///     .credentials(.fixed(credentials, account: "ann"))
///     .options { $0.store = outbox }
///     .connect(by: manager)
/// let key = try await handler.enqueue("say", "hello")
/// ```
///
/// Accepted means committed: SQLite has written the row to the disk (WAL, `synchronous = FULL`, `F_FULLFSYNC` on
/// Apple's platforms) before `enqueue` returns or anything is sent. What many callers hand over while a commit is
/// written becomes one commit. All of it happens on an executor of the outbox, never on that of a connection.
///
/// One outbox has a file open at a time. The file is made with mode 0600; beside it lie `-wal` and `-shm` of SQLite,
/// `-lock`, and `-reserve`, which is given up when the disk is full so that outcomes can still be recorded.
///
/// Outcomes stay until they are confirmed; see ``confirm(key:account:)``.
public final class Outbox: DeliveryStore {
    /// The executor on which the file is used.
    public let executor: any JobExecutor
    /// The file.
    public let path: String
    private let confined: Confined<OutboxEngine>
    private let gauge = OutboxGauge()

    /// The counts of deliveries in the file, and why no more are accepted; nil before the file was first opened.
    public var summary: String? { self.gauge.summary }
    /// The number of deliveries in the file that wait; nil before it was first opened.
    public var waitingCount: Int? { self.gauge.waitingCount }

    /// Makes an outbox; its file is opened, or made, when it is first used.
    ///
    /// - Parameters:
    ///   - path: the file, in a folder that is there.
    ///   - configure: changes the options.
    public convenience init(path: String, _ configure: (inout OutboxOptions) -> Void = { _ in }) {
        self.init(
            path: path, options: OutboxOptions(configure), clock: .system,
            executor: SystemScheduler.makeExecutor(label: "linkspan.outbox"),
            meters: OutboxMeters(MetricsSystem.factory))
    }

    init(
        path: String, options: OutboxOptions, clock: OutboxClock, executor: any JobExecutor, meters: OutboxMeters
    ) {
        self.path = path
        self.executor = executor
        self.confined = Confined(
            OutboxEngine(path: path, options: options, clock: clock, gauge: self.gauge, meters: meters), to: executor)
    }

    /// The state of the outbox, for callers on the executor.
    var engine: OutboxEngine { self.confined.value }

    /// Performs `body` in the next transaction, and answers after its commit; called on the executor.
    func add<Answer>(
        _ kind: OutboxCall.Kind = .other, perform body: @escaping (inout OutboxTable) throws -> Answer,
        answer: @escaping (Result<Answer, OutboxError>) -> Void = { _ in }
    ) {
        let mustBegin = self.engine.add(OutboxCall(kind, perform: body, answer: answer))
        // Behind the jobs that are here already: their calls are part of the same transaction.
        if mustBegin { self.executor.execute { self.performCalls() } }
    }

    func performCalls() {
        guard !self.engine.performCalls() else { return }
        self.executor.schedule(at: .now + .milliseconds(250)) { self.performCalls() }
    }
}

// MARK: - Calls of connections

extension Outbox {
    /// Opens an account's rows for one connection at a time.
    public func open(account: String?, _ answer: @escaping @Sendable (Result<Void, any Error>) -> Void) {
        self.add {
            $0.totals.lastNumber
        } answer: { [engine] last in
            switch last {
            case .success(let last): engine.open(account, last: last, answer)
            case .failure(let error): answer(.failure(error))
            }
        }
    }

    /// Answers with rows that were there when the account was opened and have no outcome.
    public func load(
        account: String?, after number: UInt64, rows: Int, bytes: Int,
        _ answer: @escaping @Sendable (Result<[StoredDelivery], any Error>) -> Void
    ) {
        let last = self.engine.last(account)
        self.add {
            try $0.waiting(account: account, after: number, upTo: last, rows: rows, bytes: bytes)
        } answer: { [engine] page in
            if let page = try? page.get() { engine.meters.retried(page.count { $0.outcome == nil }) }
            answer(page.map { $0.map(engine.withLateOutcome) }.mapError { $0 })
        }
    }

    /// Keeps a delivery, and answers when it is committed.
    public func keep(
        _ delivery: StoredDelivery, _ answer: @escaping @Sendable (Result<StoredDelivery, any Error>) -> Void
    ) {
        self.add(.keep) { table in
            table.options.onStep?(OutboxStep.keeping.rawValue)
            let kept = try table.keep(delivery)
            table.options.onStep?(OutboxStep.kept.rawValue)
            return kept
        } answer: { [engine] kept in
            if case .success = kept { engine.options.onStep?(OutboxStep.keepCommitted.rawValue) }
            answer(kept.mapError { $0 }.flatMap { $0.map(engine.withLateOutcome) })
        }
    }

    /// Records an outcome; one that cannot be recorded is tried again with each later commit.
    public func end(_ delivery: StoredDelivery, _ answer: @escaping @Sendable () -> Void) {
        self.add { table in
            table.options.onStep?(OutboxStep.ending.rawValue)
            try table.end(delivery)
        } answer: { [engine] ended in
            switch ended {
            case .success: engine.options.onStep?(OutboxStep.endCommitted.rawValue)
            case .failure(let error): engine.keepForLater(delivery, error)
            }
            answer()
        }
    }

    /// Records how often the server has asked for a delivery to come later.
    ///
    /// When that fails, the next process counts from the number recorded before.
    public func postpone(_ delivery: StoredDelivery) { self.add { try $0.postpone(delivery) } }

    /// Answers with the row of a key.
    public func find(
        key: String, account: String?, _ answer: @escaping @Sendable (Result<StoredDelivery?, any Error>) -> Void
    ) {
        self.add {
            try $0.find(key: key, account: account)
        } answer: { [engine] found in
            answer(found.map { $0.map(engine.withLateOutcome) }.mapError { $0 })
        }
    }

    /// Closes an account, and opens it for the connection that has waited longest.
    public func close(account: String?) {
        self.add {
            $0.totals.lastNumber
        } answer: { [engine] last in
            engine.close(account, last: (try? last.get()) ?? 0)
        }
    }

    /// Erases all rows of an account, with their outcomes.
    public func erase(account: String?, _ answer: @escaping @Sendable () -> Void) {
        self.add {
            try $0.erase(account: account)
        } answer: { [engine] erased in
            if case .success = erased { engine.forgetOutcomes { $0.account == account } }
            answer()
        }
    }
}
#else
/// The store of deliveries on disk, which is not built in.
@available(*, unavailable, message: "not built in: switch the trait Outbox of the package linkspan on")
public enum Outbox {}
#endif
