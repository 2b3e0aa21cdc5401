/// An event that can be added up with others, for receivers that do not keep up with each.
package protocol SummableEvent: LifecycleEvent {
    /// The common properties of events that are added up.
    associatedtype SumKey: Hashable & Sendable

    /// Makes the key of the event.
    ///
    /// - Parameter isCoarse: whether there are too many keys, so that only those may differ that are few in any case.
    /// - Returns: the key.
    func sumKey(isCoarse: Bool) -> SumKey

    /// Adds an event of the same key.
    mutating func add(_ other: Self)

    /// The sum as an event, when everything has been added.
    var summed: Self { get }
}

/// Events added up by what they have in common: totals that are exact.
protocol EventTally: Sendable {
    /// The number of sums.
    var count: Int { get }

    /// Adds the sums of another tally of the same family.
    mutating func add(_ other: any EventTally)

    /// The sums as a batch, in the order in which the latest event of each came.
    var contents: any BatchContents { get }
}

struct SumTally<Event: SummableEvent>: EventTally {
    /// The number of keys that are told apart in full.
    static var limit: Int { 256 }

    private var sums: [Event.SumKey: Summed<Event>] = [:]

    var count: Int { self.sums.count }

    var contents: any BatchContents {
        let sums = self.sums.values.sorted { $0.seq < $1.seq }
        return CollectedEvents(
            events: sums.map { CollectedEvent(event: $0.event.summed, time: $0.time, cause: nil) },
            sums: sums.map { CollectedEvents<Event>.Sum(seq: $0.seq, count: $0.count) })
    }

    mutating func add(_ event: Event, count: Int = 1, seq: UInt64, time: ContinuousClock.Instant) {
        var key = event.sumKey(isCoarse: false)
        if self.sums.count >= Self.limit, self.sums[key] == nil { key = event.sumKey(isCoarse: true) }
        if self.sums[key]?.add(event, count: count, seq: seq, time: time) == nil {
            self.sums[key] = Summed(event: event, count: count, seq: seq, time: time)
        }
    }

    mutating func add(_ other: any EventTally) {
        guard let other = other as? Self else { return }
        for sum in other.sums.values { self.add(sum.event, count: sum.count, seq: sum.seq, time: sum.time) }
    }
}

/// Some events as one.
struct Summed<Event: SummableEvent>: Sendable {
    private(set) var event: Event
    private(set) var count: Int
    /// The number and the time of the latest.
    private(set) var seq: UInt64
    private(set) var time: ContinuousClock.Instant

    mutating func add(_ event: Event, count: Int, seq: UInt64, time: ContinuousClock.Instant) {
        self.event.add(event)
        self.count += count
        if seq > self.seq { (self.seq, self.time) = (seq, time) }
    }
}
