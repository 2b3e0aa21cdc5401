internal import DequeModule
internal import LinkspanRuntime

/// The sending side of a connection as a value: the commands that wait, those under way, and when the link may have
/// them.
///
/// Methods decide and leave effects; they call nobody. Not copyable, because it has one owner, and looking at it would
/// copy all that it holds.
struct CommandStateMachine: ~Copyable {
    /// A command that is ready for the link.
    ///
    /// Not copyable: a command goes to the link, and then to where its reply is awaited.
    struct Outgoing: ~Copyable {
        let command: Command
        /// The number of its reply, if it gets one.
        let requestID: UInt64?
        /// The message for the link when it is not the command's own: that of a delivery.
        let delivery: OutboundMessage?

        var message: OutboundMessage { self.delivery ?? self.command.message }
    }

    /// The way that commands take.
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
        /// Nowhere, until the app connects again: the connection has failed for good.
        case failed(LinkspanError)
        /// Nowhere: the connection has been released.
        case ended
    }

    /// The used part of a turn of the flush.
    private struct Turn {
        var commands = 0
        var bytes = 0
    }

    private var shared: Boxed<ConnectionOptions>
    private var phase = Phase.down
    private var turn = Turn()
    /// The next pause of the flush; nil when it makes none, because nothing has waited since the link was up.
    private var pause: Duration?
    private(set) var buffer = CommandBuffer()
    /// Nil until there is a delivery or a store, which most connections never have.
    var deliveries: Deliveries?
    private(set) var awaited = AwaitedCommands()
    /// The instants at which commands have waited for too long.
    private var ages = DeadlineQueue()
    /// The instants at which commands expire.
    private var deadlines = DeadlineQueue()
    private var lastRequestID: UInt64 = 0
    private var lastPause: UInt64 = 0
    /// The pause in which everything else waits for trials of suspected deliveries.
    private var trialPause: UInt64 = 0
    private(set) var lateReplies: UInt64 = 0

    /// Makes a machine without a link.
    ///
    /// - Parameters:
    ///   - options: limits, pacing and what deliveries go by.
    ///   - account: whose rows of the store it has, if there is a store.
    init(options: Boxed<ConnectionOptions>, account: String? = nil) {
        self.shared = options
        if options.value.store != nil { self.deliveries = Deliveries(isStored: true, account: account) }
    }

    /// Follows other limits from now on; commands that wait already keep their places and deadlines.
    mutating func adopt(_ options: Boxed<ConnectionOptions>) { self.shared = options }

    /// Limits, pacing and the rules of deliveries, which are read where they are.
    var options: ConnectionOptions { _read { yield self.shared.value } }

    /// Whether a command goes to the link at once.
    var isOpen: Bool { if case .open = self.phase { true } else { false } }

    /// Whether what is submitted from now on waits for nothing but its turn.
    // Inlined, as are others that are asked in each turn, so that the machine is not copied for the answer.
    @inline(__always)
    var isFlowing: Bool {
        switch self.phase {
        case .open: true
        case .flushing: self.load.waiting == 0
        case .down, .greeting, .pausing, .full, .failed, .ended: false
        }
    }

    /// Whether replies are awaited.
    var hasRequests: Bool { self.awaited.count > 0 }

    /// Whether the connection has been released.
    var isEnded: Bool { if case .ended = self.phase { true } else { false } }

    /// Whether everything waits for the greeting of a link to end.
    func isGreeting(_ epoch: UInt64) -> Bool { if case .greeting(epoch) = self.phase { true } else { false } }

    /// The waiting load: commands in the buffer, and deliveries without a reply.
    @inline(__always)
    var load: ConnectionLoad {
        var load = ConnectionLoad(commands: self.buffer.count, bytes: self.buffer.byteCount)
        if let deliveries = self.deliveries {
            load.deliveries = deliveries.queues.count + deliveries.ledger.followerCount
            load.deliveryBytes = deliveries.queues.byteCount
        }
        return load
    }

    /// Takes the keys of replaceable commands that came to the buffer and left it since the last call.
    mutating func takeKeyChanges() -> [CommandBuffer.KeyChange] { self.buffer.takeKeyChanges() }

    /// Whether ``deadline`` may have become earlier since the last call of this function.
    mutating func takeEarlierDeadline() -> Bool {
        let hasEarlierRepeat = self.deliveries?.repeats.isEarlier ?? false
        let isEarlier = self.deadlines.isEarlier || self.ages.isEarlier || hasEarlierRepeat
        if isEarlier { (self.deadlines.isEarlier, self.ages.isEarlier) = (false, false) }
        if hasEarlierRepeat { self.deliveries?.repeats.isEarlier = false }
        return isEarlier
    }

    /// The instant at which ``expire(now:effects:)`` is due.
    var deadline: Moment? {
        let first = Moment?.earliest(self.deadlines.earliest, self.ages.earliest)
        return .earliest(first, self.deliveries?.repeats.earliest)
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
        self.pause = self.options.flush.pause
        if let epoch {
            self.phase = .greeting(epoch: epoch)
            effects.append(.greet(epoch: epoch))
        } else {
            self.beginLink(effects: &effects)
        }
    }

    /// The app's greeting is complete.
    mutating func greeted(epoch: UInt64, effects: inout Deque<Effect>) {
        if self.isGreeting(epoch) { self.beginLink(effects: &effects) }
    }

    /// Sends suspected deliveries first, one after the other; what waits for them waits for a bounded time.
    private mutating func beginLink(effects: inout Deque<Effect>) {
        if let deliveries = self.deliveries, deliveries.queues.beginTrials() {
            self.lastPause += 1
            self.trialPause = self.lastPause
            effects.append(.pauseFlush(self.trialPause, self.options.deliveries.repeatAfter))
        }
        self.beginFlush(effects: &effects)
    }

    /// The link is gone: requests under way fail now, deliveries go back to the heads of their ordering keys unless
    /// this was their last attempt.
    mutating func linkLost(_ cause: LinkspanError?, effects: inout Deque<Effect>) {
        self.phase = .down
        if let command = self.deliveries?.queues.interruptAll(isBlamed: cause?.code == .messageRefused) {
            let error = LinkspanError(
                .messageRefused, "'\(command.event)' ended its link twice and is not sent again", cause: cause,
                certainty: .unknown)
            effects.append(.finish(command, .failure(error)))
        }
        self.deliveries?.repeats = DeadlineQueue()
        for command in self.awaited.removeAll() {
            let error = LinkspanError(
                .disconnected, "the connection was lost before '\(command.event)' was answered", cause: cause,
                certainty: .unknown)
            effects.append(.finish(command, .failure(error)))
        }
        self.endExhausted(effects: &effects)
    }

    /// There will be no link until the app asks for one: what waits fails now, and what comes is refused.
    ///
    /// Deliveries are kept if that was asked for.
    mutating func givenUp(_ cause: LinkspanError, effects: inout Deque<Effect>) {
        self.phase = .failed(cause)
        var failing = self.buffer.removeAll().map { ($0, LinkspanError.Certainty.notSent) }
        if !self.options.keepsDeliveries, let deliveries = self.deliveries {
            failing += deliveries.queues.removeAll().map { ($0, $1 ? .unknown : .notSent) }
            failing += deliveries.ledger.removeAllFollowers().map { ($0, .unknown) }
        }
        for (command, certainty) in failing {
            let error = LinkspanError(
                .disconnected, "'\(command.event)' failed with the connection", cause: cause, certainty: certainty)
            effects.append(.finish(command, .failure(error)))
        }
    }

    /// The app asks for a link again.
    mutating func reopened() { if case .failed = self.phase { self.phase = .down } }

    /// There will be no link any more, and everything fails for this reason.
    mutating func end(_ error: LinkspanError, effects: inout Deque<Effect>) {
        self.phase = .ended
        self.failAll(error.code, "failed: \(error.message)", effects: &effects)
    }

    /// Fails every command that has no outcome, so that nothing is sent later.
    mutating func failAll(_ code: LinkspanError.Code, _ reason: String, effects: inout Deque<Effect>) {
        for command in self.awaited.removeAll() { effects.append(command.fail(code, .unknown, reason)) }
        for command in self.buffer.removeAll() { effects.append(command.fail(code, .notSent, reason)) }
        guard let deliveries = self.deliveries else { return }
        for (command, wasSent) in deliveries.queues.removeAll() {
            effects.append(command.fail(code, wasSent ? .unknown : .notSent, reason))
        }
        for command in deliveries.ledger.removeAllFollowers() { effects.append(command.fail(code, .unknown, reason)) }
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
        case .down, .greeting, .full, .failed, .ended: ()
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
    func passes(_ command: borrowing Command) -> Bool {
        if case .open = self.phase { command.isPlain } else { false }
    }

    /// Takes a command.
    ///
    /// - Parameters:
    ///   - command: the command.
    ///   - hasBeenTaken: whether its caller has been told that it was taken, so that it is not refused for want of
    ///     room.
    ///   - made: when it was performed.
    ///   - effects: gets the effects.
    /// - Returns: the command when it is to be sent now; nil when it waits or has failed.
    /// - Throws: `released`, `bufferFull`, `disconnected`.
    mutating func accept(
        _ command: consuming Command, hasBeenTaken: Bool = false, made: () -> Moment,
        effects: inout Deque<Effect>
    ) throws(LinkspanError) -> Outgoing? {
        switch self.phase {
        case .ended:
            throw LinkspanError(.released, "the connection has been released", certainty: .notSent)
        case .failed(let cause) where command.isRefused(keepingDeliveries: self.options.keepsDeliveries):
            throw LinkspanError(failedForGood: cause)
        case .open where !command.isOfDelivery:
            if self.timeout(of: command) != nil { self.watch(command, made: made()) }
            return self.outgoing(command)
        case .down, .greeting, .flushing, .pausing, .full, .open, .failed: ()
        }
        if command.isOfDelivery {
            try self.acceptDelivery(command, made: made, effects: &effects)
            guard self.isOpen, let begun = self.queues.beginNext() else { return nil }
            return self.outgoing(begun, now: made())
        }
        guard !command.isVolatile else {
            effects.append(command.fail(.cancelled, .notSent, "is volatile, and the connection was not ready"))
            return nil
        }
        command.identify()
        let (former, dropped) = try self.buffer.add(command, within: self.options.buffer, hasBeenTaken: hasBeenTaken)
        if let former { effects.append(former.fail(.cancelled, .notSent, "was replaced by a newer one")) }
        for dropped in dropped {
            effects.append(dropped.fail(.bufferFull, .notSent, "was dropped to make room for newer commands"))
        }
        if self.timeout(of: command) != nil || self.options.buffer.maxAge != nil {
            let made = made()
            self.watch(command, made: made)
            self.watchAge(of: command, made: made)
        }
        return nil
    }

    /// Takes a command of the greeting, which goes before everything that waits.
    mutating func acceptGreeting(
        _ command: Command, epoch: UInt64, made: Moment, effects: inout Deque<Effect>
    ) -> Outgoing? {
        guard self.isGreeting(epoch) else {
            effects.append(command.fail(.disconnected, .notSent, "belonged to a greeting that has ended"))
            return nil
        }
        self.watch(command, made: made)
        return self.outgoing(command)
    }

    @inline(__always)
    private func timeout(of command: borrowing Command) -> Duration? {
        command.timeout ?? (command.isRequest ? self.options.replyTimeout : nil)
    }

    /// Notes when a command expires, if it does.
    mutating func watch(_ command: Command, made: Moment) {
        guard let timeout = self.timeout(of: command) else { return }
        let living = self.awaited.count + self.load.waiting
        if self.deadlines.isSparse(living: living) {
            var deadlines = DeadlineQueue()
            swap(&deadlines, &self.deadlines)
            deadlines.compact { self.isAlive($0) }
            self.deadlines = deadlines
        }
        self.deadlines.insert(command.id, at: made + timeout)
    }

    private func isAlive(_ id: Command.ID) -> Bool {
        self.awaited.contains(id) || self.buffer.contains(id)
            || (self.deliveries.map { $0.queues.contains(id) || $0.ledger.isFollower(id) } ?? false)
    }

    /// Notes when a delivery is to be sent again.
    private mutating func watchReply(to delivery: Command, until due: Moment) {
        let deliveries = self.madeDeliveries
        if deliveries.repeats.isSparse(living: self.awaited.count) {
            let awaited = self.awaited
            deliveries.repeats.compact { awaited.contains($0) }
        }
        deliveries.repeats.insert(delivery.id, at: due)
    }

    private mutating func watchAge(of command: Command, made: Moment) {
        guard let maxAge = self.options.buffer.maxAge else { return }
        if self.ages.isSparse(living: self.buffer.count) {
            let buffer = self.buffer
            self.ages.compact { buffer.contains($0) }
        }
        self.ages.insert(command.id, at: made + maxAge)
    }

    private mutating func outgoing(_ command: consuming Command) -> Outgoing {
        guard command.isRequest else { return Outgoing(command: command, requestID: nil, delivery: nil) }
        let number = self.nextRequestID()
        command.setRequestID(number)
        return Outgoing(command: command, requestID: number, delivery: nil)
    }

    private mutating func outgoing(_ begun: DeliveryQueues.Begun, now: Moment) -> Outgoing {
        let command = begun.command
        var message = OutboundMessage(
            event: command.event, payload: self.payload(of: command), isCompressible: command.message.isCompressible)
        // A repetition has the number of the first attempt, so that either's reply counts.
        let number = begun.requestID ?? self.nextRequestID()
        message.requestID = number
        let due = now + self.options.deliveries.repeatAfter
        self.queues.note(requestID: number, repeatAt: due, of: command.id)
        self.watchReply(to: command, until: due)
        return Outgoing(command: command, requestID: number, delivery: message)
    }

    private mutating func nextRequestID() -> UInt64 {
        defer { self.lastRequestID += 1 }
        return self.lastRequestID
    }

    /// The link has taken a command: from now on its reply is awaited, if it gets one.
    mutating func linkTook(_ outgoing: consuming Outgoing) {
        if let number = outgoing.requestID { self.awaited.insert(outgoing.command, number: number) }
    }
}

// MARK: - Flushing

extension CommandStateMachine {
    /// The next waiting command that is to be sent now; nil when the turn is over.
    ///
    /// A turn that is used up while more waits is followed by a pause, which is left as an effect.
    mutating func nextToFlush(now: Moment, effects: inout Deque<Effect>) -> Outgoing? {
        guard case .flushing = self.phase else { return nil }
        if self.deliveries?.queues.isTrying == true {
            if let begun = self.queues.beginTrial() {
                self.count(begun.command)
                return self.outgoing(begun, now: now)
            }
            if self.queues.isTrying {
                self.phase = .pausing(number: self.trialPause)
                return nil
            }
        }
        guard !self.buffer.isEmpty || self.hasReady else {
            self.phase = .open
            // What waits later waits for room of the link, which bounds how fast it leaves.
            self.pause = nil
            self.loadMore(effects: &effects)
            return nil
        }
        if let pause = self.pause, !self.hasTurn, !self.buffer.continuesBatch {
            self.lastPause += 1
            self.phase = .pausing(number: self.lastPause)
            effects.append(.pauseFlush(self.lastPause, pause))
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

    /// Whether the turn of the flush is not used up.
    private var hasTurn: Bool {
        self.turn.commands < self.options.flush.commands && self.turn.bytes < self.options.flush.bytes
    }

    private mutating func count(_ command: Command) {
        self.turn.commands += 1
        self.turn.bytes += command.byteCount
    }

    /// A pause between two turns is over; one of a former link changes nothing.
    ///
    /// - Parameters:
    ///   - pause: its number.
    ///   - hasLeft: whether the link has passed all of the turn to the network: then the next pause is half as long.
    ///   - effects: gets the effects.
    mutating func resume(pause: UInt64, hasLeft: Bool, effects: inout Deque<Effect>) {
        if pause == self.trialPause { return self.endTrials(effects: &effects) }
        guard case .pausing(number: pause) = self.phase else { return }
        let longest = self.options.flush.pause
        self.pause = self.pause.map { hasLeft ? max($0 / 2, longest / 16) : min($0 * 2, longest) }
        self.beginFlush(effects: &effects)
    }

    /// A reply was given to the link.
    mutating func noteReply() { self.deliveries?.queues.noteReply() }

    /// Everything is sent, whether or not suspects have been answered.
    mutating func endTrials(effects: inout Deque<Effect>) {
        self.deliveries?.queues.endTrials()
        if case .pausing(number: self.trialPause) = self.phase { self.beginFlush(effects: &effects) }
    }

    /// The link refused a command: it goes back to the head of what waits, until the link has room or ends.
    mutating func takeBack(_ outgoing: consuming Outgoing, now: Moment, effects: inout Deque<Effect>) {
        if let id = outgoing.requestID { _ = self.awaited.remove(id) }
        let command = outgoing.command
        if command.isDelivery {
            self.queues.giveBack(command.id)
        } else if case .greeting = self.phase {
            effects.append(command.fail(.disconnected, .notSent, "belonged to a greeting that the link rejected"))
        } else if command.isVolatile {
            effects.append(command.fail(.cancelled, .notSent, "is volatile, and the connection was not ready"))
        } else {
            var command = command
            command.identify()
            self.watchAge(of: command, made: now)
            if let key = command.replacedKey, self.buffer.hasKey(key) {
                effects.append(command.fail(.cancelled, .notSent, "was replaced by a newer one"))
            } else {
                self.buffer.restore(command)
            }
        }
        self.linkIsFull()
    }

    /// A command can never be sent over this link.
    mutating func reject(_ outgoing: consuming Outgoing, _ error: LinkspanError, effects: inout Deque<Effect>) {
        if let id = outgoing.requestID { _ = self.awaited.remove(id) }
        let command = outgoing.command
        var error = error
        error.certainty = .notSent
        if command.isDelivery {
            // An earlier link may have carried it.
            if let attempts = self.queues.attempts(of: command.id), attempts > 1 { error.certainty = .unknown }
            self.settleDelivery(command.id, effects: &effects)
        }
        effects.append(.finish(command, .failure(error)))
    }

    /// Sends the next of an ordering key through the flush, so that there is one place that sends deliveries.
    mutating func beginNext(effects: inout Deque<Effect>) {
        switch self.phase {
        case .open where self.hasReady, .pausing(number: self.trialPause) where self.queues.tried == nil:
            self.beginFlush(effects: &effects)
        case .down, .greeting, .flushing, .pausing, .full, .open, .failed, .ended: ()
        }
    }

    /// Whether a delivery may be sent now.
    private var hasReady: Bool { self.deliveries?.queues.hasReady ?? false }
}

// MARK: - Ends of commands

extension CommandStateMachine {
    /// The command that a reply answers; nil for late and unknown replies, which are counted.
    mutating func takeAwaited(_ requestID: UInt64, effects: inout Deque<Effect>) -> Command? {
        guard let command = self.awaited.remove(requestID) else {
            self.lateReplies += 1
            return nil
        }
        if command.isDelivery { self.settleDelivery(command.id, effects: &effects) }
        return command
    }

    /// Takes out a delivery that cannot end its link any more.
    private mutating func settleDelivery(_ id: Command.ID, effects: inout Deque<Effect>) {
        self.queues.acquit(id)
        _ = self.queues.remove(id)
        self.beginNext(effects: &effects)
    }

    /// The commands that have no outcome yet, in the order in which they were made.
    var listed: [Command] {
        var listed = self.buffer.all.map { $0.listed(.waiting) }
        listed += self.awaited.requests.map { $0.listed(.underWay) }
        listed += self.queues.all.map { command, isUnderWay, wasSent in
            command.listed(isUnderWay ? .underWay : wasSent ? .interrupted : .waiting)
        }
        return listed.sorted { $0.id < $1.id }
    }

    /// Cancels commands.
    mutating func cancel(_ ids: Set<Command.ID>, effects: inout Deque<Effect>) {
        for (command, certainty) in self.remove(ids, effects: &effects) {
            effects.append(command.fail(.cancelled, certainty, "was cancelled"))
        }
    }

    /// Ends commands whose time has run out, and repeats deliveries that were not answered.
    mutating func expire(now: Moment, effects: inout Deque<Effect>) {
        var expired: Set<Command.ID> = []
        while let id = self.deadlines.popExpired(now: now) { expired.insert(id) }
        for (command, certainty) in self.remove(expired, effects: &effects) {
            let fate = certainty == .notSent ? "was not sent in time" : "was not answered in time"
            effects.append(command.fail(.timedOut, certainty, fate))
        }
        while let id = self.ages.popExpired(now: now) {
            guard let command = self.buffer.remove(id) else { continue }
            effects.append(command.fail(.timedOut, .notSent, "waited longer than the buffer's maxAge"))
        }
        var unanswered: [Command.ID] = []
        while let id = self.deliveries?.repeats.popExpired(now: now) { unanswered.append(id) }
        if !unanswered.isEmpty { self.sendAgain(unanswered, now: now, effects: &effects) }
    }

    /// Takes commands out, wherever they are.
    mutating func remove(
        _ ids: Set<Command.ID>, effects: inout Deque<Effect>
    ) -> [(Command, LinkspanError.Certainty)] {
        guard !ids.isEmpty else { return [] }
        let removed = ids.compactMap { self.remove($0) }
        self.beginNext(effects: &effects)
        return removed.count == 1 ? removed : removed.sorted { $0.0.id < $1.0.id }
    }

    private mutating func remove(_ id: Command.ID) -> (Command, LinkspanError.Certainty)? {
        if let command = self.buffer.remove(id) { return (command, .notSent) }
        if let command = self.awaited.number(of: id).flatMap({ self.awaited.remove($0) }), command.isRequest {
            return (command, .unknown)
        }
        // A delivery that waits may have been sent over an earlier link.
        guard let deliveries = self.deliveries else { return nil }
        if let removed = deliveries.queues.remove(id) {
            return (removed.command, removed.wasSent ? .unknown : .notSent)
        }
        return deliveries.ledger.removeFollower(id).map { ($0, .unknown) }
    }
}
