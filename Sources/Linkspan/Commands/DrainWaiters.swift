internal import LinkspanRuntime

/// Who waits until commands have their outcomes, and which those are.
struct DrainWaiters: Sendable {
    private struct Entry: Sendable {
        var ids: Set<Command.ID>
        let waiter: Promise<Void>
    }

    private var entries: [UInt64: Entry] = [:]
    private var last: UInt64 = 0

    /// Notes a waiter.
    ///
    /// - Returns: its number, for ``keep(_:of:)`` and ``remove(_:)``.
    mutating func add(_ waiter: Promise<Void>, ids: Set<Command.ID>) -> UInt64 {
        self.last += 1
        self.entries[self.last] = Entry(ids: ids, waiter: waiter)
        return self.last
    }

    mutating func remove(_ number: UInt64) { self.entries[number] = nil }

    /// Forgets the commands of a waiter that had their outcomes before it was noted.
    ///
    /// - Returns: whether something is left to wait for.
    mutating func keep(_ alive: Set<Command.ID>, of number: UInt64) -> Bool {
        self.entries[number]?.ids.formIntersection(alive)
        return self.entries[number]?.ids.isEmpty == false
    }

    /// A command has its outcome.
    ///
    /// - Returns: those who waited for it last.
    mutating func ended(_ id: Command.ID) -> [Promise<Void>] {
        guard !self.entries.isEmpty else { return [] }
        var done: [Promise<Void>] = []
        for (number, entry) in self.entries where entry.ids.contains(id) {
            self.entries[number]?.ids.remove(id)
            guard entry.ids.count == 1 else { continue }
            done.append(entry.waiter)
            self.entries[number] = nil
        }
        return done
    }
}
