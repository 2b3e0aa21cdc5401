/// A source of events, such as a platform's notifications.
public protocol EventSource<Event>: Sendable {
    /// The family of events.
    associatedtype Event: LifecycleEvent

    /// Passes events to `emit`, which never waits, until the task is cancelled.
    func run(_ emit: @escaping @Sendable (Event) -> Void) async throws
}

/// A service that runs an event source, started before and stopped after the services that follow its events.
public struct SourceService<Source: EventSource>: LifecycleService {
    /// The name of the service.
    public let name: ServiceName

    /// Among the first to start.
    public var placement: Placement { Placement(phase: .core) }

    private let source: Source

    /// Makes a service that runs `source`.
    public init(_ name: ServiceName, _ source: Source) {
        self.name = name
        self.source = source
    }

    /// Runs the source for as long as the service is ready.
    public func run(_ scope: ServiceScope) async throws {
        try await self.source.run { try? scope.emit($0) }
    }
}
