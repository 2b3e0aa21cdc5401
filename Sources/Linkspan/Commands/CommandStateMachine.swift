internal import DequeModule

/// The sending side of a connection as a value: what waits, what is under way, and when the link may have it.
///
/// Methods decide and leave effects; they call nobody.
struct CommandStateMachine: Sendable {
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

    /// What is sent without a pause.
    struct Turn: Sendable {
        let link: any Link
        let batch: [Outgoing]
        /// How often a link had said that it has room, when this turn began.
        let writables: UInt64
        /// Whether it is as large as a turn may be.
        let isFull: Bool
    }

    /// Where commands go.
    private enum Phase: Sendable {
        /// There is no link: they wait.
        case down
        /// A link is up, and the app's greeting goes first.
        case greeting(epoch: UInt64)
        /// What waits goes first: a turn is due or under way.
        case flushing
        /// What waits goes first, and its next turn is not due yet.
        case pausing(number: UInt64)
        /// The link has no room.
        case full
        /// To the link at once.
        case open
        /// Nowhere any more.
        case ended
    }

    /// What a turn has in its hand: neither waiting nor awaited, and perhaps given up meanwhile.
    private struct InHand: Sendable {
        var ids: Set<Command.ID> = []
        var cancelled: Set<Command.ID> = []
        var expired: Set<Command.ID> = []
        /// Whether a turn is under way at all.
        var isTurn = false
    }

    private var pacing: FlushPacing
    private var delivery: DeliveryOptions
    private var phase = Phase.down
    private var link: (any Link)?
    private var buffer: CommandBuffer
    private var lanes: DeliveryLanes
    private var awaited: [UInt64: Command] = [:]
    private var inHand = InHand()
    /// When commands have waited for too long.
    private var ages = DeadlineQueue()
    private var maxAge: Duration?
    /// When commands expire.
    private var deadlines = DeadlineQueue()
    /// When deliveries are sent again over the same link.
    private var repeats = DeadlineQueue()
    private var lastRequestID: UInt64 = 0
    private var lastPause: UInt64 = 0
    private var writables: UInt64 = 0
    private(set) var lateReplies: UInt64 = 0

    init(options: ConnectionOptions) {
        self.pacing = options.flush
        self.delivery = options.deliveries
        self.buffer = CommandBuffer(limits: options.buffer)
        self.maxAge = options.buffer.maxAge
        self.lanes = DeliveryLanes(limits: options.deliveries.limits)
    }

    /// Goes by other limits from now on; what waits keeps its place and its deadlines.
    mutating func adopt(_ options: ConnectionOptions) {
        self.pacing = options.flush
        self.delivery = options.deliveries
        self.buffer.limits = options.buffer
        self.maxAge = options.buffer.maxAge
        self.lanes.limits = options.deliveries.limits
    }

    /// Takes what an earlier process left.
    mutating func restore(_ deliveries: [Command]) {
        for command in deliveries {
            if case .deliver(let lane) = command.kind { self.lanes.restore(command, lane: lane) }
        }
    }

    /// Whether everything waits for the greeting of a link to end.
    func isGreeting(_ epoch: UInt64) -> Bool { if case .greeting(epoch) = self.phase { true } else { false } }
    var waitingCommands: Int { self.buffer.count + self.lanes.count }
    /// When ``expire(now:effects:)`` is due.
    var deadline: ContinuousClock.Instant? {
        [self.deadlines.earliest, self.repeats.earliest, self.ages.earliest].compactMap { $0 }.min()
    }
}

// MARK: - The link

extension CommandStateMachine {
    /// A link is up.
    ///
    /// - Parameters:
    ///   - link: the link.
    ///   - epoch: its number, if everything else waits until ``greeted(epoch:effects:)``.
    ///   - effects: gets what is to be done.
    mutating func linkOpened(_ link: any Link, greetedAs epoch: UInt64?, effects: inout Deque<Effect>) {
        self.link = link
        self.endExhausted(effects: &effects)
        if let epoch {
            self.phase = .greeting(epoch: epoch)
            effects.append(.greet(epoch: epoch))
        } else {
            self.beginFlush(effects: &effects)
        }
    }

    /// The app has said what goes first.
    mutating func greeted(epoch: UInt64, effects: inout Deque<Effect>) {
        if self.isGreeting(epoch) { self.beginFlush(effects: &effects) }
    }

    /// The link is gone: requests under way fail now, deliveries go back to the heads of their lanes unless this was their
    /// last attempt.
    mutating func linkLost(_ cause: LinkspanError?, effects: inout Deque<Effect>) {
        self.phase = .down
        self.link = nil
        self.lanes.interruptAll()
        self.repeats = DeadlineQueue()
        let requests = self.awaited.values.filter { $0.kind == .request }.sorted { $0.id < $1.id }
        self.awaited = [:]
        for command in requests {
            let error = LinkspanError(
                .disconnected, "the connection was lost before '\(command.event)' was answered", cause: cause,
                certainty: .unknown)
            effects.append(.finish(command, .failure(error)))
        }
        // What a turn has in its hand may turn out not to have been taken: then it waits for the next link after all.
        if !self.inHand.isTurn { self.endExhausted(effects: &effects) }
    }

    /// Ends deliveries that were given to links as often as they may be.
    private mutating func endExhausted(effects: inout Deque<Effect>) {
        guard let limit = self.delivery.attempts else { return }
        for command in self.lanes.removeHeads(givenTimes: limit) {
            effects.append(command.fail(.timedOut, .unknown, "was not answered, however often it was sent"))
        }
    }

    /// There will be no link until the app asks for one: what waits to be sent fails, deliveries are kept.
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
    ///
    /// What a turn has in its hand may still reach the link that it was taken for, and no other.
    mutating func failAll(_ code: LinkspanError.Code, _ reason: String, effects: inout Deque<Effect>) {
        self.inHand.cancelled.formUnion(self.inHand.ids)
        let requests = self.awaited.values.filter { $0.kind == .request }.sorted { $0.id < $1.id }
        self.awaited = [:]
        for command in requests { effects.append(command.fail(code, .unknown, reason)) }
        for command in self.buffer.removeAll() { effects.append(command.fail(code, .notSent, reason)) }
        for (command, wasSent) in self.lanes.removeAll() {
            effects.append(command.fail(code, wasSent ? .unknown : .notSent, reason))
        }
    }

    /// There will be no link any more.
    mutating func end(effects: inout Deque<Effect>) {
        self.phase = .ended
        for command in self.buffer.removeAll() {
            effects.append(command.fail(.released, .notSent, "was given up: released"))
        }
        for (command, wasSent) in self.lanes.removeAll() {
            effects.append(command.fail(.released, wasSent ? .unknown : .notSent, "was given up: released"))
        }
    }

    /// The link has no room: everything waits until it says otherwise, unless it has done so meanwhile.
    mutating func linkIsFull(_ link: any Link, writables: UInt64) {
        guard self.writables == writables, self.link === link else { return }
        switch self.phase {
        case .flushing, .pausing, .open: self.phase = .full
        case .down, .greeting, .full, .ended: ()
        }
    }

    mutating func linkIsWritable(effects: inout Deque<Effect>) {
        self.writables += 1
        if case .full = self.phase { self.beginFlush(effects: &effects) }
    }

    private mutating func beginFlush(effects: inout Deque<Effect>) {
        self.phase = .flushing
        effects.append(.flush)
    }
}

// MARK: - New commands

extension CommandStateMachine {
    mutating func accept(
        _ command: Command, now: () -> ContinuousClock.Instant, effects: inout Deque<Effect>
    ) throws(LinkspanError) -> Acceptance {
        if case .ended = self.phase {
            throw LinkspanError(.released, "the connection has been released", certainty: .notSent)
        }
        if case .deliver(let lane) = command.kind {
            try self.lanes.append(command, lane: lane)
            self.watch(command, now: now)
            guard case .open = self.phase, let link = self.link else { return .kept }
            // While the link is open, no lane waits but this one, if it does.
            guard let begun = self.lanes.beginAll(limit: 1).first else { return .kept }
            return .sendNow(link, self.outgoing(begun, now: now()), writables: self.writables)
        }
        if case .open = self.phase, let link = self.link {
            self.watch(command, now: now)
            return .sendNow(link, self.outgoing(command), writables: self.writables)
        }
        guard !command.isVolatile else {
            effects.append(command.fail(.cancelled, .notSent, "was volatile and the connection was not ready"))
            return .kept
        }
        for dropped in try self.buffer.append(command) {
            effects.append(dropped.fail(.bufferFull, .notSent, "was dropped for newer ones"))
        }
        self.watch(command, now: now)
        self.watchAge(of: command, now: now)
        return .kept
    }

    /// Takes a command of the greeting, which goes before everything that waits.
    mutating func acceptGreeting(
        _ command: Command, epoch: UInt64, now: () -> ContinuousClock.Instant
    ) throws(LinkspanError) -> Acceptance {
        guard self.isGreeting(epoch), let link = self.link else {
            throw LinkspanError(.disconnected, "the greeting of this link is over", certainty: .notSent)
        }
        self.watch(command, now: now)
        return .sendNow(link, self.outgoing(command), writables: self.writables)
    }

    /// Whether a command that was to be sent at once may still go before those that wait.
    func mayStillSend(over link: any Link) -> Bool {
        switch self.phase {
        case .open, .greeting: self.link === link
        case .down, .flushing, .pausing, .full, .ended: false
        }
    }

    private mutating func watch(_ command: Command, now: () -> ContinuousClock.Instant) {
        guard let timeout = command.timeout else { return }
        self.deadlines.insert(command.id, at: now() + timeout, living: self.awaited.count + self.waitingCommands) {
            [awaited, buffer, lanes, inHand] in
            Set(awaited.values.map(\.id) + buffer.ids + lanes.ids).union(inHand.ids)
        }
    }

    /// Notes when a delivery is to be sent again.
    private mutating func watchReply(to delivery: Command, until due: ContinuousClock.Instant) {
        self.repeats.insert(delivery.id, at: due, living: self.awaited.count) { [awaited] in
            Set(awaited.values.map(\.id))
        }
    }

    private mutating func watchAge(of command: Command, now: () -> ContinuousClock.Instant) {
        guard let maxAge = self.maxAge else { return }
        self.ages.insert(command.id, at: now() + maxAge, living: self.buffer.count) { [buffer] in Set(buffer.ids) }
    }

    private mutating func outgoing(_ command: Command) -> Outgoing {
        var message = OutboundMessage(event: command.event, payload: command.payload, isVolatile: command.isVolatile)
        if command.kind == .request { message.requestID = self.awaitReply(to: command) }
        return Outgoing(command: command, message: message)
    }

    private mutating func outgoing(_ begun: DeliveryLanes.Begun, now: ContinuousClock.Instant) -> Outgoing {
        let command = begun.command
        var message = OutboundMessage(event: command.event, payload: self.payload(of: command))
        let number = self.awaitReply(to: command, under: begun.requestID)
        message.requestID = number
        let due = now + self.delivery.repeatAfter
        if case .deliver(let lane) = command.kind { self.lanes.note(requestID: number, repeatAt: due, lane: lane) }
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
    /// What comes next; nil when there is nothing to send now.
    mutating func nextTurn(now: ContinuousClock.Instant) -> Turn? {
        guard case .flushing = self.phase, let link = self.link else { return nil }
        var batch: [Outgoing] = []
        var bytes = 0
        while batch.count < self.pacing.commands, bytes < self.pacing.bytes, let command = self.buffer.popFirst() {
            bytes += command.byteCount
            self.inHand.ids.insert(command.id)
            batch.append(self.outgoing(command))
        }
        if self.buffer.isEmpty, bytes < self.pacing.bytes {
            for begun in self.lanes.beginAll(limit: self.pacing.commands - batch.count) {
                bytes += begun.command.byteCount
                batch.append(self.outgoing(begun, now: now))
            }
        }
        guard batch.isEmpty else {
            self.inHand.isTurn = true
            let isFull = batch.count >= self.pacing.commands || bytes >= self.pacing.bytes
            return Turn(link: link, batch: batch, writables: self.writables, isFull: isFull)
        }
        self.phase = .open
        return nil
    }

    /// A turn is over.
    ///
    /// - Returns: the number of the pause that follows, for ``resume(pause:effects:)``; nil when there is none.
    mutating func turnEnded(isFull: Bool) -> UInt64? {
        self.inHand = InHand()
        guard isFull, case .flushing = self.phase, !self.buffer.isEmpty || self.lanes.hasReady else { return nil }
        self.lastPause += 1
        self.phase = .pausing(number: self.lastPause)
        return self.lastPause
    }

    /// A pause between two turns is over; one of a former link changes nothing.
    mutating func resume(pause: UInt64, effects: inout Deque<Effect>) {
        if case .pausing(number: pause) = self.phase { self.beginFlush(effects: &effects) }
    }

    /// A command did not reach the link: it goes back to where it was.
    ///
    /// - Parameters:
    ///   - outgoing: the command.
    ///   - refuser: the link that would not have it; nil when it was not asked.
    ///   - writables: how often a link had said that it has room, when this one was asked.
    ///   - now: the time.
    ///   - effects: gets what is to be done.
    mutating func takeBack(
        _ outgoing: Outgoing, refusedBy refuser: (any Link)?, writables: UInt64, now: ContinuousClock.Instant,
        effects: inout Deque<Effect>
    ) {
        let command = outgoing.command
        let wasAwaited = outgoing.message.requestID.map { self.awaited.removeValue(forKey: $0) != nil }
        if case .deliver(let lane) = command.kind {
            // When its link was lost meanwhile it has gone back already, as if the link had taken it.
            guard wasAwaited == true else { return self.lanes.discount(command.id, lane: lane) }
            self.lanes.giveBack(lane: lane)
        } else if wasAwaited == false || !self.restore(command, now: now, effects: &effects) {
            // A request that is not awaited any more has had its outcome.
            return
        }
        switch self.phase {
        case .down, .greeting, .full, .ended: ()
        case .flushing, .pausing, .open:
            if let refuser, self.link === refuser, self.writables == writables {
                // It will end or say that it has room: to try again before would go round in circles.
                self.phase = .full
            } else if case .open = self.phase {
                self.beginFlush(effects: &effects)
            }
        }
    }

    /// Puts a command that was not sent back in its place, unless it cannot wait; false then.
    private mutating func restore(
        _ command: Command, now: ContinuousClock.Instant, effects: inout Deque<Effect>
    ) -> Bool {
        if self.inHand.cancelled.contains(command.id) {
            effects.append(command.fail(.cancelled, .notSent, "was cancelled"))
            return false
        }
        if self.inHand.expired.contains(command.id) {
            effects.append(command.fail(.timedOut, .notSent, "was not sent in time"))
            return false
        }
        switch self.phase {
        case .ended:
            effects.append(command.fail(.released, .notSent, "was given up: released"))
            return false
        case .greeting:
            effects.append(command.fail(.disconnected, .notSent, "was part of a greeting that the link did not take"))
            return false
        case .down, .flushing, .pausing, .full, .open: ()
        }
        guard !command.isVolatile else {
            effects.append(command.fail(.cancelled, .notSent, "was volatile and the connection was not ready"))
            return false
        }
        // Its time may have run out while the link was asked, without a trace: better twice than never.
        if !self.inHand.ids.contains(command.id) { self.watch(command, now: { now }) }
        self.watchAge(of: command, now: { now })
        self.buffer.restore(command)
        return true
    }

    /// A command can never be sent over this link.
    mutating func reject(_ outgoing: Outgoing, _ error: LinkspanError, effects: inout Deque<Effect>) {
        let command = outgoing.command
        if let id = outgoing.message.requestID, self.awaited.removeValue(forKey: id) == nil {
            // It has had its outcome while the link was asked.
            return
        }
        var error = error
        error.certainty = .notSent
        if case .deliver(let lane) = command.kind {
            // An earlier link may have carried it.
            if let attempts = self.lanes.attempts(of: command.id, lane: lane), attempts > 1 {
                error.certainty = .unknown
            }
            guard self.lanes.remove(command.id, lane: lane) != nil else { return }
            self.beginNext(effects: &effects)
        }
        effects.append(.finish(command, .failure(error)))
    }

    /// Sends the next of a lane through the flush, so that there is one place that sends deliveries.
    private mutating func beginNext(effects: inout Deque<Effect>) {
        guard case .open = self.phase, self.lanes.hasReady else { return }
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
        if case .deliver(let lane) = command.kind {
            _ = self.lanes.remove(command.id, lane: lane)
            self.beginNext(effects: &effects)
        }
        return command
    }

    /// Everything that has not had its outcome, in the order in which it was made.
    var statuses: [CommandStatus] {
        var statuses = self.buffer.all.map { CommandStatus($0, .waiting) }
        statuses += self.awaited.values.filter { $0.kind == .request }.map { CommandStatus($0, .underWay) }
        statuses += self.lanes.all.map { command, isUnderWay, wasSent in
            CommandStatus(command, isUnderWay ? .underWay : wasSent ? .interrupted : .waiting)
        }
        return statuses.sorted { $0.id < $1.id }
    }

    /// Gives commands up; returns how many it found.
    mutating func cancel(_ ids: Set<Command.ID>, effects: inout Deque<Effect>) -> Int {
        let inHand = self.inHand.ids.intersection(ids)
        self.inHand.cancelled.formUnion(inHand)
        let removed = self.remove(ids, effects: &effects)
        for (command, certainty) in removed { effects.append(command.fail(.cancelled, certainty, "was cancelled")) }
        return removed.count
    }

    /// Ends what has run out of time, and repeats deliveries that were not answered.
    mutating func expire(now: ContinuousClock.Instant, effects: inout Deque<Effect>) {
        var expired: Set<Command.ID> = []
        while let id = self.deadlines.popExpired(now: now) { expired.insert(id) }
        self.inHand.expired.formUnion(self.inHand.ids.intersection(expired))
        for (command, certainty) in self.remove(expired, effects: &effects) {
            let what = certainty == .notSent ? "was not sent in time" : "was not answered in time"
            effects.append(command.fail(.timedOut, certainty, what))
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
        var isExhausted: Set<Command.ID> = []
        for command in self.awaited.values {
            // One that the link did not take at first has a later instant by now.
            guard ids.contains(command.id), case .deliver(let lane) = command.kind,
                self.lanes.mayRepeat(lane: lane, now: now)
            else { continue }
            if let limit = self.delivery.attempts, self.lanes.attempts(of: command.id, lane: lane) ?? 0 >= limit {
                isExhausted.insert(command.id)
            } else {
                self.lanes.interrupt(lane: lane)
            }
        }
        for (command, certainty) in self.remove(isExhausted, effects: &effects) {
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
        removed += self.lanes.remove { ids.contains($0.id) }.map { ($0.command, $0.wasSent ? .unknown : .notSent) }
        self.beginNext(effects: &effects)
        return removed.sorted { $0.0.id < $1.0.id }
    }
}
