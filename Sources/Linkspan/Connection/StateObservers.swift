/// Those who hear of state changes.
///
/// A new one hears nothing before it has been told the latest.
struct StateObservers: Sendable {
    typealias Handler = @Sendable (StateChange) -> Void

    private struct Observer: Sendable {
        let id: UInt64
        let handler: Handler
        var isIntroduced = false
    }

    private var observers: [Observer] = []
    private var lastID: UInt64 = 0

    /// The handlers of those who know the latest change.
    var introduced: [Handler] { self.observers.filter(\.isIntroduced).map(\.handler) }

    mutating func add(_ handler: @escaping Handler) -> UInt64 {
        self.lastID += 1
        self.observers.append(Observer(id: self.lastID, handler: handler))
        return self.lastID
    }

    /// Counts an observer in from now on.
    ///
    /// - Returns: its handler, which is to be told the latest change; nil when it has gone already.
    mutating func introduce(_ id: UInt64) -> Handler? {
        guard let index = self.observers.firstIndex(where: { $0.id == id }) else { return nil }
        self.observers[index].isIntroduced = true
        return self.observers[index].handler
    }

    mutating func remove(_ id: UInt64) { self.observers.removeAll { $0.id == id } }
}
