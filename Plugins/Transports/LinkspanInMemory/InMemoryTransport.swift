public import Linkspan
public import LinkspanRuntime

/// Carries messages to a hub in the same process.
public struct InMemoryTransport: Transport {
    private let hub: InMemoryHub

    /// `memory`.
    public let name = "memory"
    /// `memory`, as in `memory://lobby`; the rest of the URL only distinguishes connections.
    public let schemes: Set<String> = ["memory"]

    /// The hub's executor.
    public var executor: any JobExecutor { self.hub.executor }

    /// Makes a transport to `hub`.
    public init(hub: InMemoryHub) { self.hub = hub }

    /// The identity of the hub.
    public var options: [String: String] {
        ["hub": String(UInt(bitPattern: ObjectIdentifier(self.hub)), radix: 16)]
    }

    /// Makes a link to the hub.
    public func makeLink(_ request: LinkRequest, receiver: any LinkReceiver) -> any Link {
        InMemoryLink(request: request, receiver: receiver, hub: self.hub)
    }
}

extension Transport where Self == InMemoryTransport {
    /// A transport to the other clients of `hub`, without leaving the process.
    public static func inMemory(_ hub: InMemoryHub) -> Self { Self(hub: hub) }
}

extension TransportFactory {
    /// The in-memory transport for a catalog, to `hub`.
    public static func inMemory(_ hub: InMemoryHub) -> Self {
        Self("memory", schemes: ["memory"]) { _ in InMemoryTransport(hub: hub) }
    }
}
