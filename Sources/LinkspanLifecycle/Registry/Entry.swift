/// A service as the registry keeps it.
struct Entry: Sendable {
    let id: ServiceID
    var group: ServiceID
    private(set) var service: any LifecycleService
    let name: ServiceName
    let placement: Placement
    let budgets: Budgets
    let importance: Importance
    let urgency: Urgency
    let origin: String

    init(
        _ service: any LifecycleService, id: ServiceID = .make(), group: ServiceID, settings: ServiceSettings
    ) {
        self.id = id
        self.group = group
        self.service = service
        self.name = settings.name ?? service.name
        self.placement = settings.placement ?? service.placement
        self.budgets = settings.budgets ?? service.budgets
        self.importance = settings.importance ?? service.importance
        self.urgency = service.urgency
        self.origin = settings.origin
    }

    /// Drops the service; the reference that is returned may be the last one.
    mutating func dropService() -> any LifecycleService {
        defer { self.service = DroppedService(name: self.name) }
        return self.service
    }
}

/// Takes the place of a service that its registry has let go of.
struct DroppedService: LifecycleService {
    let name: ServiceName
}
