/// The listeners to commands that a link takes, in the order of their calls.
struct OutgoingListeners {
    typealias Handler = @Sendable (Command) -> Void

    private var listeners: [(id: UInt64, handler: Handler)] = []

    var isEmpty: Bool { self.listeners.isEmpty }

    /// The numbers of the listeners there are.
    var ids: [UInt64] { self.listeners.map(\.id) }

    /// The handler of a listener; nil when it has been removed.
    func handler(of id: UInt64) -> Handler? { self.listeners.first { $0.id == id }?.handler }

    mutating func add(_ id: UInt64, _ handler: @escaping Handler) { self.listeners.append((id, handler)) }

    /// Moves a listener before the others.
    mutating func moveToFront(_ id: UInt64) {
        guard let index = self.listeners.firstIndex(where: { $0.id == id }) else { return }
        self.listeners.insert(self.listeners.remove(at: index), at: 0)
    }

    /// Removes a listener.
    ///
    /// - Returns: its handler, to be let go of by the caller: that may run foreign code.
    mutating func remove(_ id: UInt64) -> Handler? {
        guard let index = self.listeners.firstIndex(where: { $0.id == id }) else { return nil }
        return self.listeners.remove(at: index).handler
    }

    /// Removes all listeners.
    ///
    /// - Returns: them, to be let go of by the caller.
    mutating func removeAll() -> [Handler] {
        defer { self.listeners = [] }
        return self.listeners.map(\.handler)
    }
}
