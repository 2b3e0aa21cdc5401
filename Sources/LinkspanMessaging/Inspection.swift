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
        services: ServiceRegistry, manager: ConnectionManager, settings: [InspectedSetting], transports: [String],
        move: @escaping @Sendable (String) throws(LinkspanError) -> Void
    ) {
        self.services = services
        self.manager = manager
        self.settings = settings
        self.transports = transports
        self.move = move
    }
}
