internal import LinkspanRuntime

/// Collects the events of a family that are handed over in batches.
///
/// It has a lock of its own, the only one that emitting takes: receivers, which may run at low priority and be
/// preempted anywhere, never hold it.
final class EventCollector<Event: LifecycleEvent>: Sendable {
    /// The number of events that may wait for the timer.
    static var limit: Int { 8_192 }

    private struct State: Sendable {
        var events: [CollectedEvent<Event>] = []
        /// Whether the events are about to be taken.
        var isAwaited = false
        var audience = CollectorAudience.nobody
        /// The number of events that were taken last; as many are likely to follow.
        var lastCount = 0
    }

    // Guards the collected events: emitters contend with each other, and once a batch with the thread that delivers it.
    private let state = Lock(State())

    /// The caller's duty after it has added an event.
    enum OnAdd {
        /// Nothing: the events are about to be taken.
        case wait
        /// See to it that the events are taken soon.
        case schedule
        /// See to it at once, because there are many.
        case handOver
    }

    /// Keeps an event.
    func add(_ event: Event, time: ContinuousClock.Instant, cause: UInt64?) -> OnAdd {
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

/// The receivers of a collector's events.
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
    var audience: CollectorAudience {
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

struct CollectedEvent<Event: Sendable>: Sendable {
    var event: Event
    var time: ContinuousClock.Instant
    var cause: UInt64?
}

/// Events as they were collected.
private struct CollectedEvents<Event: LifecycleEvent>: TypedContents {
    let events: [CollectedEvent<Event>]

    var count: Int { self.events.count }
    var isSummed: Bool { Event.family.tally != nil }

    func seq(at index: Int, first: UInt64) -> UInt64 { first + UInt64(index) }

    func total(_ range: Range<Int>) -> Int { range.count }

    func tally(first: UInt64) -> (any EventTally)? { Event.family.tally?(self.events[...], first) }

    func event(at place: BatchPlace) -> Stamped<Event> {
        let collected = self.events[place.index]
        return Stamped(
            collected.event, seq: place.seq, time: collected.time, cause: collected.cause,
            replayed: place.isReplayed, gap: place.gap)
    }
}

/// Contents of a batch whose type is known.
protocol TypedContents: BatchContents {
    associatedtype Event: LifecycleEvent

    func event(at place: BatchPlace) -> Stamped<Event>
}

extension TypedContents {
    func stamped(at place: BatchPlace) -> Stamped<any LifecycleEvent> {
        let stamped = self.event(at: place)
        return stamped.with(stamped.event as any LifecycleEvent)
    }

    func deliver(
        to receiver: any EventReceiver, _ scope: ServiceScope, _ call: ServiceCall,
        failed: (any Error, UInt64) -> Void
    ) async -> Bool {
        // Looked up once: the casts that find it cost more than most handlers.
        guard let handler = receiver.handler(of: Event.self) else {
            while call.advance() != nil {}
            return true
        }
        var scope = scope
        while let place = call.advance() {
            scope.cause = place.seq
            do {
                guard try await handler(self.event(at: place), scope) else { return false }
            } catch {
                failed(error, place.seq)
            }
        }
        return true
    }
}
