/// Handlers by number, in the order of their calls.
struct HandlerList<Argument> {
    typealias Handler = @Sendable (Argument) -> Void

    private struct Entry {
        let id: UInt64
        let handler: Handler
        var isCalled: Bool
    }

    private var entries: [Entry] = []

    var isEmpty: Bool { self.entries.isEmpty }

    /// The numbers of the handlers to call, each of which may remove another.
    var ids: [UInt64] { self.entries.filter(\.isCalled).map(\.id) }

    /// The handler with a number; nil when it has been removed.
    func handler(of id: UInt64) -> Handler? { self.entries.first { $0.id == id }?.handler }

    /// Adds a handler; one that is not called yet waits for ``introduce(_:)``.
    mutating func add(_ id: UInt64, isCalled: Bool = true, _ handler: @escaping Handler) {
        self.entries.append(Entry(id: id, handler: handler, isCalled: isCalled))
    }

    /// Calls a handler from now on.
    ///
    /// - Returns: the handler; nil when it has been removed already.
    mutating func introduce(_ id: UInt64) -> Handler? {
        guard let index = self.entries.firstIndex(where: { $0.id == id }) else { return nil }
        self.entries[index].isCalled = true
        return self.entries[index].handler
    }

    /// Moves a handler before the others.
    mutating func moveToFront(_ id: UInt64) {
        guard let index = self.entries.firstIndex(where: { $0.id == id }) else { return }
        self.entries.insert(self.entries.remove(at: index), at: 0)
    }

    /// Removes a handler.
    ///
    /// - Returns: the handler, to be let go of by the caller: that may run foreign code.
    mutating func remove(_ id: UInt64) -> Handler? {
        guard let index = self.entries.firstIndex(where: { $0.id == id }) else { return nil }
        // An empty array keeps its room.
        defer { if self.entries.isEmpty { self.entries = [] } }
        return self.entries.remove(at: index).handler
    }

    /// Removes all handlers.
    ///
    /// - Returns: them, to be let go of by the caller.
    mutating func removeAll() -> [Handler] {
        defer { self.entries = [] }
        return self.entries.map(\.handler)
    }
}
