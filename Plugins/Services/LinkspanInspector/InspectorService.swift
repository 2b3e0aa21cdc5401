internal import Linkspan
internal import LinkspanServices
public import LinkspanLifecycle
public import LinkspanMessaging
internal import LinkspanNetwork
internal import LinkspanRuntime

/// A service that shows connections, queues, frames and services in a browser while the app runs.
///
/// It listens at the loopback address and prints a URL that works once, within ten minutes; opening the page without one prints
/// another:
///
/// ```yaml
/// linkspan:
///   services:
///     enabled: [inspector]
///     inspector:
///       port: 0
/// ```
///
/// Everything it shows is also at `/snapshot` as JSON. Credentials and other secrets
/// are never shown, and payloads only if ``InspectorOptions/showsPayloads`` is on. It is a tool for development: leave it out of
/// what users get.
public final class InspectorService: LifecycleService {
    /// The name in registries and configuration.
    public let name: ServiceName = "inspector"
    /// Behind other threads, since the service only observes.
    public let urgency: Urgency = .utility
    /// Among the first, so that it sees the others start.
    public let placement = Placement(phase: .core, priority: 70)

    private let run: InspectorRun

    /// Options of the service.
    public typealias Options = InspectorOptions

    /// Makes the service.
    ///
    /// - Parameters:
    ///   - options: the options.
    ///   - announce: gets the URL that opens the page, and another one when somebody asks for the page after that was used
    ///     or ten minutes have passed; by default it is printed to standard error.
    public init(
        options: Options = Options(), announce: @escaping @Sendable (String) -> Void = InspectorService.printURL
    ) {
        self.run = InspectorRun(options, announce: announce)
    }

    /// Ends a run that was not stopped.
    deinit { self.run.loop.shutdown() }

    /// Prints a URL of the inspector to standard error.
    public static func printURL(_ url: String) { StandardError.print("inspector: \(url)") }

    /// A URL that opens the page once, within ten minutes; nil unless the service runs.
    public var url: String? {
        get async { await self.run.url }
    }

    /// Begins to listen.
    public func start(_ scope: ServiceScope) async throws {
        do throws(ByteStreamError) {
            _ = try await self.run.start()
        } catch {
            throw LinkspanError(.invalidConfiguration, "the inspector cannot listen: \(error.message)", cause: error)
        }
    }

    /// Closes the pages and the port.
    public func stop(_ scope: ServiceScope) async { await self.run.stop() }
}

extension InspectorService: MessagingInspecting {
    /// Takes the objects to inspect.
    package func inspect(_ subject: InspectionSubject) { self.run.inspect(subject) }
}

// MARK: - Events

extension InspectorService: ConnectionObserving, FaultObserving, AppObserving, NetworkObserving, PressureObserving,
    RegistryObserving
{
    /// Records an event.
    public func on(_ event: Stamped<ConnectionEvent>, _ scope: ServiceScope) async throws {
        let (connection, kind) = (event.event.connection, event.event.kind.name)
        try await self.record(event, scope, connection: connection > 0 ? connection : nil, kind: kind) {
            $0.note(event)
        }
    }

    /// Records an event.
    public func on(_ event: Stamped<FaultEvent>, _ scope: ServiceScope) async throws {
        try await self.record(event, scope, kind: "fault") { $0.note(event.event) }
    }

    /// Records an event.
    public func on(_ event: Stamped<AppEvent>, _ scope: ServiceScope) async throws {
        try await self.record(event, scope, kind: "app")
    }

    /// Records an event.
    public func on(_ event: Stamped<NetworkEvent>, _ scope: ServiceScope) async throws {
        try await self.record(event, scope, kind: "network")
    }

    /// Records an event.
    public func on(_ event: Stamped<PressureEvent>, _ scope: ServiceScope) async throws {
        try await self.record(event, scope, kind: "pressure")
    }

    /// Records an event.
    public func on(_ event: Stamped<RegistryEvent>, _ scope: ServiceScope) async throws {
        try await self.record(event, scope, kind: "services")
    }

    /// Keeps an event for the report, and records it if it has a kind.
    private func record<Event: LifecycleEvent>(
        _ event: Stamped<Event>, _ scope: ServiceScope, connection: UInt64? = nil, kind: String?,
        _ note: @escaping @Sendable (inout InspectorRecorder) -> Void = { _ in }
    ) async throws {
        try await self.run.journal.on(event.with(event.event as any LifecycleEvent), scope)
        if let kind { self.run.record(event, connection: connection, kind: kind, note) }
    }
}

extension ConnectionEvent.Kind {
    /// The name of the kind, for the colours of the time line; nil for what is not in it.
    fileprivate var name: String? {
        switch self {
        case .created: "created"
        case .connecting: "connecting"
        case .connected(_, _, let isResumed, _): isResumed ? "resumed" : "connected"
        case .disconnected(_, let code, _): code == "moved" ? "moved" : "disconnected"
        case .reconnecting: "reconnecting"
        // One for each heartbeat, which the chart shows.
        case .measured: nil
        case .released: "released"
        case .queueChanged, .queueNearlyFull, .queueHasRoom, .queueFlushed: "queue"
        case .credentialsObtained, .credentialsRefreshed, .credentialsFailed, .credentialsRevoked: "authentication"
        @unknown default: "changed"
        }
    }
}
