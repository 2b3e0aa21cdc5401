internal import DequeModule

/// The sending side of a connection as a value: the commands that wait, those under way, and when the link may have
/// them.
///
/// Methods decide and leave effects; they call nobody.
struct CommandStateMachine {
    /// A command that is ready for the link.
    struct Outgoing {
        var command: Command
        var message: OutboundMessage
    }

    /// Where commands go.
    private enum Phase {
        /// There is no link: they wait.
        case down
        /// A link is up, and the app's greeting goes first.
        case greeting(epoch: UInt64)
        /// Waiting commands go first: a turn is due or under way.
        case flushing
        /// Waiting commands go first, and their next turn is not due yet.
        case pausing(number: UInt64)
        /// The link has no room.
        case full
        /// To the link at once.
        case open
        /// Nowhere: the connection has been released.
        case ended
    }

    /// How much of a turn of the flush is used up.
    private struct Turn {
        var commands = 0
        var bytes = 0
    }

    private(set) var pacing: FlushPacing
    private(set) var delivery: DeliveryOptions
    private var phase = Phase.down
    private var turn = Turn()
    private var buffer: CommandBuffer
    var queues: DeliveryQueues
    var ledger: DeliveryLedger
    private var awaited: [UInt64: Command] = [:]
    /// When commands have waited for too long.
    private var ages = DeadlineQueue()
    private var maxAge: Duration?
    /// When commands expire.
    private var deadlines = DeadlineQueue()
    /// When deliveries are sent again over the same link.
    private var repeats = DeadlineQueue()
    private var lastRequestID: UInt64 = 0
    private var lastPause: UInt64 = 0
    private(set) var lateReplies: UInt64 = 0

    /// Makes a machine without a link.
    ///
    /// - Parameters:
    ///   - options: limits, pacing and what deliveries go by.
    ///   - account: whose rows of the store it has, if there is a store.
    init(options: ConnectionOptions, account: String? = nil) {
        self.ledger = DeliveryLedger(isStored: options.store != nil, account: account)
        self.pacing = options.flush
        self.delivery = options.deliveries
        self.buffer = CommandBuffer(limits: options.buffer)
        self.maxAge = options.buffer.maxAge
        self.queues = DeliveryQueues(limits: options.deliveries.limits)
    }

    /// Follows other limits from now on; commands that wait already keep their places and deadlines.
    mutating func adopt(_ options: ConnectionOptions) {
        self.pacing = options.flush
        self.delivery = options.deliveries
        self.buffer.limits = options.buffer
        self.maxAge = options.buffer.maxAge
        self.queues.limits = options.deliveries.limits
    }

    /// Whether a command goes to the link at once.
    var isOpen: Bool { if case .open = self.phase { true } else { false } }

    /// Whether what is submitted from now on waits for nothing but its turn.
    var isFlowing: Bool {
        switch self.phase {
        case .open: true
        case .flushing: self.load.waiting == 0
        case .down, .greeting, .pausing, .full, .ended: false
        }
    }

    /// Whether the connection has been released.
    var isEnded: Bool { if case .ended = self.phase { true } else { false } }

    /// Whether everything waits for the greeting of a link to end.
    func isGreeting(_ epoch: UInt64) -> Bool { if case .greeting(epoch) = self.phase { true } else { false } }

    /// How much waits: commands in the buffer, and deliveries without a reply.
    var load: ConnectionLoad {
        ConnectionLoad(
            commands: self.buffer.count, bytes: self.buffer.byteCount,
            deliveries: self.queues.count + self.ledger.followerCount, deliveryBytes: self.queues.byteCount)
    }

    /// When ``expire(now:effects:)`` is due.
    var deadline: ContinuousClock.Instant? {
        var earliest = self.deadlines.earliest
        for other in [self.repeats.earliest, self.ages.earliest] {
            guard let other else { continue }
            earliest = earliest.map { min($0, other) } ?? other
        }
        return earliest
    }
}

// MARK: - The link

extension CommandStateMachine {
    /// A link is up.
    ///
    /// - Parameters:
    ///   - epoch: the link's number, if everything else waits until ``greeted(epoch:effects:)``.
    ///   - effects: gets the effects.
    mutating func linkOpened(greetedAs epoch: UInt64?, effects: inout Deque<Effect>) {
        self.endExhausted(effects: &effects)
        if let epoch {
            self.phase = .greeting(epoch: epoch)
            effects.append(.greet(epoch: epoch))
        } else {
            self.beginFlush(effects: &effects)
        }
    }

    /// The app's greeting is complete.
    mutating func greeted(epoch: UInt64, effects: inout Deque<Effect>) {
        if self.isGreeting(epoch) { self.beginFlush(effects: &effects) }
    }

    /// The link is gone: requests under way fail now, deliveries go back to the heads of their ordering keys unless
    /// this was their last attempt.
    mutating func linkLost(_ cause: LinkspanError?, effects: inout Deque<Effect>) {
        self.phase = .down
        self.queues.interruptAll()
        self.repeats = DeadlineQueue()
        let requests = self.awaited.values.filter { $0.kind == .request }.sorted { $0.id < $1.id }
        self.awaited = [:]
        for command in requests {
            let error = LinkspanError(
                .disconnected, "the connection was lost before '\(command.event)' was answered", cause: cause,
                certainty: .unknown)
            effects.append(.finish(command, .failure(error)))
        }
        self.endExhausted(effects: &effects)
    }

    /// Ends deliveries that were given to links as often as they may be.
    private mutating func endExhausted(effects: inout Deque<Effect>) {
        guard let limit = self.delivery.attempts else { return }
        for command in self.queues.removeHeads(givenTimes: limit) {
            effects.append(command.fail(.timedOut, .unknown, "was not answered, however often it was sent"))
        }
    }

    /// There will be no link until the app asks for one: commands that wait to be sent fail, deliveries are kept.
    mutating func givenUp(_ cause: LinkspanError, effects: inout Deque<Effect>) {
        for command in self.buffer.removeAll() {
            let error = LinkspanError(
                .disconnected, "'\(command.event)' was given up", cause: cause, certainty: .notSent)
            effects.append(.finish(command, .failure(error)))
        }
    }

    /// There will be no link any more, and everything fails for this reason.
    mutating func end(_ error: LinkspanError, effects: inout Deque<Effect>) {
        self.phase = .ended
        self.failAll(error.code, "was given up: \(error.message)", effects: &effects)
    }

    /// Fails every command that has no outcome, so that nothing is sent later.
    mutating func failAll(_ code: LinkspanError.Code, _ reason: String, effects: inout Deque<Effect>) {
        let requests = self.awaited.values.filter { $0.kind == .request }.sorted { $0.id < $1.id }
        self.awaited = [:]
        for command in requests { effects.append(command.fail(code, .unknown, reason)) }
        for command in self.buffer.removeAll() { effects.append(command.fail(code, .notSent, reason)) }
        for (command, wasSent) in self.queues.removeAll() {
            effects.append(command.fail(code, wasSent ? .unknown : .notSent, reason))
        }
        for command in self.ledger.removeAllFollowers() { effects.append(command.fail(code, .unknown, reason)) }
    }

    /// The connection has been released.
    mutating func end(effects: inout Deque<Effect>) {
        self.phase = .ended
        self.failAll(.released, "was given up: released", effects: &effects)
        self.closeStore(effects: &effects)
    }

    /// The link has no room: everything waits until ``linkIsWritable(effects:)``.
    mutating func linkIsFull() {
        switch self.phase {
        case .flushing, .pausing, .open: self.phase = .full
        case .down, .greeting, .full, .ended: ()
        }
    }

    mutating func linkIsWritable(effects: inout Deque<Effect>) {
        if case .full = self.phase { self.beginFlush(effects: &effects) }
    }

    private mutating func beginFlush(effects: inout Deque<Effect>) {
        self.phase = .flushing
        self.turn = Turn()
        effects.append(.flush)
    }
}

// MARK: - New commands

extension CommandStateMachine {
    /// Whether a command goes to the link as it is: a plain send while nothing waits, the commonest of all.
    // Mutating, because that looks at the state in place: for a plain method the owner would copy all of it.
    mutating func passes(_ command: borrowing Command) -> Bool {
        guard case .open = self.phase else { return false }
        return command.isPlain
    }

    /// Takes a command.
    ///
    /// - Parameters:
    ///   - command: the command.
    ///   - hasBeenTaken: whether its caller has been told that it was taken, so that it is not refused for want of room.
    ///   - made: when it was performed.
    ///   - effects: gets the effects.
    /// - Returns: the command when it is to be sent now; nil when it waits or has failed.
    /// - Throws: `released`, `bufferFull`.
    mutating func accept(
        _ command: consuming Command, hasBeenTaken: Bool = false, made: () -> ContinuousClock.Instant,
        effects: inout Deque<Effect>
    ) throws(LinkspanError) -> Outgoing? {
        switch self.phase {
        case .ended:
            throw LinkspanError(.released, "the connection has been released", certainty: .notSent)
        case .open where !command.isOfDelivery:
            if command.timeout != nil { self.watch(command, made: made()) }
            return self.outgoing(command)
        case .down, .greeting, .flushing, .pausing, .full, .open: ()
        }
        if command.isOfDelivery {
            try self.acceptDelivery(command, made: made, effects: &effects)
            guard self.isOpen, let begun = self.queues.beginNext() else { return nil }
            return self.outgoing(begun, now: made())
        }
        guard !command.isVolatile else {
            effects.append(command.fail(.cancelled, .notSent, "was volatile and the connection was not ready"))
            return nil
        }
        command.identify()
        for dropped in try self.buffer.append(command, hasBeenTaken: hasBeenTaken) {
            effects.append(dropped.fail(.bufferFull, .notSent, "was dropped for newer ones"))
        }
        if command.timeout != nil || self.maxAge != nil {
            let made = made()
            self.watch(command, made: made)
            self.watchAge(of: command, made: made)
        }
        return nil
    }

    /// Takes a command of the greeting, which goes before everything that waits.
    mutating func acceptGreeting(
        _ command: Command, epoch: UInt64, made: ContinuousClock.Instant, effects: inout Deque<Effect>
    ) -> Outgoing? {
        guard self.isGreeting(epoch) else {
            effects.append(command.fail(.disconnected, .notSent, "was part of a greeting that is over"))
            return nil
        }
        self.watch(command, made: made)
        return self.outgoing(command)
    }

    /// Notes when a command expires, if it does.
    mutating func watch(_ command: Command, made: ContinuousClock.Instant) {
        guard let timeout = command.timeout else { return }
        let living = self.awaited.count + self.buffer.count + self.queues.count + self.ledger.followerCount
        self.deadlines.insert(command.id, at: made + timeout, living: living) {
            Set(self.awaited.values.map(\.id) + self.buffer.ids + self.queues.ids + self.ledger.followerIDs)
        }
    }

    /// Notes when a delivery is to be sent again.
    private mutating func watchReply(to delivery: Command, until due: ContinuousClock.Instant) {
        self.repeats.insert(delivery.id, at: due, living: self.awaited.count) { Set(self.awaited.values.map(\.id)) }
    }

    private mutating func watchAge(of command: Command, made: ContinuousClock.Instant) {
        guard let maxAge = self.maxAge else { return }
        self.ages.insert(command.id, at: made + maxAge, living: self.buffer.count) { Set(self.buffer.ids) }
    }

    private mutating func outgoing(_ command: Command) -> Outgoing {
        var message = command.message
        if command.kind == .request { message.requestID = self.awaitReply(to: command) }
        return Outgoing(command: command, message: message)
    }

    private mutating func outgoing(_ begun: DeliveryQueues.Begun, now: ContinuousClock.Instant) -> Outgoing {
        let command = begun.command
        var message = OutboundMessage(event: command.event, payload: self.payload(of: command))
        let number = self.awaitReply(to: command, under: begun.requestID)
        message.requestID = number
        let due = now + self.delivery.repeatAfter
        if case .deliver(let orderingKey) = command.kind {
            self.queues.note(requestID: number, repeatAt: due, orderingKey: orderingKey)
        }
        self.watchReply(to: command, until: due)
        return Outgoing(command: command, message: message)
    }

    private func payload(of delivery: Command) -> Payload {
        guard case .lastArgument = self.delivery.key, let key = delivery.key else { return delivery.payload }
        return delivery.payload.appending(key)
    }

    /// Notes that a reply is awaited, under the number of a former attempt or the next one.
    private mutating func awaitReply(to command: Command, under former: UInt64? = nil) -> UInt64 {
        let number = former ?? self.lastRequestID
        if former == nil { self.lastRequestID += 1 }
        self.awaited[number] = command
        return number
    }
}

// MARK: - Flushing

extension CommandStateMachine {
    /// The next waiting command that is to be sent now; nil when the turn is over.
    ///
    /// A turn that is used up while more waits is followed by a pause, which is left as an effect.
    mutating func nextToFlush(now: ContinuousClock.Instant, effects: inout Deque<Effect>) -> Outgoing? {
        guard case .flushing = self.phase else { return nil }
        guard !self.buffer.isEmpty || self.queues.hasReady else {
            self.phase = .open
            return nil
        }
        guard self.turn.commands < self.pacing.commands, self.turn.bytes < self.pacing.bytes else {
            self.lastPause += 1
            self.phase = .pausing(number: self.lastPause)
            effects.append(.pauseFlush(self.lastPause, self.pacing.pause))
            return nil
        }
        if let command = self.buffer.popFirst() {
            self.count(command)
            return self.outgoing(command)
        }
        guard let begun = self.queues.beginNext() else { return self.nextToFlush(now: now, effects: &effects) }
        self.count(begun.command)
        return self.outgoing(begun, now: now)
    }

    private mutating func count(_ command: Command) {
        self.turn.commands += 1
        self.turn.bytes += command.byteCount
    }

    /// A pause between two turns is over; one of a former link changes nothing.
    mutating func resume(pause: UInt64, effects: inout Deque<Effect>) {
        if case .pausing(number: pause) = self.phase { self.beginFlush(effects: &effects) }
    }

    /// The link refused a command: it goes back to the head of what waits, until the link has room or ends.
    mutating func takeBack(_ outgoing: Outgoing, now: ContinuousClock.Instant, effects: inout Deque<Effect>) {
        let command = outgoing.command
        if let id = outgoing.message.requestID { self.awaited[id] = nil }
        if case .deliver(let orderingKey) = command.kind {
            self.queues.giveBack(orderingKey: orderingKey)
        } else if case .greeting = self.phase {
            effects.append(command.fail(.disconnected, .notSent, "was part of a greeting that the link did not take"))
        } else if command.isVolatile {
            effects.append(command.fail(.cancelled, .notSent, "was volatile and the connection was not ready"))
        } else {
            var command = command
            command.identify()
            self.watchAge(of: command, made: now)
            self.buffer.restore(command)
        }
        self.linkIsFull()
    }

    /// A command can never be sent over this link.
    mutating func reject(_ outgoing: Outgoing, _ error: LinkspanError, effects: inout Deque<Effect>) {
        let command = outgoing.command
        if let id = outgoing.message.requestID { self.awaited[id] = nil }
        var error = error
        error.certainty = .notSent
        if case .deliver(let orderingKey) = command.kind {
            // An earlier link may have carried it.
            if let attempts = self.queues.attempts(of: command.id, orderingKey: orderingKey), attempts > 1 {
                error.certainty = .unknown
            }
            _ = self.queues.remove(command.id, orderingKey: orderingKey)
            self.beginNext(effects: &effects)
        }
        effects.append(.finish(command, .failure(error)))
    }

    /// Sends the next of an ordering key through the flush, so that there is one place that sends deliveries.
    mutating func beginNext(effects: inout Deque<Effect>) {
        guard case .open = self.phase, self.queues.hasReady else { return }
        self.beginFlush(effects: &effects)
    }
}

// MARK: - Ends of commands

extension CommandStateMachine {
    /// The command that a reply answers; nil for late and unknown replies, which are counted.
    mutating func takeAwaited(_ requestID: UInt64, effects: inout Deque<Effect>) -> Command? {
        guard let command = self.awaited.removeValue(forKey: requestID) else {
            self.lateReplies += 1
            return nil
        }
        if case .deliver(let orderingKey) = command.kind {
            _ = self.queues.remove(command.id, orderingKey: orderingKey)
            self.beginNext(effects: &effects)
        }
        return command
    }

    /// The commands that have no outcome yet, in the order in which they were made.
    var statuses: [CommandStatus] {
        var statuses = self.buffer.all.map { CommandStatus($0, .waiting) }
        statuses += self.awaited.values.filter { $0.kind == .request }.map { CommandStatus($0, .underWay) }
        statuses += self.queues.all.map { command, isUnderWay, wasSent in
            CommandStatus(command, isUnderWay ? .underWay : wasSent ? .interrupted : .waiting)
        }
        return statuses.sorted { $0.id < $1.id }
    }

    /// Cancels commands.
    mutating func cancel(_ ids: Set<Command.ID>, effects: inout Deque<Effect>) {
        for (command, certainty) in self.remove(ids, effects: &effects) {
            effects.append(command.fail(.cancelled, certainty, "was cancelled"))
        }
    }

    /// Ends commands whose time has run out, and repeats deliveries that were not answered.
    mutating func expire(now: ContinuousClock.Instant, effects: inout Deque<Effect>) {
        var expired: Set<Command.ID> = []
        while let id = self.deadlines.popExpired(now: now) { expired.insert(id) }
        for (command, certainty) in self.remove(expired, effects: &effects) {
            let fate = certainty == .notSent ? "was not sent in time" : "was not answered in time"
            effects.append(command.fail(.timedOut, certainty, fate))
        }
        var aged: Set<Command.ID> = []
        while let id = self.ages.popExpired(now: now) { aged.insert(id) }
        if !aged.isEmpty {
            for command in self.buffer.remove(where: { aged.contains($0.id) }) {
                effects.append(command.fail(.timedOut, .notSent, "waited longer than anything may"))
            }
        }
        var unanswered: Set<Command.ID> = []
        while let id = self.repeats.popExpired(now: now) { unanswered.insert(id) }
        if !unanswered.isEmpty { self.sendAgain(unanswered, now: now, effects: &effects) }
    }

    private mutating func sendAgain(
        _ ids: Set<Command.ID>, now: ContinuousClock.Instant, effects: inout Deque<Effect>
    ) {
        var exhausted: Set<Command.ID> = []
        for command in self.awaited.values {
            // One that the link did not take at first has a later instant by now.
            guard ids.contains(command.id), case .deliver(let orderingKey) = command.kind,
                self.queues.mayRepeat(orderingKey: orderingKey, now: now)
            else { continue }
            if let limit = self.delivery.attempts,
                self.queues.attempts(of: command.id, orderingKey: orderingKey) ?? 0 >= limit
            {
                exhausted.insert(command.id)
            } else {
                self.queues.interrupt(orderingKey: orderingKey)
            }
        }
        for (command, certainty) in self.remove(exhausted, effects: &effects) {
            effects.append(command.fail(.timedOut, certainty, "was not answered, however often it was sent"))
        }
        self.beginNext(effects: &effects)
    }

    /// Takes commands out, wherever they are.
    private mutating func remove(
        _ ids: Set<Command.ID>, effects: inout Deque<Effect>
    ) -> [(Command, LinkspanError.Certainty)] {
        guard !ids.isEmpty else { return [] }
        var removed: [(Command, LinkspanError.Certainty)] = self.buffer.remove { ids.contains($0.id) }
            .map { ($0, .notSent) }
        for (number, command) in self.awaited where ids.contains(command.id) {
            self.awaited[number] = nil
            if command.kind == .request { removed.append((command, .unknown)) }
        }
        // A delivery that waits may have been sent over an earlier link.
        removed += self.queues.remove { ids.contains($0.id) }.map { ($0.command, $0.wasSent ? .unknown : .notSent) }
        removed += self.ledger.removeFollowers(ids).map { ($0, .unknown) }
        self.beginNext(effects: &effects)
        return removed.sorted { $0.0.id < $1.0.id }
    }
}
