internal import DequeModule
internal import LinkspanRuntime

/// A connection's state as an asynchronous sequence: the newest change first of all, then each newer one.
///
/// A slow reader skips states that have passed, never misses the latest, and never sees one twice. The sequence ends
/// after the change to ``ConnectionState/released``, and when its holder gives the connection back.
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
    private enum Waiter: Sendable {
        /// It is about to wait.
        case coming
        case waiting(UnsafeContinuation<StateChange?, Never>)
        /// It was cancelled before it waited.
        case cancelled
    }

    private struct State: Sendable {
        var latest: StateChange?
        var isFinished = false
        var waiters: [UInt64: Waiter] = [:]
        var lastWaiter: UInt64 = 0
        var subscription: Subscription?

        /// Those who wait, to be told.
        mutating func takeWaiting() -> [UnsafeContinuation<StateChange?, Never>] {
            var waiting: [UnsafeContinuation<StateChange?, Never>] = []
            for (id, waiter) in self.waiters {
                guard case .waiting(let continuation) = waiter else { continue }
                waiting.append(continuation)
                self.waiters[id] = nil
            }
            return waiting
        }
    }

    /// Between the connection's executor, which posts, and the tasks that iterate.
    private let state = Lock(State())

    deinit { self.state.withLock { $0.subscription }?.cancel() }

    /// Keeps the subscription that feeds the board, to cancel it with the board.
    func own(_ subscription: Subscription) { self.state.withLock { $0.subscription = subscription } }

    /// How many wait, or are about to.
    var waiterCount: Int { self.state.withLock { $0.waiters.count } }

    func post(_ change: StateChange) {
        let waiting = self.state.withLock { state in
            state.latest = change
            return state.takeWaiting()
        }
        for waiter in waiting { waiter.resume(returning: change) }
    }

    /// Nothing follows.
    func finish() {
        let waiting = self.state.withLock { state in
            state.isFinished = true
            return state.takeWaiting()
        }
        for waiter in waiting { waiter.resume(returning: nil) }
    }

    func change(after seen: UInt64, isolation actor: isolated (any Actor)?) async -> StateChange? {
        let id = self.state.withLock { state in
            state.lastWaiter += 1
            state.waiters[state.lastWaiter] = .coming
            return state.lastWaiter
        }
        return await withTaskCancellationHandler {
            await withUnsafeContinuation { continuation in
                let answer = self.state.withLock { state -> StateChange?? in
                    let waiter = state.waiters.removeValue(forKey: id)
                    if let latest = state.latest, latest.sequence > seen { return .some(latest) }
                    if state.latest?.to == .released || state.isFinished { return .some(nil) }
                    if case .cancelled = waiter { return .some(nil) }
                    state.waiters[id] = .waiting(continuation)
                    return nil
                }
                if let answer { continuation.resume(returning: answer) }
            }
        } onCancel: {
            self.cancel(id)
        }
    }

    private func cancel(_ id: UInt64) {
        let waiting = self.state.withLock { state -> UnsafeContinuation<StateChange?, Never>? in
            switch state.waiters[id] {
            case .coming: state.waiters[id] = .cancelled
            case .waiting(let continuation):
                state.waiters[id] = nil
                return continuation
            // It has been told already.
            case .cancelled, nil: ()
            }
            return nil
        }
        waiting?.resume(returning: nil)
    }
}
