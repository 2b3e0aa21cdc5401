internal import DequeModule
internal import LinkspanRuntime

/// Brings messages and the marks between them to listeners, and holds messages that come before their first listener.
///
/// Confined to the connection's executor, as a part of its ``ConnectionCore``. One event's messages reach each listener
/// in the order of the wire, held ones first, and marks stand where they arose. A listener may add and remove others,
/// itself included: no access to the state spans a call.
final class EventRouter {
    private let limits: HoldLimits
    private var channels: [String: Channel] = [:] { didSet { self.latest = nil } }
    private var everything: [EventListener] = [] { didSet { self.latest = nil } }
    /// The only listener that hears the event that came last, while nothing changes: to find it in the dictionary takes longer.
    private var latest: (event: String, listener: EventListener)?
    /// The holds of the held messages, the oldest message first.
    private var held: Deque<Hold> = []
    private var heldBytes = 0
    /// Muted events, the first muted first.
    private var muted: Deque<String> = []
    /// The fate of an earlier process's session, nil when there was none.
    ///
    /// An event's first listener goes on where that process was, so it gets the mark, however late it comes.
    private var former: EventBacklog.Hole?
    /// Listeners for one message that are about to get it, unless they are removed before.
    private var taken: Set<UInt64> = []
    /// Asks listeners for one message whether they still take it; see ``ask(_:_:_:)``.
    private var questions: [UInt64: @Sendable () -> Bool] = [:]
    private(set) var droppedCount: UInt64 = 0
    /// The listeners that were removed while others are being called, and how many such calls are under way.
    private var removed: Set<UInt64> = []
    private var calls = 0
    private var isFinished = false
    /// Nil while nobody wants to know which events have listeners.
    private var followed: Followed?
    /// Counts the identities of the connection: what was sent to one is not shown to the next.
    private var generation = 0

    init(limits: HoldLimits = HoldLimits()) { self.limits = limits }

    /// Begins to follow which events have listeners, or follows none any more; all count as changed.
    func follow(_ follows: Bool) {
        self.followed = follows ? Followed(changed: Set(self.channels.keys)) : nil
    }

    /// The events that have got their first listener since the last call, or have lost their last one, and which of both.
    func takeChanges() -> [(event: String, hasListener: Bool)] {
        guard self.followed?.changed.isEmpty == false, var followed = self.followed.take() else { return [] }
        let changes = followed.changed.map { ($0, self.hasListener($0)) }.filter { followed.note($0, $1) }
        followed.changed = []
        self.followed = followed
        return changes
    }

    private func hasListener(_ event: String) -> Bool {
        switch self.channels[event] {
        case .live(let listeners), .replaying(let listeners, _): !listeners.isEmpty
        case .holding(let hold): !hold.awaiting.isEmpty
        case .muted, nil: false
        }
    }

    /// Events of which something is known.
    var knownEvents: Int { self.channels.count }

    /// Forgets all listeners and held messages.
    func finish() {
        // Kept until after the accesses: listeners may hold anything.
        let former = (self.channels, self.everything, self.questions)
        withExtendedLifetime(former) {
            (self.channels, self.everything, self.held, self.heldBytes) = ([:], [], [], 0)
            (self.muted, self.taken, self.questions, self.isFinished) = ([], [], [:], true)
        }
    }
}

// MARK: - Messages and marks

extension EventRouter {
    /// Calls the listeners of a message, or holds it.
    func route(_ message: Message) {
        if let latest = self.latest, latest.event == message.event { return latest.listener.hear(message) }
        let everything = self.everything
        let listeners = self.listeners(for: message)
        if everything.isEmpty, listeners.count == 1, !listeners[0].isOnce { return listeners[0].hear(message) }
        self.calls += 1
        defer { self.endCall() }
        let generation = self.generation
        for listener in everything where self.mayHear(listener) {
            listener.hear(message)
            guard generation == self.generation else { return self.giveBack(listeners, message.event) }
        }
        var isUnheard = !listeners.isEmpty
        for listener in listeners where self.mayHear(listener) {
            isUnheard = false
            listener.hear(message)
            guard generation == self.generation else { return self.giveBack(listeners, message.event) }
        }
        if isUnheard { self.hold(unheard: message) }
    }

    /// There was a session before that of the first link.
    func followsFormerSession() { self.former = EventBacklog.Hole() }

    /// Passes a mark to every listener that takes marks.
    func route(_ mark: Continuity) {
        self.former?.mark(mark)
        self.calls += 1
        defer { self.endCall() }
        let generation = self.generation
        for listener in self.note(mark) where generation == self.generation && self.isListening(listener.id) {
            listener.onMark?(mark)
        }
    }

    /// Hands held messages to the listeners that were added since.
    func replay(_ event: String) {
        self.replayOnce(event)
        while let (listeners, backlog) = self.takeReplay(event) {
            self.hand(backlog, to: listeners, of: event)
            self.giveBack(listeners, event)
        }
    }

    /// Hands a backlog over, unless a listener changes the identity.
    private func hand(_ backlog: EventBacklog, to listeners: [EventListener], of event: String) {
        self.calls += 1
        defer { self.endCall() }
        let generation = self.generation
        for entry in backlog.entries {
            for listener in listeners where generation == self.generation && self.mayHear(listener) {
                for mark in entry.hole.marks { listener.onMark?(mark) }
                guard generation == self.generation else { return self.take([listener]) }
                listener.hear(entry.message)
            }
        }
        for mark in backlog.end.marks {
            for listener in listeners where generation == self.generation && self.isListening(listener.id) {
                listener.onMark?(mark)
            }
        }
    }

    /// Puts listeners back that were to get a message, the only one that they want, and did not.
    private func giveBack(_ listeners: [EventListener], _ event: String) {
        for listener in listeners where self.taken.remove(listener.id) != nil {
            if self.add(listener, event: event) { self.replayOnce(event) }
        }
    }

    /// Hands one held message to each listener that waits for a single one, in the order in which they came.
    ///
    /// A message is taken out just before the call, so that a listener that was removed or gave up takes none. The gap
    /// before it is for the first listener that takes marks, so it stays if this one does not.
    private func replayOnce(_ event: String) {
        while case .holding(let hold) = self.channels[event],
            let listener = hold.awaiting.first(where: { !hold.backlog.entries.isEmpty || $0.onMark != nil })
        {
            let marks = listener.onMark == nil ? [] : hold.backlog.takeStart().marks
            for mark in marks { listener.onMark?(mark) }
            // It may have been removed by itself.
            guard marks.isEmpty else { continue }
            guard !hold.backlog.entries.isEmpty else { return }
            hold.awaiting.removeFirst()
            self.followed?.changed.insert(event)
            guard self.isWanted(by: listener.id), let message = hold.backlog.takeOldest() else { continue }
            self.heldBytes -= message.byteCount
            if let index = self.held.firstIndex(where: { $0 === hold }) { self.held.remove(at: index) }
            self.tidy(hold)
            listener.hear(message)
        }
    }

    /// The listeners of a message's event; without one it is held.
    private func listeners(for message: Message) -> [EventListener] {
        switch self.channels[message.event] {
        case .live(let listeners):
            // By index, because iterating copies the listeners.
            if listeners.indices.contains(where: { listeners[$0].isOnce }) {
                self.take(listeners)
                self.keepLive(message.event, listeners.filter { !$0.isOnce })
            } else {
                self.noteOnly(of: listeners, for: message.event)
            }
            return listeners
        case .replaying(let listeners, var backlog):
            self.channels[message.event] = .muted  // so that the backlog is not copied
            backlog.append(message)
            self.channels[message.event] = .replaying(listeners, backlog)
            return []
        case .holding(let hold):
            // As with marks: behind held messages that are about to be handed over it waits.
            guard !hold.awaiting.isEmpty, hold.backlog.entries.isEmpty else {
                self.hold(message, hold)
                return []
            }
            let awaiting = hold.awaiting
            hold.awaiting = []
            self.tidy(hold)
            self.take(awaiting)
            return awaiting
        case .muted:
            self.noteOnly(of: [], for: message.event)
            return []
        case nil:
            guard !self.isFinished else { return [] }
            self.hold(message, nil)
            return []
        }
    }

    /// Notes the only listener that hears an event, if there is one: among those of the event and those of everything.
    private func noteOnly(of listeners: [EventListener], for event: String) {
        guard listeners.count + self.everything.count == 1, let only = listeners.first ?? self.everything.first else {
            return
        }
        self.latest = (event, only)
    }

    /// Notes a mark among the messages that are held.
    ///
    /// - Returns: the listeners that want to hear it.
    private func note(_ mark: Continuity) -> [EventListener] {
        var listeners = self.everything.filter { $0.onMark != nil }
        for (event, channel) in self.channels {
            switch channel {
            case .live(let live):
                listeners += live.filter { $0.onMark != nil }
            case .holding(let hold):
                // Behind held messages that are about to be handed over it waits for its turn.
                if hold.backlog.entries.isEmpty {
                    listeners += hold.awaiting.filter { $0.onMark != nil }
                }
                // With nothing before it, it says nothing.
                if !hold.backlog.isEmpty { hold.backlog.mark(mark) }
            case .replaying(let hearing, var backlog):
                backlog.mark(mark)
                self.channels[event] = .replaying(hearing, backlog)
            case .muted: ()
            }
        }
        return listeners
    }

    private func makeHold(_ event: String) -> Hold {
        let hold = Hold(event)
        if let former = self.former { hold.backlog.mark(former) }
        return hold
    }

    private func hold(_ message: Message, _ known: Hold?) {
        let hold = known ?? self.makeHold(message.event)
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

    /// Holds a message whose listeners have given up, unless the event is listened to for longer.
    private func hold(unheard message: Message) {
        switch self.channels[message.event] {
        case .holding(let hold): self.hold(message, hold)
        case nil where !self.isFinished: self.hold(message, nil)
        case .replaying, .live, .muted, nil: return
        }
        self.replayOnce(message.event)
    }

    /// The identity changes: drops all messages that no listener has had; gaps stay in their places.
    func dropHeld() {
        self.generation += 1
        while !self.held.isEmpty { self.dropOldest() }
        for (event, channel) in self.channels {
            guard case .replaying(let listeners, var backlog) = channel else { continue }
            self.droppedCount += UInt64(backlog.entries.count)
            while !backlog.entries.isEmpty { backlog.dropOldest() }
            self.channels[event] = .replaying(listeners, backlog)
        }
    }

    private func dropOldest() {
        guard let hold = self.held.popFirst() else { return self.heldBytes = 0 }
        self.heldBytes -= hold.backlog.entries.first?.message.byteCount ?? 0
        hold.backlog.dropOldest()
        self.droppedCount += 1
        self.tidy(hold)
    }

    /// Forgets a hold without messages and listeners, unless it has a gap to tell and there is room for that.
    private func tidy(_ hold: Hold) {
        guard hold.awaiting.isEmpty else { return }
        self.followed?.changed.insert(hold.event)
        guard hold.backlog.entries.isEmpty else { return }
        self.channels[hold.event] = nil
        if !hold.backlog.isEmpty, self.mayNote(hold.event) { self.channels[hold.event] = .holding(hold) }
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
    /// One for a single message leaves the event as it found it: as long as nothing listens for more, the rest is held.
    ///
    /// - Returns: whether held messages or marks are to be handed over by ``replay(_:)``.
    func add(_ listener: EventListener, event: String?) -> Bool {
        guard !self.isFinished else { return false }
        guard let event else {
            self.everything.append(listener)
            return false
        }
        self.followed?.changed.insert(event)
        switch self.channels[event] {
        case .holding(let hold) where listener.isOnce:
            hold.awaiting.append(listener)
            return !hold.backlog.isEmpty
        case nil where listener.isOnce:
            let hold = self.makeHold(event)
            hold.awaiting = [listener]
            self.channels[event] = .holding(hold)
            return !hold.backlog.isEmpty
        case .holding(let hold):
            for entry in hold.backlog.entries { self.heldBytes -= entry.message.byteCount }
            self.held.removeAll { $0 === hold }
            self.channels[event] = .replaying(hold.awaiting + [listener], hold.backlog)
            return true
        case nil where self.former?.isEmpty == false:
            self.channels[event] = .replaying([listener], self.makeHold(event).backlog)
            return true
        case .replaying(let listeners, let backlog):
            self.channels[event] = .replaying(listeners + [listener], backlog)
        case .live(var listeners):
            self.channels[event] = .muted  // so that the listeners are not copied
            listeners.append(listener)
            self.channels[event] = .live(listeners)
        case .muted:
            self.muted.removeAll { $0 == event }
            self.channels[event] = .live([listener])
        case nil:
            self.channels[event] = .live([listener])
        }
        return false
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

    /// Sets what is asked of a listener for one message right before it gets one: whether it still takes it.
    func ask(_ id: UInt64, _ event: String, _ isWanted: @escaping @Sendable () -> Bool) {
        if self.isRegistered(id, event) { self.questions[id] = isWanted }
    }

    private func isWanted(by id: UInt64) -> Bool { self.questions.removeValue(forKey: id)?() ?? true }

    /// Whether a listener that was found is to be called with a message: it may have been removed, or have given up.
    private func mayHear(_ listener: EventListener) -> Bool {
        guard listener.isOnce else { return self.isListening(listener.id) }
        return self.taken.remove(listener.id) != nil && self.isWanted(by: listener.id)
    }

    /// Whether a listener that was found has not been removed since; it is not searched for, because each is asked about.
    private func isListening(_ id: UInt64) -> Bool {
        assert(Growth.step())
        return !self.isFinished && !self.removed.contains(id)
    }

    private func endCall() {
        self.calls -= 1
        if self.calls == 0, !self.removed.isEmpty { self.removed = [] }
    }

    private func isRegistered(_ id: UInt64, _ event: String) -> Bool {
        switch self.channels[event] {
        case .replaying(let listeners, _), .live(let listeners): listeners.contains { $0.id == id }
        case .holding(let hold): hold.awaiting.contains { $0.id == id }
        case .muted, nil: false
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
        if self.calls > 0 { self.removed.insert(id) }
        self.taken.remove(id)
        self.questions[id] = nil
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
            self.tidy(hold)
            return former
        case .replaying(let listeners, let backlog):
            self.channels[event] = .replaying(listeners.filter { $0.id != id }, backlog)
            return listeners
        case .muted, nil: return []
        }
    }

    /// Keeps an event live; without listeners it is muted, and the event muted first is forgotten when there are too
    /// many.
    private func keepLive(_ event: String, _ listeners: [EventListener]) {
        guard listeners.isEmpty else { return self.channels[event] = .live(listeners) }
        self.channels[event] = .muted
        self.followed?.changed.insert(event)
        self.muted.append(event)
        guard self.muted.count > self.limits.events, let first = self.muted.popFirst() else { return }
        self.channels[first] = nil
    }
}
