/// An event on its way to its receivers, with what a registry knows of it.
struct Letter: Sendable {
    var stamped: Stamped<any LifecycleEvent>
    let retention: Retention
    /// Whether it replaces a waiting letter about the same state.
    let isTotal: Bool

    /// Asks the event's type, which is foreign code: outside of any lock.
    init<Event: LifecycleEvent>(
        _ event: Event, seq: UInt64 = 0, at time: ContinuousClock.Instant, cause: UInt64? = nil
    ) {
        let family = Event.family
        self.stamped = Stamped(event, seq: seq, time: time, cause: cause)
        self.retention = family.retention?(event) ?? .none
        self.isTotal = family.isTotal
    }

    var family: FamilyID { self.stamped.event.familyID }

    /// A state with a running total, as it was before the receiver came or as it is since.
    struct Total: Hashable {
        let state: Retention
        let isReplayed: Bool
    }

    /// The state of which it holds the running total.
    var total: Total? {
        guard self.isTotal, self.retention.keptSubject != nil else { return nil }
        return Total(state: self.retention, isReplayed: self.stamped.replayed)
    }
}
