/// The families that a receiver takes.
enum Interest: Sendable {
    /// Those whose observer protocol the service adopts, or all.
    case service(any LifecycleService)
    /// One.
    case family(FamilyID)

    func includes<Event: LifecycleEvent>(_ type: Event.Type) -> Bool {
        switch self {
        case .service(let service): service is any AnyEventObserving || (service as? Event.Observer) != nil
        case .family(let family): family == Event.familyID
        }
    }
}

/// The registry's facts about a family, asked of the type outside of any lock.
struct FamilyTraits: Sendable {
    let family: FamilyID
    /// Whether its states are kept for services that start later.
    let hasStates: Bool
    let includes: @Sendable (Interest) -> Bool

    init<Event: LifecycleEvent>(_ type: Event.Type) {
        self.family = Event.familyID
        self.hasStates = Event.family.retention != nil
        self.includes = { $0.includes(Event.self) }
    }
}

/// An event with the registry's facts about it, asked of its type outside of any lock.
struct Posting: Sendable {
    let event: any LifecycleEvent
    let traits: FamilyTraits
    let retention: Retention
    /// Whether it replaces a waiting event about the same state.
    let isTotal: Bool

    init<Event: LifecycleEvent>(_ event: Event) {
        let family = Event.family
        self.event = event
        self.traits = FamilyTraits(Event.self)
        self.retention = family.retention?(event) ?? .none
        self.isTotal = family.isTotal
    }
}
