/// Counts the lines under way, and lets others wait for them to become fewer.
actor LineTally {
    /// Lines that may be under way at a time: below what the connection keeps for us.
    private static let limit = 2_000

    private var begun = 0
    private var ended = 0
    private var waiters: [Int: (threshold: Int, continuation: CheckedContinuation<Void, Never>)] = [:]
    private var lastWaiter = 0

    /// One more line, as soon as there are fewer than the limit.
    ///
    /// - Returns: its number, from 1.
    func begin() async -> Int {
        while self.begun - self.ended >= Self.limit { await self.wait(for: Self.limit - 1) }
        self.begun += 1
        return self.begun
    }

    /// One less.
    func end() {
        self.ended += 1
        let open = self.begun - self.ended
        for (id, waiter) in self.waiters where open <= waiter.threshold {
            self.waiters[id] = nil
            waiter.continuation.resume()
        }
    }

    /// Waits until none is under way, or the time is up.
    ///
    /// - Returns: how many still are.
    func drain(within limit: Duration) async -> Int {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await self.wait(for: 0) }
            group.addTask { try? await Task.sleep(for: limit) }
            await group.next()
            group.cancelAll()
        }
        return self.begun - self.ended
    }

    private func wait(for threshold: Int) async {
        guard self.begun - self.ended > threshold, !Task.isCancelled else { return }
        self.lastWaiter += 1
        let id = self.lastWaiter
        await withTaskCancellationHandler {
            await withCheckedContinuation { self.waiters[id] = (threshold, $0) }
        } onCancel: {
            // The handler is not on the actor, and what it does takes one step: no parent is left to own it.
            Task { await self.giveUp(id) }
        }
    }

    private func giveUp(_ id: Int) { self.waiters.removeValue(forKey: id)?.continuation.resume() }
}
