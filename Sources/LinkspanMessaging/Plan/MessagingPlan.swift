public import Linkspan
public import LinkspanLifecycle

/// One endpoint over one transport, and the services around it.
///
/// A plain value, made from a file by `LinkspanConfiguration` or in code.
public struct MessagingPlan: Sendable {
    /// The endpoint.
    public var url: String
    /// The transport.
    package var transport: any Transport
    /// The behaviour of the connection.
    public var options: ConnectionOptions
    /// The source of the credentials.
    public var credentials: CredentialSource
    /// The services, in the order of their listing.
    public var services: [PlannedService]
    /// Rules of the keeper, which come before those of the manager's options.
    package var rules: [any KeeperRule] = []
    /// When connections save data; nil: as the manager's options have it.
    package var dataSaving: DataSaving?
    /// Every value of the configuration that the plan was made from, for services that show them.
    package var settings: [InspectedSetting] = []
    /// The transports of the catalog that can carry the connection, for services that try the others.
    package var alternatives: [TransportAlternative] = []

    /// Makes a plan of services with their own settings.
    public init(
        url: String, transport: any Transport, options: ConnectionOptions = .init(),
        credentials: CredentialSource = .none, services: [any LifecycleService] = []
    ) {
        self.url = url
        self.transport = transport
        self.options = options
        self.credentials = credentials
        self.services = services.map { PlannedService($0) }
    }
}

extension MessagingPlan {
    /// The order in which the services start, and why; includes the SDK's own service `connections`.
    ///
    /// - Throws: `RegistryError` with code `duplicateName`, or `invalidPlan` with all that is wrong with their needs.
    package var startOrder: StartOrder {
        get throws(RegistryError) { try Self.startOrder(of: self.services) }
    }

    /// In which order services would start in a plan.
    package static func startOrder(of services: [PlannedService]) throws(RegistryError) -> StartOrder {
        try StartOrder([(ConnectionsPlace(), ServiceSettings())] + services.map { ($0.service, $0.settings) })
    }
}

/// Stands where ``ConnectionsService`` will.
private struct ConnectionsPlace: LifecycleService {
    let name: ServiceName = ConnectionsService.name
    let placement: Placement = ConnectionsService.placement
}
