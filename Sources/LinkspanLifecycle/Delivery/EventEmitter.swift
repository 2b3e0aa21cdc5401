/// Emits events of one family into a registry, for emitters on the path of every message.
package struct EventEmitter<Event: LifecycleEvent>: Sendable {
    private let core: RegistryCore
    private let collector: EventCollector<Event>?

    init(_ registry: ServiceRegistry) {
        self.core = registry.core
        let traits = FamilyTraits(Event.self)
        self.collector = traits.delivery == .batches ? registry.core.collector(of: Event.self, traits) : nil
    }

    /// Whether an event would reach anybody, or be kept for those that come later.
    package var hasAudience: Bool {
        self.collector.map { self.core.hasAudience($0) } ?? self.core.hasAudience(for: Event.self)
    }

    /// Emits an event; see ``ServiceRegistry/emit(_:cause:)``.
    package func emit(_ event: @autoclosure () -> Event) {
        if let collector {
            _ = self.core.emit(event(), cause: nil, by: collector)
        } else {
            self.core.emit(event())
        }
    }
}
