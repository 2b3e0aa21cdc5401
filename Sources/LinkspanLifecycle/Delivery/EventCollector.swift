public import LinkspanRuntime

/// Collects the events of a family that are handed over in batches.
///
/// It has a lock of its own, the only one that emitting takes: receivers, which may run at low priority and be
/// preempted anywhere, never hold it. Adding can be inlined where the family is known, because looking up types for each
/// event takes as long as all the rest of it.
@usableFromInline
final class EventCollector<Event: LifecycleEvent>: Sendable {
    @usableFromInline
    struct State: Sendable {
        @usableFromInline var events: [CollectedEvent<Event>] = []
        /// Whether the events are about to be taken.
        @usableFromInline var isAwaited = false
        @usableFromInline var audience = CollectorAudience.nobody
        /// The number of events that were taken last; as many are likely to follow.
        @usableFromInline var lastCount = 0

        @usableFromInline
        init() {}
    }

    /// The number of events that may wait for the timer.
    @usableFromInline static var limit: Int { 8_192 }

    // Guards the collected events: emitters contend with each other, and once a batch with the thread that delivers it.
    @usableFromInline let state = Lock(State())

    init() {}

    /// Keeps an event.
    @inlinable
    func add(_ event: Event, time: ContinuousClock.Instant, cause: UInt64?) -> CollectorDuty {
        self.state.withLock { state in
            if state.events.isEmpty { state.events.reserveCapacity(min(state.lastCount, Self.limit)) }
            state.events.append(CollectedEvent(event: event, time: time, cause: cause))
            guard state.isAwaited else {
                state.isAwaited = true
                return .schedule
            }
            return state.events.count == Self.limit ? .handOver : .wait
        }
    }
}

/// A caller's duty after it has added an event to a collector.
@usableFromInline
enum CollectorDuty: Sendable {
    /// Nothing: the events are about to be taken.
    case wait
    /// See to it that the events are taken soon.
    case schedule
    /// See to it at once, because there are many.
    case handOver
}

/// The receivers of a collector's events.
@usableFromInline
enum CollectorAudience: Sendable {
    case nobody
    case somebody
    /// The registry is nested in another, which knows.
    case elsewhere
}

/// A collector of whatever family.
protocol EventCollecting: AnyObject, Sendable {
    var audience: CollectorAudience { get set }

    /// Takes all events; nil when there are none.
    func takeAll() -> (any BatchContents)?
}

extension EventCollector: EventCollecting {
    @inlinable var audience: CollectorAudience {
        get { self.state.withLock { $0.audience } }
        set { self.state.withLock { $0.audience = newValue } }
    }

    func takeAll() -> (any BatchContents)? {
        let events = self.state.withLock { state in
            state.isAwaited = false
            state.lastCount = state.events.count
            defer { state.events = [] }
            return state.events
        }
        return events.isEmpty ? nil : CollectedEvents(events: events)
    }
}

@usableFromInline
struct CollectedEvent<Event: Sendable>: Sendable {
    @usableFromInline var event: Event
    @usableFromInline var time: ContinuousClock.Instant
    @usableFromInline var cause: UInt64?

    @inlinable
    init(event: Event, time: ContinuousClock.Instant, cause: UInt64?) {
        (self.event, self.time, self.cause) = (event, time, cause)
    }
}
