/// A source of events, such as a platform's notifications.
public protocol EventSource<Event>: Sendable {
    /// The family of events.
    associatedtype Event: LifecycleEvent

    /// Passes events to `emit`, which never waits, until there are no more or the task is cancelled.
    func run(_ emit: @escaping @Sendable (Event) -> Void) async throws
}

/// A stream is a source whose events come from calls of its continuation: for tests, and for frameworks that report
/// events in their own way.
///
/// Events that come before the source runs are kept until it does. A stream can run once.
///
/// ```swift
/// let (phases, phase) = AsyncStream.makeStream(of: AppEvent.self)
/// try registry.register(phases.service(named: "app")).keep()
/// phase.yield(.didBecomeActive)
/// ```
extension AsyncStream: EventSource where Element: LifecycleEvent {
    /// Emits the events of the stream, until it ends or the task is cancelled.
    public func run(_ emit: @escaping @Sendable (Element) -> Void) async throws {
        for await event in self { emit(event) }
    }
}

extension EventSource {
    /// Makes a service that runs the source, started before and stopped after the services that follow its events.
    public func service(named name: ServiceName) -> some LifecycleService { SourceService(name: name, source: self) }
}

private struct SourceService<Source: EventSource>: LifecycleService {
    let name: ServiceName
    let source: Source

    /// Among the first to start.
    var placement: Placement { Placement(phase: .core) }

    func run(_ scope: ServiceScope) async throws { try await self.source.run { try? scope.emit($0) } }
}
