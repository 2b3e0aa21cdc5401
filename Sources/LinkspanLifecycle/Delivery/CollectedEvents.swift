/// Collected events as the contents of a batch, one by one or added up.
struct CollectedEvents<Event: LifecycleEvent>: BatchContents {
    /// The events that were added up into one.
    struct Sum: Sendable {
        /// The number of the latest event in it.
        let seq: UInt64
        /// The number of events in it.
        let count: Int
    }

    let events: [CollectedEvent<Event>]
    /// The events behind each event; nil when each is itself.
    var sums: [Sum]?

    var count: Int { self.events.count }
    var isSummed: Bool { Event.family.tally != nil }

    func seq(at index: Int, first: UInt64) -> UInt64 { self.sums?[index].seq ?? first + UInt64(index) }

    func total(_ range: Range<Int>) -> Int { self.sums?[range].reduce(0) { $0 + $1.count } ?? range.count }

    func tally(first: UInt64) -> (any EventTally)? {
        self.sums == nil ? Event.family.tally?(self.events[...], first) : nil
    }

    func stamped(at place: BatchPlace) -> Stamped<any LifecycleEvent> {
        let stamped = self.events[place.index].stamped(at: place)
        return stamped.with(stamped.event as any LifecycleEvent)
    }

    func deliver(
        to receiver: any EventReceiver, _ scope: ServiceScope, _ call: ServiceCall,
        failed: @escaping (any Error, UInt64) -> Void
    ) async -> Bool {
        await receiver.receive(EventRun(events: self.events, scope: scope, call: call, failed: failed))
    }
}

/// The events of a call that one receiver gets one after the other, by their type.
@usableFromInline
struct EventRun<Event: Sendable> {
    @usableFromInline let events: [CollectedEvent<Event>]
    @usableFromInline let scope: ServiceScope
    @usableFromInline let call: ServiceCall
    @usableFromInline let failed: (any Error, UInt64) -> Void

    /// Hands the events to a receiver until there are no more, or the receiver is gone.
    ///
    /// - Parameter handler: hands one event over; false when there is nobody any more.
    /// - Returns: whether the receiver is still there.
    // Inlined where a family is declared: with the type known, an event takes half as long.
    @inlinable
    func forEach(
        _ handler: (Stamped<Event>, ServiceScope) async throws -> Bool
    ) async -> Bool {
        var scope = self.scope
        while let place = self.call.advance() {
            scope.cause = place.seq
            do {
                guard try await handler(self.events[place.index].stamped(at: place), scope) else { return false }
            } catch {
                self.failed(error, place.seq)
            }
        }
        return true
    }
}

extension CollectedEvent {
    @inlinable
    func stamped(at place: BatchPlace) -> Stamped<Event> {
        Stamped(
            self.event, seq: place.seq, time: self.time, cause: self.cause, replayed: place.isReplayed, gap: place.gap)
    }
}
