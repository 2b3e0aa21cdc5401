internal import DequeModule
internal import LinkspanRuntime

/// A connection's state as an asynchronous sequence: the newest change first of all, then each newer one.
///
/// A slow reader skips states that have passed, never misses the latest, and never sees one twice. The sequence ends
/// after the change to ``ConnectionState/released``.
public struct StateChanges: AsyncSequence, Sendable {
    /// One change.
    public typealias Element = StateChange

    let board: StateBoard

    /// Makes an iterator.
    public func makeAsyncIterator() -> Iterator { Iterator(board: self.board) }

    /// Iterates over the changes.
    public struct Iterator: AsyncIteratorProtocol {
        let board: StateBoard
        private var seen: UInt64 = 0

        init(board: StateBoard) { self.board = board }

        /// The next change, or nil after the last.
        public mutating func next() async -> StateChange? { await self.next(isolation: #isolation) }

        /// The next change, or nil after the last.
        public mutating func next(isolation actor: isolated (any Actor)?) async -> StateChange? {
            let change = await self.board.change(after: self.seen, isolation: actor)
            if let change { self.seen = change.sequence }
            return change
        }
    }
}

/// Holds the newest state change, for those who wait for it.
final class StateBoard: Sendable {
    private struct State: Sendable {
        var history: Deque<StateChange> = []
        var waiters: [UInt64: UnsafeContinuation<StateChange?, Never>] = [:]
        var lastWaiter: UInt64 = 0
        var cancelled: Set<UInt64> = []
    }

    private let state = Lock(State())
    private let subscription = Lock<Subscription?>(nil)

    deinit { self.subscription.withLock { $0 }?.cancel() }

    /// Keeps the subscription that feeds the board, to cancel it with the board.
    func own(_ subscription: Subscription) { self.subscription.withLock { $0 = subscription } }

    /// The newest change, nil before the first.
    var latest: StateChange? { self.state.withLock { $0.history.last } }

    /// The newest changes, the oldest first.
    var history: [StateChange] { self.state.withLock { Array($0.history) } }

    func post(_ change: StateChange) {
        let waiters = self.state.withLock { state in
            if state.history.count == ConnectionDiagnosis.historyLimit { state.history.removeFirst() }
            state.history.append(change)
            defer { state.waiters = [:] }
            return state.waiters
        }
        for waiter in waiters.values { waiter.resume(returning: change) }
    }

    func change(after seen: UInt64, isolation actor: isolated (any Actor)?) async -> StateChange? {
        let id = self.state.withLock { state in
            state.lastWaiter += 1
            return state.lastWaiter
        }
        return await withTaskCancellationHandler {
            await withUnsafeContinuation { continuation in
                let answer = self.state.withLock { state -> StateChange?? in
                    if let latest = state.history.last, latest.sequence > seen { return .some(latest) }
                    if state.history.last?.to == .released { return .some(nil) }
                    if state.cancelled.remove(id) != nil { return .some(nil) }
                    state.waiters[id] = continuation
                    return nil
                }
                if let answer { continuation.resume(returning: answer) }
            }
        } onCancel: {
            self.cancel(id)
        }
    }

    private func cancel(_ id: UInt64) {
        let waiter = self.state.withLock { state in
            let waiter = state.waiters.removeValue(forKey: id)
            // Cancelled before it began to wait: remembered, so that it does not.
            if waiter == nil { state.cancelled.insert(id) }
            return waiter
        }
        waiter?.resume(returning: nil)
    }
}
