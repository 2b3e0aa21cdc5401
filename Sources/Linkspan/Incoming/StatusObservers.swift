/// The observers of a connection's status.
///
/// A new one hears nothing before it has been told the latest change of state.
struct StatusObservers {
    typealias Handler = @Sendable (StatusChange) -> Void

    private struct Observer {
        let id: UInt64
        let handler: Handler
        var isIntroduced = false
    }

    private var observers: [Observer] = []

    /// Those that know the latest change.
    var introduced: [UInt64] { self.observers.filter(\.isIntroduced).map(\.id) }

    /// The handler of an observer; nil when it has been removed.
    func handler(of id: UInt64) -> Handler? { self.observers.first { $0.id == id }?.handler }

    mutating func add(_ id: UInt64, _ handler: @escaping Handler) {
        self.observers.append(Observer(id: id, handler: handler))
    }

    /// Includes an observer from now on.
    ///
    /// - Returns: its handler, which is to be told the latest change; nil when it has been removed already.
    mutating func introduce(_ id: UInt64) -> Handler? {
        guard let index = self.observers.firstIndex(where: { $0.id == id }) else { return nil }
        self.observers[index].isIntroduced = true
        return self.observers[index].handler
    }

    /// Removes an observer.
    ///
    /// - Returns: its handler, to be let go of by the caller: that may run foreign code.
    mutating func remove(_ id: UInt64) -> Handler? {
        guard let index = self.observers.firstIndex(where: { $0.id == id }) else { return nil }
        return self.observers.remove(at: index).handler
    }
}
