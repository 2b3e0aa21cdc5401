internal import DequeModule

/// Everything a connection knows, as one value behind its lock: the state machine and the commands.
///
/// Methods decide and leave effects; they call nobody.
struct ConnectionCore: Sendable {
    /// A command that is ready for the link.
    struct Outgoing: Sendable {
        var command: Command
        var message: OutboundMessage
    }

    /// What to do with a command that was just performed.
    enum Acceptance: Sendable {
        case kept
        case sendNow(any Link, Outgoing, writables: UInt64)
    }

    private struct Awaited: Sendable {
        var command: Command
        var sentAt: ContinuousClock.Instant?
    }

    /// Commands taken from the buffer at a time while it is flushed, so that a long backlog does not hold up the rest.
    static let flushTurn = 256

    private(set) var machine: ConnectionStateMachine
    private var buffer: CommandBuffer
    private var lanes: DeliveryLanes
    private var awaited: [UInt64: Awaited] = [:]
    private var deadlines = DeadlineQueue()
    private var lastRequestID: UInt64 = 0
    private(set) var link: (any Link)?
    private var credentials = Credentials.none
    private var credentialTask: Task<Void, Never>?
    /// Commands go to the buffer rather than to the link: it is being flushed, or waits for the link to have room.
    var isFlushing = false
    var isFull = false
    private var writables: UInt64 = 0
    var effects: Deque<Effect> = []
    var isDraining = false
    private(set) var armed: ContinuousClock.Instant?
    var timer: (any ScheduledWork)?
    var lateReplies: UInt64 = 0
    /// Links that were told to end and have not said that they did.
    private var endingLinks = 0
    private var farewells: [ReplyBox<Void>] = []
    /// How many listen to what is sent.
    var outgoingListeners = 0
    var isWatched: Bool
    var trace: FrameTrace

    init(machine: ConnectionStateMachine, options: ConnectionOptions) {
        self.machine = machine
        self.buffer = CommandBuffer(limits: options.buffer)
        self.lanes = DeliveryLanes(limits: options.deliveries)
        self.trace = FrameTrace(capacity: options.trace)
        self.isWatched = self.trace.isOn
    }

    var waitingCommands: Int { self.buffer.count + self.lanes.count }
    var isReleased: Bool { self.machine.state == .released }
    var isOpen: Bool { self.machine.state == .connected && self.link != nil }
}

// MARK: - Effects

extension ConnectionCore {
    /// Whether the caller has become the one who performs the effects.
    mutating func beginDraining() -> Bool {
        guard !self.isDraining, !self.effects.isEmpty else { return false }
        self.isDraining = true
        return true
    }

    /// The effects that were left since; empty when the draining has ended.
    mutating func takeEffects() -> Deque<Effect> {
        defer { self.effects = [] }
        self.isDraining = !self.effects.isEmpty
        return self.effects
    }

    /// Lets an observer of states hear the latest, behind the effects that are being performed.
    mutating func introduce(observer: UInt64) { self.effects.append(.introduce(observer: observer)) }

    /// Makes sure that a timer runs for the earliest deadline.
    mutating func rearm() {
        guard let wanted = [self.machine.deadline, self.deadlines.earliest].compactMap({ $0 }).min() else { return }
        if let armed = self.armed, armed <= wanted { return }
        self.armed = wanted
        self.effects.append(.arm(wanted))
    }

    mutating func timerBegan() { self.armed = nil }
}

// MARK: - The state machine's actions

extension ConnectionCore {
    mutating func run<Failure: Error>(
        _ event: (inout ConnectionStateMachine) throws(Failure) -> [ConnectionStateMachine.Action]
    ) throws(Failure) {
        for action in try event(&self.machine) { self.carryOut(action) }
    }

    mutating func credentialsArrived(epoch: UInt64, _ credentials: Credentials, now: ContinuousClock.Instant) {
        guard self.machine.isCurrent(epoch) else { return }
        self.credentials = credentials
        self.credentialTask = nil
        for action in self.machine.credentialsArrived(epoch: epoch, now: now) { self.carryOut(action) }
    }

    /// Keeps the task that asks for credentials, to cancel it; refuses when the attempt is over already.
    mutating func keep(_ task: Task<Void, Never>, epoch: UInt64) -> Bool {
        guard self.machine.isCurrent(epoch), case .obtainingCredentials = self.machine.progress else { return false }
        self.credentialTask = task
        return true
    }

    /// Keeps a link that is about to open; refuses when the attempt is over already.
    mutating func keep(_ link: any Link, epoch: UInt64) -> Bool {
        guard self.machine.isCurrent(epoch) else { return false }
        self.link = link
        return true
    }

    /// The link, if it is that of `epoch`.
    func link(of epoch: UInt64) -> (any Link)? { self.machine.isCurrent(epoch) ? self.link : nil }

    private mutating func carryOut(_ action: ConnectionStateMachine.Action) {
        switch action {
        case .announce(let change):
            self.effects.append(.announce(change))
            self.follow(change)
        case .provideCredentials(let epoch, let reason):
            self.link = nil
            self.cancelCredentialTask()
            self.effects.append(.provideCredentials(epoch: epoch, reason: reason))
        case .openLink(let epoch, let attempt):
            self.effects.append(.openLink(epoch: epoch, attempt: attempt, self.credentials))
            self.credentials = .none
        case .endLink(_, let politely):
            self.cancelCredentialTask()
            if let link = self.link {
                self.endingLinks += 1
                self.effects.append(.endLink(link, politely: politely))
            }
            self.link = nil
        }
    }

    /// A link that was told to end has ended.
    ///
    /// - Returns: those who wait for the last one.
    mutating func formerLinkEnded() -> [ReplyBox<Void>] {
        self.endingLinks = max(0, self.endingLinks - 1)
        guard self.endingLinks == 0 else { return [] }
        defer { self.farewells = [] }
        return self.farewells
    }

    /// Notes who waits until no link is left that was told to end; false when there is none.
    mutating func awaitFarewell(_ waiter: ReplyBox<Void>) -> Bool {
        guard self.endingLinks > 0 else { return false }
        self.farewells.append(waiter)
        return true
    }

    private mutating func cancelCredentialTask() {
        if let task = self.credentialTask { self.effects.append(.cancelTask(task)) }
        self.credentialTask = nil
    }

    private mutating func follow(_ change: StateChange) {
        if change.from == .connected { self.failAwaited(change.reason.error) }
        switch change.to {
        case .connected:
            self.isFlushing = true
            self.isFull = false
            self.effects.append(.flush)
        case .disconnected:
            guard case .failed(let error) = change.reason else { return }
            self.failAll(self.buffer.removeAll(), .disconnected, "was given up", cause: error)
        case .released:
            self.failAll(self.buffer.removeAll(), .released, "was given up: released", cause: nil)
            for (command, wasSent) in self.lanes.removeAll() {
                self.effects.append(
                    command.fail(.released, wasSent ? .unknown : .notSent, "was given up: released"))
            }
        case .created, .reconnecting:
            ()
        }
    }

    /// The link is gone: requests under way fail now, deliveries go back to the heads of their lanes.
    private mutating func failAwaited(_ cause: LinkspanError?) {
        self.isFlushing = false
        self.isFull = false
        self.link = nil
        self.lanes.interruptAll()
        let requests = self.awaited.values.map(\.command).filter { $0.kind == .request }.sorted { $0.id < $1.id }
        self.awaited = [:]
        for command in requests {
            let error = LinkspanError(
                .disconnected, "the connection was lost before '\(command.event)' was answered", cause: cause,
                certainty: .unknown)
            self.effects.append(.finish(command, .failure(error)))
        }
    }

    private mutating func failAll(
        _ commands: [Command], _ code: LinkspanError.Code, _ what: String, cause: LinkspanError?
    ) {
        for command in commands {
            let error = LinkspanError(code, "'\(command.event)' \(what)", cause: cause, certainty: .notSent)
            self.effects.append(.finish(command, .failure(error)))
        }
    }
}

// MARK: - Commands

extension ConnectionCore {
    mutating func accept(
        _ command: Command, now: () -> ContinuousClock.Instant
    ) throws(LinkspanError) -> Acceptance {
        guard !self.isReleased else {
            throw LinkspanError(.released, "the connection has been released", certainty: .notSent)
        }
        let isReady = self.isOpen && !self.isFlushing && !self.isFull
        if case .deliver(let lane) = command.kind {
            try self.lanes.append(command, lane: lane)
            self.watch(command, now: now)
            guard isReady, let link = self.link, let head = self.lanes.begin(lane: lane) else { return .kept }
            return .sendNow(link, self.outgoing(head), writables: self.writables)
        }
        if isReady, let link = self.link {
            self.watch(command, now: now)
            return .sendNow(link, self.outgoing(command), writables: self.writables)
        }
        guard !command.isVolatile else {
            self.effects.append(command.fail(.cancelled, .notSent, "was volatile and the connection was not ready"))
            return .kept
        }
        for dropped in try self.buffer.append(command) {
            self.effects.append(dropped.fail(.bufferFull, .notSent, "was dropped for newer ones"))
        }
        self.watch(command, now: now)
        return .kept
    }

    /// What comes next in a flush; empty when there is nothing more to send now.
    mutating func nextToFlush() -> (link: any Link, batch: [Outgoing], writables: UInt64)? {
        guard self.isOpen, self.isFlushing, !self.isFull, let link = self.link else { return nil }
        var batch: [Outgoing] = []
        while batch.count < Self.flushTurn, let command = self.buffer.popFirst() {
            batch.append(self.outgoing(command))
        }
        if batch.isEmpty {
            self.isFlushing = false
            batch = self.lanes.beginAll().map { self.outgoing($0) }
        }
        return batch.isEmpty ? nil : (link, batch, self.writables)
    }

    /// The link has no room: everything waits until it says otherwise, unless it has done so meanwhile.
    mutating func linkIsFull(_ link: any Link, writables: UInt64) {
        guard self.writables == writables, self.isOpen, self.link === link else { return }
        self.isFull = true
        self.isFlushing = true
    }

    mutating func linkIsWritable() {
        self.writables += 1
        self.isFull = false
        if self.isFlushing { self.effects.append(.flush) }
    }

    /// A command did not reach the link: it goes back to where it was.
    ///
    /// - Parameters:
    ///   - outgoing: the command.
    ///   - refuser: the link that would not have it; nil when it was not asked.
    ///   - writables: how often a link had said that it has room, when this one was asked.
    mutating func takeBack(_ outgoing: Outgoing, refusedBy refuser: (any Link)?, writables: UInt64) {
        let command = outgoing.command
        let wasAwaited = outgoing.message.requestID.map { self.awaited.removeValue(forKey: $0) != nil }
        if case .deliver(let lane) = command.kind {
            guard wasAwaited == true else { return }
            self.lanes.interrupt(lane: lane)
        } else {
            // A request that is not awaited any more has had its outcome.
            guard wasAwaited != false else { return }
            guard !command.isVolatile else {
                self.effects.append(command.fail(.cancelled, .notSent, "was volatile and the connection was not ready"))
                return
            }
            guard !self.isReleased else {
                self.effects.append(command.fail(.released, .notSent, "was given up: released"))
                return
            }
            self.buffer.restore(command)
        }
        guard self.isOpen else { return }
        self.isFlushing = true
        if let refuser, self.link === refuser, self.writables == writables {
            // It will end or say that it has room: to try again before would go round in circles.
            self.isFull = true
        } else if !self.isFull {
            self.effects.append(.flush)
        }
    }

    /// A command can never be sent over this link.
    mutating func reject(_ outgoing: Outgoing, _ error: LinkspanError) {
        if let id = outgoing.message.requestID, self.awaited.removeValue(forKey: id) == nil {
            // It has had its outcome while the link was asked.
            return
        }
        if case .deliver(let lane) = outgoing.command.kind {
            guard self.lanes.remove(outgoing.command.id, lane: lane) != nil else { return }
            self.beginNext(lane: lane)
        }
        var error = error
        error.certainty = .notSent
        self.effects.append(.finish(outgoing.command, .failure(error)))
    }

    /// The command that a reply answers, and when it was sent.
    ///
    /// Nil for late and unknown replies, which are counted.
    mutating func takeAwaited(_ requestID: UInt64) -> Command? {
        guard let entry = self.awaited.removeValue(forKey: requestID) else {
            self.lateReplies += 1
            return nil
        }
        if case .deliver(let lane) = entry.command.kind {
            _ = self.lanes.remove(entry.command.id, lane: lane)
            self.beginNext(lane: lane)
        }
        return entry.command
    }

    mutating func cancel(_ id: Command.ID) {
        guard let (command, certainty) = self.remove(id) else { return }
        self.effects.append(command.fail(.cancelled, certainty, "was cancelled"))
    }

    mutating func expire(now: ContinuousClock.Instant) {
        while let id = self.deadlines.popExpired(now: now) {
            guard let (command, certainty) = self.remove(id) else { continue }
            let what = certainty == .notSent ? "was not sent in time" : "was not answered in time"
            self.effects.append(command.fail(.timedOut, certainty, what))
        }
    }

    private mutating func beginNext(lane: String) {
        // Through the flush, so that there is one place that sends deliveries.
        guard self.isOpen, !self.isFull, !self.isFlushing else { return }
        self.isFlushing = true
        self.effects.append(.flush)
    }

    private mutating func outgoing(_ command: Command) -> Outgoing {
        var message = OutboundMessage(event: command.event, payload: command.payload, isVolatile: command.isVolatile)
        if command.kind != .send {
            message.requestID = self.lastRequestID
            self.awaited[self.lastRequestID] = Awaited(command: command)
            self.lastRequestID += 1
        }
        return Outgoing(command: command, message: message)
    }

    private mutating func watch(_ command: Command, now: () -> ContinuousClock.Instant) {
        guard let timeout = command.timeout else { return }
        if self.deadlines.count > 64 + 4 * (self.awaited.count + self.waitingCommands) { self.compactDeadlines() }
        self.deadlines.insert(command.id, at: now() + timeout)
    }

    private mutating func compactDeadlines() {
        let alive = Set(self.awaited.values.map(\.command.id) + self.buffer.ids + self.lanes.ids)
        self.deadlines.compact { alive.contains($0) }
    }

    /// Takes a command out, wherever it is.
    private mutating func remove(_ id: Command.ID) -> (Command, LinkspanError.Certainty)? {
        if let command = self.buffer.remove(id) { return (command, .notSent) }
        let requestID = self.awaited.first { $0.value.command.id == id }?.key
        if let requestID, let entry = self.awaited.removeValue(forKey: requestID) {
            if case .deliver(let lane) = entry.command.kind {
                _ = self.lanes.remove(id, lane: lane)
                self.beginNext(lane: lane)
            }
            return (entry.command, .unknown)
        }
        // A delivery that waits may have been sent over an earlier link.
        return self.lanes.remove(id).map { ($0.command, $0.wasSent ? .unknown : .notSent) }
    }
}
