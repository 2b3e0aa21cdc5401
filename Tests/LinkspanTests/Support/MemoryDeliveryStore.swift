internal import Dispatch
internal import Linkspan
internal import LinkspanRuntime

/// A store of deliveries in memory, in place of a durable one.
///
/// A test decides when rows are committed, or refuses them, by ``onCommit(_:)``; a store made of another one's rows is what
/// the next process finds after the death of this one.
final class MemoryDeliveryStore: DeliveryStore {
    /// Decides about a row: calls its second argument with nil when the row is committed, or with an error to refuse
    /// it.
    typealias CommitHandler = @Sendable (StoredDelivery, @escaping @Sendable ((any Error)?) -> Void) -> Void

    /// The executor of the store.
    let executor: any JobExecutor
    /// Whether it has keys of its own for deliveries whose keys were made.
    private let namesKeys: Bool
    private let state: Confined<State>

    private struct State {
        var contents: [StoredDelivery]
        var lastNumber: UInt64
        /// The numbers of rows about which the handler has not decided.
        var undecided: Set<UInt64> = []
        var onCommit: CommitHandler = { _, decide in decide(nil) }
        var openings: [String?: Opening] = [:]
        var sessions: [String?: StoredSession] = [:]

        init(_ contents: [StoredDelivery], _ sessions: [String?: StoredSession]) {
            self.sessions = sessions
            self.contents = contents
            self.lastNumber = contents.last?.number ?? 0
        }

        func index(_ key: String, _ account: String?) -> Int? {
            self.contents.firstIndex { $0.key == key && $0.account == account }
        }
    }

    /// An account that a connection has open, and the connections that wait for it.
    private struct Opening {
        /// The last row that there was.
        var last: UInt64
        var hasTakenSession = false
        var waiting: [@Sendable (Result<Void, any Error>) -> Void] = []
    }

    /// Makes a store.
    ///
    /// - Parameters:
    ///   - executor: its executor; one of its own by default. The executor of a ``VirtualScheduler`` makes a test
    ///     deterministic.
    ///   - namesKeys: whether it has keys of its own for deliveries whose keys were made.
    ///   - former: a store whose committed rows it begins with, like the next process.
    init(
        executor: any JobExecutor = SystemScheduler.makeExecutor(label: "linkspan.store"), namesKeys: Bool = false,
        rowsOf former: MemoryDeliveryStore? = nil
    ) {
        self.executor = executor
        self.namesKeys = namesKeys
        self.state = Confined(State(former?.rows ?? [], former?.sessions ?? [:]), to: executor)
    }

    /// The committed rows, those with outcomes included, in the order of their numbers.
    ///
    /// Waits for earlier work of the executor.
    var rows: [StoredDelivery] {
        self.wait { self.state.value.contents.filter { !self.state.value.undecided.contains($0.number) } }
    }

    /// The last session of each account.
    var sessions: [String?: StoredSession] { self.wait { self.state.value.sessions } }

    /// Sets a handler that decides about each commit; it is called on the executor.
    func onCommit(_ handler: @escaping CommitHandler) { self.wait { self.state.value.onCommit = handler } }

    /// Runs `body` on the executor.
    private func wait<Answer: Sendable>(_ body: @escaping @Sendable () -> Answer) -> Answer {
        guard !self.executor.isCurrent else { return body() }
        let (answer, isAnswered) = (Lock<Answer?>(nil), DispatchSemaphore(value: 0))
        self.executor.execute {
            let given = body()
            answer.withLock { $0 = given }
            isAnswered.signal()
        }
        isAnswered.wait()
        guard let given = answer.withLock({ $0 }) else { preconditionFailure("signalled without an answer") }
        return given
    }
}

// MARK: - Calls of connections

extension MemoryDeliveryStore {
    var summary: String? { nil }
    var waitingCount: Int? { nil }

    /// Opens an account's rows for one connection at a time.
    func open(account: String?, _ answer: @escaping @Sendable (Result<Void, any Error>) -> Void) {
        guard self.state.value.openings[account] == nil else {
            self.state.value.openings[account]?.waiting.append(answer)
            return
        }
        self.state.value.openings[account] = Opening(last: self.state.value.lastNumber)
        answer(.success(()))
    }

    /// Answers with rows that have no outcome.
    func load(
        account: String?, after number: UInt64, rows: Int, bytes: Int,
        _ answer: @escaping @Sendable (Result<[StoredDelivery], any Error>) -> Void
    ) {
        let last = self.state.value.openings[account]?.last ?? 0
        let meant = self.state.value.contents.lazy.filter {
            $0.account == account && $0.outcome == nil && $0.number > number && $0.number <= last
        }
        var (page, size) = ([StoredDelivery](), 0)
        for row in meant.prefix(rows) {
            size += row.payload.byteCount
            guard page.isEmpty || size <= bytes else { break }
            page.append(row)
        }
        answer(.success(page))
    }

    /// Keeps a delivery, unless there is one of the same key, and answers when the handler has decided.
    func keep(
        _ delivery: StoredDelivery, _ answer: @escaping @Sendable (Result<StoredDelivery, any Error>) -> Void
    ) {
        if let index = self.state.value.index(delivery.key, delivery.account) {
            return answer(.success(self.state.value.contents[index]))
        }
        self.state.value.lastNumber += 1
        var row = delivery
        row.number = self.state.value.lastNumber
        if self.namesKeys, row.hasMadeKey { row.key = "row \(row.number)" }
        self.state.value.contents.append(row)
        self.state.value.undecided.insert(row.number)
        let decide = self.state.value.onCommit
        decide(row) { [self, row] error in
            self.executor.execute {
                self.state.value.undecided.remove(row.number)
                guard let error else { return answer(.success(row)) }
                self.state.value.contents.removeAll { $0.number == row.number }
                answer(.failure(error))
            }
        }
    }

    /// Records an outcome.
    func end(_ delivery: StoredDelivery, _ answer: @escaping @Sendable () -> Void) {
        if let index = self.state.value.index(delivery.key, delivery.account) {
            self.state.value.contents[index].outcome = delivery.outcome
        }
        answer()
    }

    /// Records how often the server has asked for a delivery to come later.
    func postpone(_ delivery: StoredDelivery) {
        guard let index = self.state.value.index(delivery.key, delivery.account) else { return }
        self.state.value.contents[index].refusals = delivery.refusals
    }

    /// Answers with the row of a key.
    func find(
        key: String, account: String?, _ answer: @escaping @Sendable (Result<StoredDelivery?, any Error>) -> Void
    ) {
        answer(.success(self.state.value.index(key, account).map { self.state.value.contents[$0] }))
    }

    /// Closes an account, and opens it for the connection that has waited longest.
    func close(account: String?) {
        guard var opening = self.state.value.openings[account], !opening.waiting.isEmpty else {
            self.state.value.openings[account] = nil
            return
        }
        let next = opening.waiting.removeFirst()
        opening.last = self.state.value.lastNumber
        self.state.value.openings[account] = opening
        next(.success(()))
    }

    /// Answers with the last session of an account, for the connection that has it open.
    func session(account: String?, _ answer: @escaping @Sendable (Result<StoredSession?, any Error>) -> Void) {
        guard self.state.value.openings[account]?.hasTakenSession == false else { return answer(.success(nil)) }
        self.state.value.openings[account]?.hasTakenSession = true
        answer(.success(self.state.value.sessions[account]))
    }

    /// Keeps the session of an account.
    func keep(_ session: StoredSession, account: String?) { self.state.value.sessions[account] = session }

    /// Erases all rows of an account, and its session.
    func erase(account: String?, _ answer: @escaping @Sendable () -> Void) {
        self.state.value.sessions[account] = nil
        self.state.value.contents.removeAll { $0.account == account }
        answer()
    }
}
