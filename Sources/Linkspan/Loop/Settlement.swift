internal import LinkspanRuntime

/// Callers that wait until no link is left that was told to end, and the store has committed all it was given.
struct Settlement {
    private var endingLinks = 0
    private var waiters: [Promise<Void>] = []

    /// A link was told to end.
    mutating func linkEnds() { self.endingLinks += 1 }

    /// A link that was told to end has ended.
    mutating func linkEnded() { self.endingLinks = max(0, self.endingLinks - 1) }

    mutating func add(_ waiter: Promise<Void>) { self.waiters.append(waiter) }

    /// Takes the callers whose wait is over, `pendingWrites` being what the store has not committed yet.
    mutating func takeSettled(pendingWrites: Int) -> [Promise<Void>] {
        guard !self.waiters.isEmpty, self.endingLinks == 0, pendingWrites == 0 else { return [] }
        defer { self.waiters = [] }
        return self.waiters
    }
}
