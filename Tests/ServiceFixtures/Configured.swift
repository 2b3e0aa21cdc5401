internal import Foundation
public import LinkspanRuntime
public import Linkspan
internal import LinkspanConfiguration
public import LinkspanLifecycle
public import LinkspanMessaging

/// What a file makes of a catalog that knows one service.
///
/// - Parameters:
///   - factory: the service.
///   - section: the lines of the file's section `services`, without their indentation; nil for a file without one.
/// - Returns: the services of the plan.
/// - Throws: what is wrong in the file.
@available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
public func services(_ factory: ServiceFactory, _ section: String?) throws -> [any LifecycleService] {
    var catalog = Catalog()
    catalog.add(TransportFactory("none", schemes: ["none"]) { _ in NoTransport() })
    catalog.add(factory)
    var lines = ["linkspan:", "  transport:", "    adapter: none", "    none: {url: 'none://a'}"]
    if let section { lines += ["  services:"] + section.split(separator: "\n").map { "    \($0)" } }
    let file = FileManager.default.temporaryDirectory.appendingPathComponent("\(UUID().uuidString).yaml")
    try Data(lines.joined(separator: "\n").utf8).write(to: file)
    defer { try? FileManager.default.removeItem(at: file) }
    return try ConfigurationLoader(catalog: catalog).load(file: file.path, environment: [:]).plan.services
        .map { $0.service }
}

/// Runs a registry with some services, emits, and stops; the stop flushes, so everything has been handled.
///
/// - Parameters:
///   - services: the services.
///   - emit: tells the registry what happens.
/// - Returns: what became of the services.
/// - Throws: what keeps the registry from starting, and what `emit` throws.
@discardableResult
public func run(
    _ services: [any LifecycleService], _ emit: (ServiceRegistry) async throws -> Void
) async throws -> ShutdownReport {
    let registry = ServiceRegistry()
    for service in services { try registry.register(service).keep() }
    try await registry.start()
    try await emit(registry)
    return await registry.stop()
}

/// A transport that is named and never used.
public struct NoTransport: Transport {
    /// The name.
    public let name = "none"
    /// The one scheme that it claims to carry.
    public let schemes: Set<String> = ["none"]
    /// An executor of its own.
    public let executor: any JobExecutor = SystemScheduler.makeExecutor(label: "none")

    /// Makes the transport.
    public init() {}

    /// Makes a link that does nothing.
    public func makeLink(_ request: LinkRequest, receiver: any LinkReceiver) -> any Link { NoLink() }
}

private final class NoLink: Link {
    func open() {}
    func send(_ message: OutboundMessage) -> SendAcceptance { .refused }
    func reply(to id: UInt64, with payload: Payload) -> SendAcceptance { .accepted }
    func close(code: UInt16?, reason: String) {}
    func abort() {}
}
