public import LinkspanLifecycle

#if canImport(Network)
private import Dispatch
private import Network
#endif

/// A source of the network path: Network.framework on Apple platforms, rtnetlink on Linux.
///
/// On Linux the path counts as there when an interface other than the loopback is up and running and has an address
/// that reaches further than its link. That does not prove that a server can be reached, nor does its lack prove the
/// contrary on a machine that talks to itself; the keeper allows for both.
public struct NetworkPathSource: EventSource {
    /// Makes a source.
    public init() {}

    /// Hands on the path as it is, then each change, until the task is cancelled.
    ///
    /// - Throws: on Linux, a `LinkspanError` of code `pathUnknown` when the system will not tell.
    public func run(_ emit: @escaping @Sendable (NetworkEvent) -> Void) async throws {
        #if canImport(Network)
        let monitor = NWPathMonitor()
        monitor.pathUpdateHandler = { emit(NetworkEvent($0)) }
        monitor.start(queue: DispatchQueue(label: "linkspan.path"))
        await untilCancelled()
        monitor.cancel()
        #elseif os(Linux)
        for try await event in try RouteSocket().events() { emit(event) }
        #endif
    }
}

#if canImport(Network)
extension NetworkEvent {
    fileprivate init(_ path: NWPath) {
        let status: Status =
            switch path.status {
            case .satisfied: .satisfied
            case .requiresConnection: .needsConnection
            case .unsatisfied: .unsatisfied
            @unknown default: .satisfied
            }
        let interfaces = path.availableInterfaces.map { interface -> Interface in
            switch interface.type {
            case .wifi: .wifi
            case .cellular: .cellular
            case .wiredEthernet: .wired
            case .loopback, .other: .other
            @unknown default: .other
            }
        }
        self.init(
            status: status, interfaces: interfaces, isExpensive: path.isExpensive, isConstrained: path.isConstrained)
    }
}
#endif
