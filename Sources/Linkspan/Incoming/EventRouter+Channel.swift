extension EventRouter {
    /// The limits of messages held for events without a listener.
    ///
    /// Beyond it the oldest held message is dropped, and a gap marks its place.
    struct HoldLimits: Sendable, Hashable {
        var messages = 1_024
        var bytes = 1 << 20
        /// The number of events that are remembered without a held message: names come from the server and from the
        /// app.
        var events = 2_048
    }

    /// The held messages of one event, and the listeners that wait for a single message.
    ///
    /// A reference, so that a message without a listener costs one look-up, however many are held.
    final class Hold {
        let event: String
        var backlog = EventBacklog()
        /// Each gets a held message of its own; without one, all get the next.
        var awaiting: [EventListener] = []

        init(_ event: String) { self.event = event }
    }

    /// The stage of one event.
    enum Channel {
        /// No listener yet but for single messages; those that still wait for theirs get the next.
        case holding(Hold)
        /// Held messages are about to be handed over; new ones queue behind them.
        case replaying([EventListener], EventBacklog)
        case live([EventListener])
        /// The app has listened and stopped: nothing is held.
        case muted
    }

    /// The events with listeners, as they were last told, and those for which that may have changed.
    struct Followed {
        private var told: Set<String> = []
        var changed: Set<String>

        init(changed: Set<String>) { self.changed = changed }

        /// Notes whether an event has a listener, and answers whether that is news.
        mutating func note(_ event: String, _ hasListener: Bool) -> Bool {
            hasListener ? self.told.insert(event).inserted : self.told.remove(event) != nil
        }
    }
}
