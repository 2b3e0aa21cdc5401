/// Where the events of a platform come from; services never talk to it, only to the registry.
public protocol EventSource<Event>: Sendable {
    /// The family of events.
    associatedtype Event: LifecycleEvent

    /// Hands events to `emit`, which never waits, until the task is cancelled.
    func run(_ emit: @escaping @Sendable (Event) -> Void) async throws
}

/// Brings a source into a registry, where it is started before and stopped after all that follows its events.
public struct SourceService<Source: EventSource>: LifecycleService {
    /// The name of the service.
    public let name: ServiceName

    /// Among the first.
    public var placement: Placement { Placement(phase: .core) }

    private let source: Source

    /// Makes a service of a source.
    public init(_ name: ServiceName, _ source: Source) {
        self.name = name
        self.source = source
    }

    /// Lets the source run for as long as the service is ready.
    public func run(_ scope: ServiceScope) async throws {
        try await self.source.run { try? scope.emit($0) }
    }
}
