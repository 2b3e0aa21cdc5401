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
    let delivery: EventDelivery
    /// Whether its events are added up rather than lost.
    let isSummed: Bool
    let includes: @Sendable (Interest) -> Bool

    init<Event: LifecycleEvent>(_ type: Event.Type) {
        let family = Event.family
        self.family = Event.familyID
        self.delivery = family.delivery
        self.isSummed = family.tally != nil
        self.includes = { $0.includes(Event.self) }
    }
}

/// An event with all that is asked of it, outside of any lock.
struct Posting: Sendable {
    let event: any LifecycleEvent
    let traits: FamilyTraits
    let retention: Retention

    init<Event: LifecycleEvent>(_ event: Event) {
        self.event = event
        self.traits = FamilyTraits(Event.self)
        self.retention = event.kept
    }
}
