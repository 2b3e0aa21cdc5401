internal import DequeModule

/// Brings messages and the marks between them to listeners, and holds messages that come before their first listener.
///
/// Confined to the connection's executor, as a part of its ``ConnectionCore``. One event's messages reach each listener
/// in the order of the wire, held ones first, and marks stand where they arose. A listener may add and remove others,
/// itself included: no access to the state spans a call.
final class EventRouter {
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
    private final class Hold {
        let event: String
        var backlog = EventBacklog()
        var awaiting: [EventListener] = []

        init(_ event: String) { self.event = event }

        /// Whether nothing is known that a listener would have to be told.
        var isEmpty: Bool { self.backlog.isEmpty && self.awaiting.isEmpty }
    }

    private enum Channel {
        /// No listener yet but for single messages; those that still wait for theirs get the next.
        case holding(Hold)
        /// Held messages are about to be handed over; new ones queue behind them.
        case replaying([EventListener], EventBacklog)
        case live([EventListener])
        /// The app has listened and stopped: nothing is held.
        case muted
    }

    private let limits: HoldLimits
    private var channels: [String: Channel] = [:] { didSet { self.latest = nil } }
    private var everything: [EventListener] = [] { didSet { self.latest = nil } }
    /// The only listener of the event that came last, while nothing changes: traffic mostly is of one kind.
    private var latest: (@Sendable (Message) -> Void)?
    private var latestEvent = ""
    /// The holds of the held messages, the oldest message first.
    private var held: Deque<Hold> = []
    private var heldBytes = 0
    /// Muted events, the first muted first.
    private var muted: Deque<String> = []
    /// The fate of an earlier process's session, nil when there was none.
    ///
    /// An event's first listener goes on where that process was, so it is told, however late it comes.
    private var former: EventBacklog.Hole?
    /// Listeners for one message that are about to get it, unless they are removed before.
    private var taken: Set<UInt64> = []
    private(set) var droppedCount: UInt64 = 0
    private var isFinished = false

    init(limits: HoldLimits = HoldLimits()) { self.limits = limits }

    /// Events of which something is known.
    var knownEvents: Int { self.channels.count }

    /// Forgets all listeners and held messages.
    func finish() {
        // Kept until after the accesses: listeners may hold anything.
        let former = (self.channels, self.everything)
        withExtendedLifetime(former) {
            (self.channels, self.everything, self.held, self.heldBytes) = ([:], [], [], 0)
            (self.muted, self.taken, self.isFinished) = ([], [], true)
        }
    }
}

// MARK: - Messages and marks

extension EventRouter {
    /// Calls the listeners of a message, or holds it.
    func route(_ message: Message) {
        if message.isNamed(self.latestEvent), let hear = self.latest { return hear(message) }
        let everything = self.everything
        let listeners = self.listeners(for: message)
        if everything.isEmpty, let only = listeners.first, listeners.count == 1, !only.isOnce {
            if case .live = self.channels[message.event] {
                (self.latestEvent, self.latest) = (message.event, only.hear)
            }
            return only.hear(message)
        }
        // Only a listener that was called before can have removed one that was not.
        var isFirst = true
        for listener in everything where isFirst || self.mayHear(listener, nil) {
            isFirst = false
            listener.hear(message)
        }
        for listener in listeners {
            guard isFirst && !listener.isOnce || self.mayHear(listener, message.event) else { continue }
            isFirst = false
            listener.hear(message)
        }
    }

    /// There was a session before that of the first link.
    func followsFormerSession() { self.former = EventBacklog.Hole() }

    /// Passes a mark to every listener that takes marks.
    func route(_ mark: Continuity) {
        self.former?.mark(mark)
        for (listener, event) in self.note(mark) where self.mayHear(listener, event) { listener.onMark?(mark) }
    }

    /// Hands held messages to the listeners that were added since.
    func replay(_ event: String) {
        while let (listeners, backlog) = self.takeReplay(event) {
            for entry in backlog.entries {
                for listener in listeners where self.mayHear(listener, event) {
                    for mark in entry.hole.marks { listener.onMark?(mark) }
                    listener.hear(entry.message)
                }
            }
            for mark in backlog.end.marks {
                for listener in listeners where self.mayHear(listener, event) { listener.onMark?(mark) }
            }
        }
    }

    /// The listeners of a message's event; without one it is held.
    private func listeners(for message: Message) -> [EventListener] {
        switch self.channels[message.event] {
        case .live(let listeners):
            if listeners.contains(where: \.isOnce) {
                self.take(listeners)
                self.keepLive(message.event, listeners.filter { !$0.isOnce })
            }
            return listeners
        case .replaying(let listeners, var backlog):
            self.channels[message.event] = .muted  // so that the backlog is not copied
            backlog.append(message)
            self.channels[message.event] = .replaying(listeners, backlog)
            return []
        case .holding(let hold):
            guard hold.awaiting.isEmpty else {
                let awaiting = hold.awaiting
                hold.awaiting = []
                if hold.isEmpty { self.channels[message.event] = nil }
                self.take(awaiting)
                return awaiting
            }
            self.hold(message, hold)
            return []
        case .muted:
            return []
        case nil:
            guard !self.isFinished else { return [] }
            self.hold(message, nil)
            return []
        }
    }

    /// Notes a mark among the messages that are held.
    ///
    /// - Returns: the listeners that want to hear it, each with its event.
    private func note(_ mark: Continuity) -> [(listener: EventListener, event: String?)] {
        var listeners: [(listener: EventListener, event: String?)] = []
        for listener in self.everything where listener.onMark != nil { listeners.append((listener, nil)) }
        for (event, channel) in self.channels {
            switch channel {
            case .live(let live):
                for listener in live where listener.onMark != nil { listeners.append((listener, event)) }
            case .holding(let hold):
                // With nothing before it, it says nothing.
                if !hold.backlog.isEmpty { hold.backlog.mark(mark) }
            case .replaying(let hearing, var backlog):
                backlog.mark(mark)
                self.channels[event] = .replaying(hearing, backlog)
            case .muted:
                ()
            }
        }
        return listeners
    }

    private func hold(_ message: Message, _ known: Hold?) {
        let hold = known ?? Hold(message.event)
        if known == nil, let former = self.former { hold.backlog.mark(former) }
        guard message.byteCount <= self.limits.bytes else {
            self.droppedCount += 1
            hold.backlog.miss()
            if known == nil, self.mayNote(message.event) { self.channels[message.event] = .holding(hold) }
            return
        }
        hold.backlog.append(message)
        if known == nil { self.channels[message.event] = .holding(hold) }
        self.held.append(hold)
        self.heldBytes += message.byteCount
        while self.held.count > self.limits.messages || self.heldBytes > self.limits.bytes { self.dropOldest() }
    }

    /// Drops all held messages; a gap stays in their place.
    func dropHeld() { while !self.held.isEmpty { self.dropOldest() } }

    private func dropOldest() {
        guard let hold = self.held.popFirst() else { return self.heldBytes = 0 }
        self.heldBytes -= hold.backlog.entries.first?.message.byteCount ?? 0
        hold.backlog.dropOldest()
        self.droppedCount += 1
        guard hold.backlog.entries.isEmpty, hold.awaiting.isEmpty else { return }
        self.channels[hold.event] = nil
        if self.mayNote(hold.event) { self.channels[hold.event] = .holding(hold) }
    }

    /// Whether there is room to remember a gap alone: the name comes from the server.
    private func mayNote(_ event: String) -> Bool {
        self.channels.count < self.limits.events && event.utf8.count <= 256
    }
}

// MARK: - Listeners

extension EventRouter {
    /// Adds a listener for one event, or for every event when it is nil.
    ///
    /// - Returns: whether held messages are to be handed over by ``replay(_:)``.
    func add(_ listener: EventListener, event: String?) -> Bool {
        guard !self.isFinished else { return false }
        guard let event else {
            self.everything.append(listener)
            return false
        }
        switch self.channels[event] {
        case .holding(let hold):
            for entry in hold.backlog.entries { self.heldBytes -= entry.message.byteCount }
            self.held.removeAll { $0 === hold }
            self.channels[event] = .replaying(hold.awaiting + [listener], hold.backlog)
            return true
        case nil where self.former?.isEmpty == false:
            var backlog = EventBacklog()
            if let former = self.former { backlog.mark(former) }
            self.channels[event] = .replaying([listener], backlog)
            return true
        case .replaying, .live, .muted, nil:
            self.join(listener, event)
        }
        return false
    }

    /// Adds a listener to an event of which nothing is held.
    private func join(_ listener: EventListener, _ event: String) {
        switch self.channels[event] {
        case .replaying(let listeners, let backlog):
            self.channels[event] = .replaying(listeners + [listener], backlog)
        case .live(let listeners):
            self.channels[event] = .live(listeners + [listener])
        case .muted:
            self.muted.removeAll { $0 == event }
            self.channels[event] = .live([listener])
        case .holding, nil:
            self.channels[event] = .live([listener])
        }
    }

    /// Adds a listener for one message: the oldest that is held, or the next.
    ///
    /// It leaves the event as it found it: as long as nothing listens for more than one message, the rest is held.
    ///
    /// - Returns: the held message, which is to be handed to the listener; nil when it waits for the next.
    func addOnce(_ listener: EventListener, event: String) -> Message? {
        guard !self.isFinished else { return nil }
        switch self.channels[event] {
        case .holding(let hold):
            guard let first = hold.backlog.popFirst() else {
                hold.awaiting.append(listener)
                return nil
            }
            self.heldBytes -= first.message.byteCount
            if let index = self.held.firstIndex(where: { $0 === hold }) { self.held.remove(at: index) }
            if hold.isEmpty { self.channels[event] = nil }
            return first.message
        case .replaying, .live, .muted:
            self.join(listener, event)
        case nil:
            let hold = Hold(event)
            hold.awaiting = [listener]
            self.channels[event] = .holding(hold)
        }
        return nil
    }

    /// The next messages to be replayed and the listeners they are for; nil when the event has caught up.
    private func takeReplay(_ event: String) -> (listeners: [EventListener], backlog: EventBacklog)? {
        guard case .replaying(let listeners, let backlog) = self.channels[event] else { return nil }
        guard !backlog.isEmpty else {
            self.keepLive(event, listeners)
            return nil
        }
        // Those that want one message have it once the batch has one.
        let isBringing = !backlog.entries.isEmpty
        if isBringing { self.take(listeners) }
        let staying = isBringing ? listeners.filter { !$0.isOnce } : listeners
        self.channels[event] = .replaying(staying, EventBacklog())
        return (listeners, backlog)
    }

    private func take(_ listeners: [EventListener]) {
        for listener in listeners where listener.isOnce { self.taken.insert(listener.id) }
    }

    /// Whether a listener that was found is still to be called: it may have been removed since.
    private func mayHear(_ listener: EventListener, _ event: String?) -> Bool {
        if listener.isOnce { return self.taken.remove(listener.id) != nil }
        guard let event else { return self.everything.contains { $0.id == listener.id } }
        switch self.channels[event] {
        case .replaying(let listeners, _), .live(let listeners): return listeners.contains { $0.id == listener.id }
        case .holding, .muted, nil: return false
        }
    }

    /// Moves a listener of every event before the others.
    func moveToFront(_ id: UInt64) {
        guard let index = self.everything.firstIndex(where: { $0.id == id }) else { return }
        self.everything.insert(self.everything.remove(at: index), at: 0)
    }

    /// Removes a listener.
    func remove(_ id: UInt64, event: String?) {
        // Kept until after the access: listeners may hold anything.
        withExtendedLifetime(self.takeOut(id, event: event)) {}
    }

    private func takeOut(_ id: UInt64, event: String?) -> [EventListener] {
        self.taken.remove(id)
        guard let event else {
            defer { self.everything.removeAll { $0.id == id } }
            return self.everything
        }
        switch self.channels[event] {
        case .live(let listeners):
            self.keepLive(event, listeners.filter { $0.id != id })
            return listeners
        case .holding(let hold):
            let former = hold.awaiting
            hold.awaiting.removeAll { $0.id == id }
            if hold.isEmpty { self.channels[event] = nil }
            return former
        case .replaying(let listeners, let backlog):
            self.channels[event] = .replaying(listeners.filter { $0.id != id }, backlog)
            return listeners
        case .muted, nil:
            return []
        }
    }

    /// Keeps an event live; without listeners it is muted, and the event muted first is forgotten when there are too
    /// many.
    private func keepLive(_ event: String, _ listeners: [EventListener]) {
        guard listeners.isEmpty else { return self.channels[event] = .live(listeners) }
        self.channels[event] = .muted
        self.muted.append(event)
        guard self.muted.count > self.limits.events, let first = self.muted.popFirst() else { return }
        self.channels[first] = nil
    }
}

extension Message {
    /// The size of the message while it is held.
    var byteCount: Int { self.event.utf8.count + self.payload.byteCount }
}
