internal import LinkspanRuntime

/// Those who hear what is sent.
final class OutgoingListeners: Sendable {
    typealias Handler = @Sendable (OutgoingMessage) -> Void

    private struct State: Sendable {
        var handlers: [(id: UInt64, handler: Handler)] = []
        var lastID: UInt64 = 0
    }

    private let state = Lock(State())

    func add(_ handler: @escaping Handler) -> UInt64 {
        self.state.withLock { state in
            state.lastID += 1
            state.handlers.append((state.lastID, handler))
            return state.lastID
        }
    }

    func remove(_ id: UInt64) {
        // Let go of outside the lock: a handler may hold anything.
        let former = self.state.withLock { state in
            let former = state.handlers
            state.handlers.removeAll { $0.id == id }
            return former
        }
        _ = consume former
    }

    func removeAll() {
        let former = self.state.withLock { state in
            defer { state.handlers = [] }
            return state.handlers
        }
        _ = consume former
    }

    /// Tells those who listen at the moment of their turn.
    func tell(_ message: OutgoingMessage) {
        for (id, handler) in self.state.withLock({ $0.handlers }) {
            if self.state.withLock({ state in state.handlers.contains { $0.id == id } }) { handler(message) }
        }
    }
}
