/// Emits events of one family into a registry, for emitters on the path of every message.
// Without the attribute nothing of it would be inlined in other modules, whatever its members say.
@usableFromInline
package struct EventEmitter<Event: LifecycleEvent>: Sendable {
    @usableFromInline let core: RegistryCore
    @usableFromInline let collector: EventCollector<Event>?

    init(_ registry: ServiceRegistry) {
        self.core = registry.core
        let traits = FamilyTraits(Event.self)
        self.collector = traits.delivery == .batches ? registry.core.collector(of: Event.self, traits) : nil
    }

    /// Whether an event would reach anybody, or be kept for those that come later.
    @inlinable package var hasAudience: Bool {
        guard let collector = self.collector else { return self.core.hasAudience(for: Event.self) }
        return self.core.hasAudience(collector)
    }

    /// Emits an event; see ``ServiceRegistry/emit(_:cause:)``.
    @inlinable
    package func emit(_ event: @autoclosure () -> Event) {
        if let collector = self.collector {
            _ = self.core.emit(event(), cause: nil, by: collector)
        } else {
            _ = self.core.emit(event(), cause: nil)
        }
    }
}
