/// A source of events, such as a platform's notifications.
public protocol EventSource<Event>: Sendable {
    /// The family of events.
    associatedtype Event: LifecycleEvent

    /// Passes events to `emit`, which never waits, until the task is cancelled.
    func run(_ emit: @escaping @Sendable (Event) -> Void) async throws
}

/// A stream is a source whose events come from calls of its continuation: for tests, and for frameworks that report
/// events in their own way.
///
/// Events that come before the source runs are kept until it does. A stream can run once.
///
/// ```swift
/// let (phases, phase) = AsyncStream.makeStream(of: AppEvent.self)
/// try registry.register(SourceService("app", phases)).keep()
/// phase.yield(.didBecomeActive)
/// ```
extension AsyncStream: EventSource where Element: LifecycleEvent {
    /// The family of events.
    public typealias Event = Element

    /// Emits the events of the stream, until the task is cancelled.
    public func run(_ emit: @escaping @Sendable (Element) -> Void) async throws {
        for await event in self { emit(event) }
        await untilCancelled()
    }
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
