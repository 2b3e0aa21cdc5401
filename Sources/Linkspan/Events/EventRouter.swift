internal import DequeModule
internal import LinkspanLock

/// Brings messages to listeners, and keeps those that come before their first listener.
///
/// Order: one event's messages reach each listener in the order of the wire, held ones first. One lock is taken once per
/// message, and once more for each further listener; no listener is called under it.
final class EventRouter: Sendable {
    typealias Handler = @Sendable (Message) -> Void

    /// Messages that may be held for events nobody listens to yet.
    struct HoldLimits: Sendable, Hashable {
        var messages = 1_024
        var bytes = 1 << 20
    }

    private struct Listener: Sendable {
        let id: UInt64
        let handler: Handler
    }

    private enum Channel: Sendable {
        /// Nobody listens yet.
        case holding(Deque<Message>)
        /// Held messages are being handed over; new ones queue behind them.
        case replaying([Listener], Deque<Message>)
        case live([Listener])
    }

    private struct State: Sendable {
        var channels: [String: Channel] = [:]
        var everything: [Listener] = []
        var lastID: UInt64 = 0
        var heldMessages = 0
        var heldBytes = 0
        var dropped: UInt64 = 0
        var isFinished = false
    }

    private let limits: HoldLimits
    private let state = Lock(State())

    init(limits: HoldLimits = HoldLimits()) { self.limits = limits }

    /// Messages that were dropped because nobody listened and the hold was full.
    var droppedCount: UInt64 { self.state.withLock { $0.dropped } }

    /// Calls the listeners of a message, or holds it.
    func route(_ message: Message) {
        let (everything, listeners) = self.state.withLock { state in
            (state.everything, self.listeners(for: message, &state))
        }
        // Only a listener that was called before can have cancelled one that was not, on this thread.
        var isFirst = true
        for listener in everything where isFirst || self.isListening(listener.id, nil) {
            isFirst = false
            listener.handler(message)
        }
        for listener in listeners where isFirst || self.isListening(listener.id, message.event) {
            isFirst = false
            listener.handler(message)
        }
    }

    /// Adds a listener for one event.
    ///
    /// Held messages of that event reach it before this returns.
    func add(event: String, _ handler: @escaping Handler) -> Subscription {
        let (id, mustReplay) = self.state.withLock { state -> (UInt64, Bool) in
            state.lastID += 1
            let listener = Listener(id: state.lastID, handler: handler)
            switch state.channels[event] {
            case .holding(let held):
                state.heldMessages -= held.count
                state.heldBytes -= held.reduce(0) { $0 + $1.payload.byteCount }
                state.channels[event] = .replaying([listener], held)
                return (listener.id, true)
            case .replaying(let listeners, let held):
                state.channels[event] = .replaying(listeners + [listener], held)
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

    /// Adds a listener for every event.
    func addForEverything(_ handler: @escaping Handler) -> Subscription {
        let id = self.state.withLock { state in
            state.lastID += 1
            state.everything.append(Listener(id: state.lastID, handler: handler))
            return state.lastID
        }
        return Subscription { [weak self] in
            self?.state.withLock { state in state.everything.removeAll { $0.id == id } }
        }
    }

    /// Forgets all listeners and held messages.
    func finish() {
        self.state.withLock { state in
            let dropped = state.dropped
            state = State(dropped: dropped, isFinished: true)
        }
    }

    private func listeners(for message: Message, _ state: inout State) -> [Listener] {
        switch state.channels[message.event] {
        case .live(let listeners):
            return listeners
        case .replaying(let listeners, var held):
            held.append(message)
            state.channels[message.event] = .replaying(listeners, held)
            return []
        case .holding(var held):
            state.channels[message.event] = nil  // so that the queue below is not copied
            self.hold(message, &held, &state)
            state.channels[message.event] = .holding(held)
            return []
        case nil:
            guard !state.isFinished else { return [] }
            var held: Deque<Message> = []
            self.hold(message, &held, &state)
            if !held.isEmpty { state.channels[message.event] = .holding(held) }
            return []
        }
    }

    /// Keeps the oldest: they are what a late listener needs to understand the rest.
    private func hold(_ message: Message, _ held: inout Deque<Message>, _ state: inout State) {
        let bytes = message.payload.byteCount
        guard state.heldMessages < self.limits.messages, state.heldBytes + bytes <= self.limits.bytes else {
            state.dropped += 1
            return
        }
        held.append(message)
        state.heldMessages += 1
        state.heldBytes += bytes
    }

    private func replay(_ event: String) {
        while true {
            let (listeners, batch) = self.state.withLock { state -> ([Listener], Deque<Message>) in
                guard case .replaying(let listeners, let held) = state.channels[event] else { return ([], []) }
                state.channels[event] = held.isEmpty ? .live(listeners) : .replaying(listeners, [])
                return (listeners, held)
            }
            guard !batch.isEmpty else { return }
            for message in batch {
                for listener in listeners where self.isListening(listener.id, event) { listener.handler(message) }
            }
        }
    }

    private func isListening(_ id: UInt64, _ event: String?) -> Bool {
        self.state.withLock { state in
            guard let event else { return state.everything.contains { $0.id == id } }
            switch state.channels[event] {
            case .replaying(let listeners, _), .live(let listeners): return listeners.contains { $0.id == id }
            case .holding, nil: return false
            }
        }
    }

    private func remove(_ id: UInt64, event: String) {
        self.state.withLock { state in
            switch state.channels[event] {
            case .live(var listeners):
                state.channels[event] = nil
                listeners.removeAll { $0.id == id }
                // An empty list stays: the app has listened once and has chosen to stop, so nothing is held any more.
                state.channels[event] = .live(listeners)
            case .replaying(var listeners, let held):
                listeners.removeAll { $0.id == id }
                state.channels[event] = .replaying(listeners, held)
            case .holding, nil:
                ()
            }
        }
    }
}
