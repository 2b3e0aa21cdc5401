internal import LinkspanRuntime

/// Callers that wait until commands have their outcomes, and the commands each waits for.
struct DrainWaiters {
    private var entries: [(ids: Set<Command.ID>, waiter: Promise<Void>)] = []

    var isEmpty: Bool { self.entries.isEmpty }

    mutating func add(_ waiter: Promise<Void>, ids: Set<Command.ID>) { self.entries.append((ids, waiter)) }

    mutating func remove(_ waiter: Promise<Void>) { self.entries.removeAll { $0.waiter === waiter } }

    /// A command has its outcome.
    ///
    /// - Returns: the callers that waited for it last.
    mutating func ended(_ id: Command.ID) -> [Promise<Void>] {
        guard !self.entries.isEmpty else { return [] }
        for index in self.entries.indices { self.entries[index].ids.remove(id) }
        let done = self.entries.filter(\.ids.isEmpty).map(\.waiter)
        self.entries.removeAll { $0.ids.isEmpty }
        return done
    }
}
