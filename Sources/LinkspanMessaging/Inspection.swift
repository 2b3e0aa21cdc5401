package import Linkspan
package import LinkspanLifecycle

/// A service that shows the SDK as a whole to developers.
///
/// It gets its sources before it starts, and again after a reload.
package protocol MessagingInspecting: LifecycleService {
    /// Hands over what to look at.
    func inspect(_ subject: InspectionSubject)
}

/// The SDK as a whole; it keeps nothing of it alive.
package struct InspectionSubject: Sendable {
    /// The services.
    package weak let services: ServiceRegistry?
    /// The connections.
    package weak let manager: ConnectionManager?
    /// Every value of the configuration, with its origin.
    package let settings: [InspectedSetting]
    /// The names of the transports that the plan's connection may move to.
    package let transports: [String]
    /// Moves the plan's connection to the transport of this name.
    package let move: @Sendable (String) throws(LinkspanError) -> Void

    /// Makes a subject.
    package init(
        services: ServiceRegistry, manager: ConnectionManager, settings: [InspectedSetting] = [],
        transports: [String] = [],
        move: @escaping @Sendable (String) throws(LinkspanError) -> Void = { name throws(LinkspanError) in
            throw LinkspanError(.unsupported, "there is no transport '\(name)' to move to")
        }
    ) {
        self.services = services
        self.manager = manager
        self.settings = settings
        self.transports = transports
        self.move = move
    }
}

/// A value of the configuration, as it may be shown: secrets and queries of URLs are left out.
package struct InspectedSetting: Sendable, Hashable {
    /// The full key.
    package var path: String
    /// The value as text.
    package var value: String
    /// The file and line, the variable or the flag that it came from, or `default`.
    package var origin: String

    /// Makes a setting.
    package init(path: String, value: String, origin: String) {
        self.path = path
        self.value = value
        self.origin = origin
    }
}

/// A transport to the plan's server.
package struct TransportAlternative: Sendable {
    /// The name of the transport.
    package var name: String
    /// The endpoint.
    package var url: String
    /// The transport.
    package var transport: any Transport

    /// Makes an alternative.
    package init(name: String, url: String, transport: any Transport) {
        self.name = name
        self.url = url
        self.transport = transport
    }
}

extension Messaging {
    /// Shows a service what it asks to look at.
    func show(to service: any LifecycleService, _ plan: MessagingPlan) {
        guard let service = service as? any MessagingInspecting else { return }
        let present = self.configuration.transport.name
        let alternatives = plan.alternatives.filter { $0.transport.name != present }
        service.inspect(
            InspectionSubject(
                services: self.services, manager: self.manager, settings: plan.settings,
                transports: alternatives.map(\.name)
            ) { [weak self] name throws(LinkspanError) in
                guard let self, let next = alternatives.first(where: { $0.name == name }) else {
                    throw LinkspanError(.unsupported, "there is no transport '\(name)' to move to")
                }
                try self.move(to: next)
                // From there it may move back.
                self.show(plan)
            })
    }

    /// Shows the services of the registry what they ask to look at.
    func show(_ plan: MessagingPlan) {
        for service in self.services.services(of: (any MessagingInspecting).self) { self.show(to: service, plan) }
    }
}
