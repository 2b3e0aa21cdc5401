internal import DequeModule
internal import LinkspanRuntime

/// Brings messages and the marks between them to listeners, and keeps those that come before their first listener.
///
/// Order: one event's messages reach each listener in the order of the wire, held ones first, and marks stand where they
/// arose. One lock is taken once per message, and once more for each further listener; no listener is called under it.
final class EventRouter: Sendable {
    typealias Handler = EventListener.Handler
    typealias ItemHandler = EventListener.ItemHandler

    /// Messages that may be held for events nobody listens to yet.
    struct HoldLimits: Sendable, Hashable {
        var messages = 1_024
        var bytes = 1 << 20
        /// How many events are known at most when one more is to be noted of which nothing is held.
        var events = 2_048
    }

    private enum Channel: Sendable {
        /// Nobody has listened yet but for one message; those who still wait for theirs get the next.
        case holding(EventBacklog, awaiting: [EventListener])
        /// Held messages are being handed over; new ones queue behind them.
        case replaying([EventListener], EventBacklog)
        case live([EventListener])
    }

    private struct State: Sendable {
        var channels: [String: Channel] = [:]
        var everything: [EventListener] = []
        var lastID: UInt64 = 0
        var heldMessages = 0
        var heldBytes = 0
        var dropped: UInt64 = 0
        var isFinished = false

        mutating func nextID() -> UInt64 {
            self.lastID += 1
            return self.lastID
        }

        mutating func letGo(of message: Message) {
            self.heldMessages -= 1
            self.heldBytes -= message.byteCount
        }
    }

    private let limits: HoldLimits
    private let state = Lock(State())

    init(limits: HoldLimits = HoldLimits()) { self.limits = limits }

    /// Messages that were dropped because nobody listened and the hold was full.
    var droppedCount: UInt64 { self.state.withLock { $0.dropped } }

    /// Events of which something is known.
    var knownEvents: Int { self.state.withLock { $0.channels.count } }

    /// Forgets all listeners and held messages.
    func finish() {
        // Let go of outside the lock: a listener may hold anything.
        let former = self.state.withLock { state in
            let former = state
            state = State(dropped: state.dropped, isFinished: true)
            return former
        }
        _ = consume former
    }
}

// MARK: - What comes in

extension EventRouter {
    /// Calls the listeners of a message, or holds it.
    func route(_ message: Message) {
        let (everything, listeners) = self.state.withLock { state in
            (state.everything, self.listeners(for: message, &state))
        }
        // Only a listener that was called before can have cancelled one that was not, on this thread.
        var isFirst = true
        for listener in everything where isFirst || self.isListening(listener, nil) {
            isFirst = false
            listener.hear(message)
        }
        for listener in listeners where isFirst || self.isListening(listener, message.event) {
            isFirst = false
            listener.hear(message)
        }
    }

    /// Tells every listener that wants to know, and notes it among what is held.
    func mark(_ mark: Continuity) {
        let listeners = self.state.withLock { state -> [(EventListener, event: String?)] in
            var listeners: [(EventListener, event: String?)] = []
            for listener in state.everything where listener.wantsMarks { listeners.append((listener, nil)) }
            for (event, channel) in state.channels {
                switch channel {
                case .live(let live):
                    for listener in live where listener.wantsMarks { listeners.append((listener, event)) }
                case .holding(var backlog, let awaiting):
                    // With nothing before it, it says nothing.
                    guard !backlog.isEmpty else { continue }
                    backlog.mark(mark)
                    state.channels[event] = .holding(backlog, awaiting: awaiting)
                case .replaying(let hearing, var backlog):
                    backlog.mark(mark)
                    state.channels[event] = .replaying(hearing, backlog)
                }
            }
            return listeners
        }
        for (listener, event) in listeners where self.isListening(listener, event) { listener.hear(mark) }
    }

    private func listeners(for message: Message, _ state: inout State) -> [EventListener] {
        switch state.channels[message.event] {
        case .live(let listeners):
            if listeners.contains(where: \.isOnce) {
                state.channels[message.event] = .live(listeners.filter { !$0.isOnce })
            }
            return listeners
        case .replaying(let listeners, var backlog):
            state.channels[message.event] = nil  // so that the backlog is not copied
            backlog.append(message)
            state.channels[message.event] = .replaying(listeners, backlog)
            return []
        case .holding(var backlog, let awaiting):
            state.channels[message.event] = nil
            if awaiting.isEmpty { self.hold(message, &backlog, &state) }
            if !backlog.isEmpty { state.channels[message.event] = .holding(backlog, awaiting: []) }
            return awaiting
        case nil:
            guard !state.isFinished else { return [] }
            var backlog = EventBacklog()
            self.hold(message, &backlog, &state)
            if !backlog.entries.isEmpty || self.mayNote(message.event, state) {
                state.channels[message.event] = .holding(backlog, awaiting: [])
            }
            return []
        }
    }

    /// Keeps the oldest: they are what a late listener needs to understand the rest.
    private func hold(_ message: Message, _ backlog: inout EventBacklog, _ state: inout State) {
        guard state.heldMessages < self.limits.messages, state.heldBytes + message.byteCount <= self.limits.bytes else {
            state.dropped += 1
            backlog.miss()
            return
        }
        backlog.append(message)
        state.heldMessages += 1
        state.heldBytes += message.byteCount
    }

    /// Whether there is room to remember an event's gap without any of its messages: names come from the server.
    private func mayNote(_ event: String, _ state: State) -> Bool {
        state.channels.count < self.limits.events && event.utf8.count <= 256
    }
}

// MARK: - Who listens

extension EventRouter {
    /// Adds a listener for one event, or for every event when it is nil.
    ///
    /// Held messages of that event reach it before this returns.
    func add(event: String?, _ handler: @escaping Handler) -> Subscription {
        self.add(event: event) { EventListener(id: $0, handler) }
    }

    /// Adds a listener that hears the marks between the messages as well.
    func addForItems(event: String?, _ handler: @escaping ItemHandler) -> Subscription {
        self.add(event: event) { EventListener(id: $0, items: handler) }
    }

    private func add(event: String?, _ make: (UInt64) -> EventListener) -> Subscription {
        guard let event else { return self.addForEverything(make) }
        let (id, mustReplay) = self.state.withLock { state -> (UInt64, Bool) in
            let listener = make(state.nextID())
            guard !state.isFinished else { return (listener.id, false) }
            switch state.channels[event] {
            case .holding(let backlog, let awaiting):
                for entry in backlog.entries { state.letGo(of: entry.message) }
                state.channels[event] = .replaying(awaiting + [listener], backlog)
                return (listener.id, true)
            case .replaying(let listeners, let backlog):
                state.channels[event] = .replaying(listeners + [listener], backlog)
            case .live(let listeners):
                state.channels[event] = .live(listeners + [listener])
            case nil:
                state.channels[event] = .live([listener])
            }
            return (listener.id, false)
        }
        if mustReplay { self.replay(event) }
        return Subscription { [weak self] in self?.remove(id, event: event) }
    }

    private func addForEverything(_ make: (UInt64) -> EventListener) -> Subscription {
        let id = self.state.withLock { state in
            let listener = make(state.nextID())
            if !state.isFinished { state.everything.append(listener) }
            return listener.id
        }
        return Subscription { [weak self] in
            let former = self?.state.withLock { state in
                let former = state.everything
                state.everything.removeAll { $0.id == id }
                return former
            }
            _ = consume former
        }
    }

    /// Adds a listener for one message: the oldest that is held, or the next.
    ///
    /// It leaves the event as it found it: as long as nobody listens for more than one message, the rest is held.
    func addOnce(event: String, _ handler: @escaping Handler) -> Subscription {
        let gate = OnceGate()
        let (listener, held) = self.state.withLock { state -> (EventListener, Message?) in
            let listener = EventListener(id: state.nextID(), once: gate, handler)
            guard !state.isFinished else { return (listener, nil) }
            switch state.channels[event] {
            case .holding(var backlog, let awaiting):
                guard let first = backlog.popFirst() else {
                    state.channels[event] = .holding(backlog, awaiting: awaiting + [listener])
                    return (listener, nil)
                }
                state.letGo(of: first.message)
                state.channels[event] = backlog.isEmpty ? nil : .holding(backlog, awaiting: [])
                return (listener, first.message)
            case .replaying(let listeners, let backlog):
                state.channels[event] = .replaying(listeners + [listener], backlog)
            case .live(let listeners):
                state.channels[event] = .live(listeners + [listener])
            case nil:
                state.channels[event] = .holding(EventBacklog(), awaiting: [listener])
            }
            return (listener, nil)
        }
        if let held { listener.hear(held) }
        return Subscription { [weak self] in
            gate.end()
            self?.remove(listener.id, event: event)
        }
    }

    private func replay(_ event: String) {
        while true {
            let (listeners, backlog) = self.state.withLock { state -> ([EventListener], EventBacklog) in
                guard case .replaying(let listeners, let backlog) = state.channels[event] else {
                    return ([], EventBacklog())
                }
                guard !backlog.isEmpty else {
                    state.channels[event] = .live(listeners)
                    return ([], backlog)
                }
                // Those who want one message have it once the batch has one.
                let staying = backlog.entries.isEmpty ? listeners : listeners.filter { !$0.isOnce }
                state.channels[event] = .replaying(staying, EventBacklog())
                return (listeners, backlog)
            }
            guard !backlog.isEmpty else { return }
            for entry in backlog.entries {
                for listener in listeners where self.isListening(listener, event) {
                    for mark in entry.hole.marks { listener.hear(mark) }
                    listener.hear(entry.message)
                }
            }
            for mark in backlog.end.marks {
                for listener in listeners where self.isListening(listener, event) { listener.hear(mark) }
            }
        }
    }

    private func isListening(_ listener: EventListener, _ event: String?) -> Bool {
        // Its gate knows.
        if listener.isOnce { return true }
        return self.state.withLock { state in
            guard let event else { return state.everything.contains { $0.id == listener.id } }
            switch state.channels[event] {
            case .replaying(let listeners, _), .live(let listeners):
                return listeners.contains { $0.id == listener.id }
            case .holding, nil:
                return false
            }
        }
    }

    private func remove(_ id: UInt64, event: String) {
        // The former channel is let go of outside the lock.
        let former = self.state.withLock { state in
            let former = state.channels[event]
            switch former {
            case .live(let listeners):
                // An empty list stays: the app has listened once and has chosen to stop, so nothing is held any more.
                state.channels[event] = .live(listeners.filter { $0.id != id })
            case .holding(let backlog, let awaiting):
                let staying = awaiting.filter { $0.id != id }
                let isNoted = !backlog.isEmpty || !staying.isEmpty
                state.channels[event] = isNoted ? .holding(backlog, awaiting: staying) : nil
            case .replaying(let listeners, let backlog):
                state.channels[event] = .replaying(listeners.filter { $0.id != id }, backlog)
            case nil:
                ()
            }
            return former
        }
        _ = consume former
    }
}

extension Message {
    /// What it weighs while it is held.
    fileprivate var byteCount: Int { self.event.utf8.count + self.payload.byteCount }
}
