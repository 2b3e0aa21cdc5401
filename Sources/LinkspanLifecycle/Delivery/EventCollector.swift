internal import LinkspanRuntime

/// Collects the events of a family that are handed over in batches.
///
/// It has a lock of its own, the only one that emitting takes: receivers, which may run at low priority and be
/// preempted anywhere, never hold it.
final class EventCollector<Event: LifecycleEvent>: Sendable {
    private struct Collected: Sendable {
        var event: Event
        var time: ContinuousClock.Instant
        var cause: UInt64?
    }

    private struct Contents: BatchContents {
        let events: [Collected]

        var count: Int { self.events.count }

        func stamped(at index: Int, seq: UInt64) -> Stamped<any LifecycleEvent> {
            let collected = self.events[index]
            return Stamped(collected.event, seq: seq, time: collected.time, cause: collected.cause)
        }
    }

    private struct State: Sendable {
        var events: [Collected] = []
        /// Whether the events are about to be taken.
        var isAwaited = false
        var audience = CollectorAudience.nobody
    }

    // Guards the collected events: emitters contend with each other, and once a batch with the thread that delivers it.
    private let state = Lock(State())

    /// Keeps an event.
    ///
    /// - Returns: whether the caller has to see to it that the events are taken.
    func add(_ event: Event, time: ContinuousClock.Instant, cause: UInt64?) -> Bool {
        self.state.withLock { state in
            state.events.append(Collected(event: event, time: time, cause: cause))
            defer { state.isAwaited = true }
            return !state.isAwaited
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
            defer { state.events = [] }
            return state.events
        }
        return events.isEmpty ? nil : Contents(events: events)
    }
}
