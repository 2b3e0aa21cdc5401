internal import DequeModule
internal import LinkspanRuntime

/// The sending side of a connection as a value: the commands that wait, those under way, and when the link may have
/// them.
///
/// Methods decide and leave ``OutgoingOutput``s; they call nobody. Not copyable, because it has one owner, and looking at it
/// would copy all that it holds.
struct Outgoing: ~Copyable {
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
        private var commands = 0
        private var bytes = 0

        func isUsedUp(_ pacing: FlushPacing) -> Bool { self.commands >= pacing.commands || self.bytes >= pacing.bytes }

        mutating func count(_ command: Command) {
            self.commands += 1
            self.bytes += command.byteCount
        }
    }

    /// Limits, pacing and the rules of deliveries; commands that wait keep their places and deadlines when they change.
    var sharedOptions: Boxed<ConnectionOptions>
    private var phase = Phase.down
    private var turn = Turn()
    /// The next pause of the flush; nil when it makes none, because nothing has waited since the link was up.
    private var pause: Duration?
    var buffer = CommandBuffer()
    /// Nil until there is a delivery or a store, which most connections never have.
    private(set) var deliveries: Deliveries?
    private(set) var awaited = AwaitedCommands()
    private var deadlines = CommandDeadlines()
    private var lastRequestID: UInt64 = 0
    private var lastPause: UInt64 = 0
    /// The pause in which everything else waits for deliveries that are sent alone.
    private var isolation: UInt64 = 0
    /// The pause in which only sends wait that newer ones may replace.
    private var hold: UInt64 = 0
    /// Whether such sends wait while the link is open; see ``DataSaving``.
    var savesData = false
    /// Replies that nothing waited for any more.
    private(set) var lateReplies: UInt64 = 0
    /// The outputs that have not been taken yet.
    var outputs: Deque<OutgoingOutput> = []

    /// Makes the sending side of a connection without a link.
    ///
    /// - Parameter options: limits, pacing and the rules of deliveries.
    init(options: Boxed<ConnectionOptions>) {
        self.sharedOptions = options
        if options.value.store != nil { self.deliveries = Deliveries(isStored: true) }
    }

    /// The options, which are read where they are.
    private var options: ConnectionOptions { _read { yield self.sharedOptions.value } }

    /// Whether a command goes to the link at once.
    var isOpen: Bool { if case .open = self.phase { true } else { false } }

    /// Whether what is submitted from now on waits for nothing but its turn.
    var isFlowing: Bool {
        switch self.phase {
        case .open: true
        case .flushing: self.load.waiting == 0
        case .down, .greeting, .pausing, .full, .failed, .ended: false
        }
    }

    /// Whether replies are awaited.
    var hasRequests: Bool { self.awaited.count > 0 }

    /// The number of the link that is being greeted, for which everything waits.
    var greetedLink: UInt64? { if case .greeting(let epoch) = self.phase { epoch } else { nil } }

    /// The waiting load: commands in the buffer, and deliveries without a reply.
    var load: ConnectionLoad {
        var load = ConnectionLoad(commands: self.buffer.count, bytes: self.buffer.byteCount)
        if let deliveries = self.deliveries {
            (load.deliveries, load.deliveryBytes) = (deliveries.count, deliveries.queues.byteCount)
        }
        return load
    }

    /// Whether ``deadline`` may have become earlier since the last call of this function.
    mutating func takeEarlierDeadline() -> Bool {
        let isEarlier = self.deadlines.takeEarlier()
        guard let deliveries = self.deliveries, deliveries.repeats.isEarlier else { return isEarlier }
        deliveries.repeats.isEarlier = false
        return true
    }

    /// The instant at which ``expire(now:)`` is due.
    var deadline: Moment? { .earliest(self.deadlines.earliest, self.deliveries?.repeats.earliest) }

    /// The commands that have no outcome yet, in the order in which they were made.
    var listed: [Command] {
        var listed = self.buffer.all.map { $0.listed(.waiting) }
        listed += self.awaited.requests.map { $0.listed(.underWay) }
        listed += (self.deliveries?.queues.all ?? []).map { command, isUnderWay, wasSent in
            command.listed(isUnderWay ? .underWay : wasSent ? .interrupted : .waiting)
        }
        return listed.sorted { $0.id < $1.id }
    }
}

// MARK: - The link

extension Outgoing {
    /// A link is up.
    ///
    /// - Parameter epoch: the link's number, if everything else waits until ``linkIsReady()``.
    mutating func linkOpened(greetedAs epoch: UInt64?) {
        self.deliveries?.endExhausted(self.options.deliveries, &self.outputs)
        self.pause = self.options.flush.pause
        if let epoch {
            self.phase = .greeting(epoch: epoch)
            self.outputs.append(.greet(epoch: epoch))
        } else {
            self.linkIsReady()
        }
    }

    /// The link takes what waits: it has no greeting, or that is complete.
    ///
    /// Deliveries that may have ended the last link go first, each alone; the rest waits for a bounded time.
    mutating func linkIsReady() {
        if let deliveries = self.deliveries, deliveries.queues.beginIsolation() {
            self.lastPause += 1
            self.isolation = self.lastPause
            self.outputs.append(.pauseFlush(self.isolation, self.options.deliveries.repeatAfter))
        }
        self.beginFlush()
    }

    /// The link is gone: requests under way fail now, deliveries go back to the heads of their ordering keys unless
    /// this was their last attempt.
    mutating func linkLost(_ cause: LinkspanError?) {
        self.phase = .down
        if let command = self.deliveries?.queues.interruptAll(isBlamed: cause?.code == .messageRefused) {
            self.outputs.append(
                command.fail(.messageRefused, .unknown, "ended its link twice and is not sent again", because: cause))
        }
        self.deliveries?.repeats = DeadlineQueue()
        for command in self.awaited.removeAll() {
            self.outputs.append(
                command.fail(.disconnected, .unknown, "was not answered before the connection was lost", because: cause)
            )
        }
        self.deliveries?.endExhausted(self.options.deliveries, because: cause, &self.outputs)
    }

    /// There will be no link until the app connects: waiting commands fail now, and new ones are refused.
    ///
    /// Deliveries are kept if that was asked for.
    mutating func givenUp(_ cause: LinkspanError) {
        self.phase = .failed(cause)
        var failing = self.buffer.removeAll().map { ($0, LinkspanError.Certainty.notSent) }
        if !self.options.keepsDeliveries, let deliveries = self.deliveries { failing += deliveries.removeAll() }
        for (command, certainty) in failing {
            self.outputs.append(command.fail(.disconnected, certainty, "failed with the connection", because: cause))
        }
    }

    /// The app asks for a link again.
    mutating func reopened() { if case .failed = self.phase { self.phase = .down } }

    /// Fails every command that has no outcome, so that nothing is sent later.
    mutating func failAll(_ code: LinkspanError.Code, _ reason: String) {
        for command in self.awaited.removeAll() { self.outputs.append(command.fail(code, .unknown, reason)) }
        for command in self.buffer.removeAll() { self.outputs.append(command.fail(code, .notSent, reason)) }
        for (command, certainty) in self.deliveries?.removeAll() ?? [] {
            self.outputs.append(command.fail(code, certainty, reason))
        }
    }

    /// There will be no link any more, and everything fails for this reason; nil when the connection has been released,
    /// which closes its account.
    mutating func end(_ error: LinkspanError?) {
        self.phase = .ended
        if let error { return self.failAll(error.code, "failed: \(error.message)") }
        self.failAll(.released, "was given up: released")
        self.deliveries?.closeStore(&self.outputs)
    }

    /// The link has no room: everything waits until ``linkIsWritable()``.
    mutating func linkIsFull() {
        switch self.phase {
        case .flushing, .pausing, .open: self.phase = .full
        case .down, .greeting, .full, .failed, .ended: ()
        }
    }

    mutating func linkIsWritable() { if case .full = self.phase { self.beginFlush() } }

    private mutating func beginFlush() {
        self.phase = .flushing
        self.turn = Turn()
        self.outputs.append(.flush)
    }
}

// MARK: - New commands

extension Outgoing {
    /// Whether a command goes to the link as it is: a plain send while nothing waits, the commonest of all.
    func passes(_ command: Command) -> Bool { if case .open = self.phase { command.isPlain } else { false } }

    /// Takes a command.
    ///
    /// - Parameters:
    ///   - command: the command.
    ///   - hasBeenTaken: whether its caller has been told that it was taken, so that it is not refused for want of
    ///     room.
    ///   - made: when it was performed.
    /// - Returns: the command when it is to be sent now; nil when it waits or has failed.
    /// - Throws: `released`, `bufferFull`, `disconnected`.
    mutating func accept(
        _ command: consuming Command, hasBeenTaken: Bool = false, made: () -> Moment
    ) throws(LinkspanError) -> ReadyCommand? {
        let delay = command.delay
        switch self.phase {
        case .ended:
            throw LinkspanError(.released, "the connection has been released", certainty: .notSent)
        case .failed(let cause) where command.isRefused(keepingDeliveries: self.options.keepsDeliveries):
            throw LinkspanError(failedForGood: cause)
        // Held back, whatever the link does.
        case _ where delay != nil: ()
        case .open where self.savesData && command.isReplaceable:
            self.lastPause += 1
            (self.hold, self.phase) = (self.lastPause, .pausing(number: self.lastPause))
            self.outputs.append(.pauseFlush(self.hold, .seconds(1)))
        case .open where !command.isOfDelivery, .pausing(number: self.hold) where command.isVolatile:
            if command.timeLimit(self.options.replyTimeout) != nil { self.watch(command, made: made()) }
            return self.ready(command)
        // Takes along what waits.
        case .pausing(number: self.hold) where !command.isReplaceable: self.beginFlush()
        case .down, .greeting, .flushing, .pausing, .full, .open, .failed: ()
        }
        if delay == nil, command.isOfDelivery { return try self.acceptDelivery(command, made: made()) }
        guard delay != nil || !command.isVolatile else {
            self.outputs.append(command.fail(.cancelled, .notSent, "is volatile, and the connection was not ready"))
            return nil
        }
        command.identify()
        let (former, dropped) = try self.buffer.add(command, within: self.options.buffer, hasBeenTaken: hasBeenTaken)
        if let former { self.outputs.append(former.fail(.cancelled, .notSent, "was replaced by a newer one")) }
        for dropped in dropped {
            self.outputs.append(dropped.fail(.bufferFull, .notSent, "was dropped to make room for newer commands"))
        }
        let wait = delay ?? self.options.buffer.maxAge
        if wait != nil || command.timeLimit(self.options.replyTimeout) != nil {
            let made = made()
            if delay == nil { self.watch(command, made: made) }
            if let wait { self.deadlines.age(command.id, at: made + wait, in: self.buffer) }
        }
        return nil
    }

    private mutating func acceptDelivery(_ command: Command, made: Moment) throws(LinkspanError) -> ReadyCommand? {
        let deliveries = self.deliveries ?? Deliveries()
        self.deliveries = deliveries
        try deliveries.accept(command, self.options.deliveries, &self.outputs)
        self.watch(command, made: made)
        guard self.isOpen, let begun = deliveries.queues.beginNext() else { return nil }
        return self.ready(begun, deliveries, now: made)
    }

    /// Takes a command of the greeting, which goes before everything that waits.
    mutating func acceptGreeting(_ command: Command, epoch: UInt64, made: Moment) -> ReadyCommand? {
        guard self.greetedLink == epoch else {
            self.outputs.append(command.fail(.disconnected, .notSent, "belonged to a greeting that has ended"))
            return nil
        }
        self.watch(command, made: made)
        return self.ready(command)
    }

    /// Notes when a command expires, if it does.
    private mutating func watch(_ command: Command, made: Moment) {
        guard let limit = command.timeLimit(self.options.replyTimeout) else { return }
        if self.deadlines.isSparse(living: self.awaited.count + self.load.waiting) {
            var awaited = self.awaited
            let (buffer, deliveries) = (self.buffer, self.deliveries)
            self.deadlines.compact {
                awaited.contains($0) || buffer.contains($0) || deliveries?.contains($0) == true
            }
        }
        self.deadlines.expire(command.id, at: made + limit)
    }

    private mutating func ready(_ command: consuming Command) -> ReadyCommand {
        guard command.isRequest else { return ReadyCommand(command: command, requestID: nil, delivery: nil) }
        let number = self.nextRequestID()
        command.setRequestID(number)
        return ReadyCommand(command: command, requestID: number, delivery: nil)
    }

    private mutating func ready(
        _ begun: DeliveryQueues.Begun, _ deliveries: Deliveries, now: Moment
    ) -> ReadyCommand {
        var message = deliveries.message(of: begun.command, self.options.deliveries)
        // A repetition has the number of the first attempt, so that either's reply counts.
        let number = begun.requestID ?? self.nextRequestID()
        message.requestID = number
        let due = now + self.options.deliveries.repeatAfter
        deliveries.watchReply(number, to: begun.command.id, until: due, self.awaited)
        let isRepeated = begun.command.isRestored || deliveries.queues.attempts(of: begun.command.id) != 1
        return ReadyCommand(command: begun.command, requestID: number, delivery: message, isRepeated: isRepeated)
    }

    private mutating func nextRequestID() -> UInt64 {
        defer { self.lastRequestID += 1 }
        return self.lastRequestID
    }
}

// MARK: - Flushing

extension Outgoing {
    /// The next waiting command that is to be sent now; nil when the turn is over.
    ///
    /// A turn that is used up while more waits is followed by a pause, which is left as an output.
    mutating func nextToFlush(now: Moment) -> ReadyCommand? {
        guard case .flushing = self.phase else { return nil }
        if let deliveries = self.deliveries, deliveries.queues.isIsolating {
            if let begun = deliveries.queues.beginIsolated() {
                self.turn.count(begun.command)
                return self.ready(begun, deliveries, now: now)
            }
            if deliveries.queues.isIsolating {
                self.phase = .pausing(number: self.isolation)
                return nil
            }
        }
        guard !self.buffer.isEmpty || self.hasReady else {
            self.phase = .open
            // What waits later waits for room of the link, which bounds how fast it leaves.
            self.pause = nil
            self.loadMore()
            return nil
        }
        if let pause = self.pause, self.turn.isUsedUp(self.options.flush), !self.buffer.continuesBatch {
            self.lastPause += 1
            self.phase = .pausing(number: self.lastPause)
            self.outputs.append(.pauseFlush(self.lastPause, pause))
            return nil
        }
        if let command = self.buffer.popFirst() {
            self.turn.count(command)
            return self.ready(command)
        }
        guard let deliveries = self.deliveries, let begun = deliveries.queues.beginNext() else {
            return self.nextToFlush(now: now)
        }
        self.turn.count(begun.command)
        return self.ready(begun, deliveries, now: now)
    }

    /// A pause between two turns is over; one of a former link changes nothing.
    ///
    /// - Parameters:
    ///   - pause: its number.
    ///   - hasLeft: whether the link has passed all of the turn to the network: then the next pause is half as long.
    mutating func resume(pause: UInt64, hasLeft: Bool) {
        if pause == self.isolation { return self.endIsolation() }
        guard case .pausing(number: pause) = self.phase else { return }
        let longest = self.options.flush.pause
        self.pause = self.pause.map { hasLeft ? max($0 / 2, longest / 16) : min($0 * 2, longest) }
        self.beginFlush()
    }

    /// Everything is sent, whether or not the delivery under way alone has been answered.
    private mutating func endIsolation() {
        self.deliveries?.queues.endIsolation()
        if case .pausing(number: self.isolation) = self.phase { self.beginFlush() }
    }

    /// The link has taken a command: from now on its reply is awaited, if it gets one.
    mutating func linkTook(_ ready: consuming ReadyCommand) {
        if let number = ready.requestID { self.awaited.insert(ready.command, number: number) }
    }

    /// The link refused a command: it goes back to the head of what waits, until the link has room or ends.
    mutating func takeBack(_ ready: consuming ReadyCommand, now: Moment) {
        if let id = ready.requestID { _ = self.awaited.remove(id) }
        var command = ready.command
        if command.isDelivery {
            self.deliveries?.queues.giveBack(command.id)
        } else if case .greeting = self.phase {
            self.outputs.append(command.fail(.disconnected, .notSent, "belonged to a greeting that the link rejected"))
        } else if command.isVolatile {
            self.outputs.append(command.fail(.cancelled, .notSent, "is volatile, and the connection was not ready"))
        } else {
            command.identify()
            if let age = self.options.buffer.maxAge {
                self.deadlines.age(command.id, at: now + age, in: self.buffer)
            }
            if let key = command.replacedKey, self.buffer.hasKey(key) {
                self.outputs.append(command.fail(.cancelled, .notSent, "was replaced by a newer one"))
            } else {
                self.buffer.restore(command)
            }
        }
        self.linkIsFull()
    }

    /// A command can never be sent over this link.
    mutating func reject(_ ready: consuming ReadyCommand, _ error: LinkspanError) {
        if let id = ready.requestID { _ = self.awaited.remove(id) }
        let command = ready.command
        var error = error
        error.certainty = .notSent
        if command.isDelivery {
            // An earlier link may have carried it.
            if let attempts = self.deliveries?.queues.attempts(of: command.id), attempts > 1 {
                error.certainty = .unknown
            }
            self.settleDelivery(command.id)
        }
        self.outputs.append(.finish(command, .failure(error)))
    }

    /// Sends the next of an ordering key through the flush, so that there is one place that sends deliveries.
    private mutating func beginNext() {
        switch self.phase {
        case .open where self.hasReady, .pausing(number: self.hold) where self.hasReady,
            .pausing(number: self.isolation) where self.deliveries?.queues.isolated == nil:
            self.beginFlush()
        case .down, .greeting, .flushing, .pausing, .full, .open, .failed, .ended: ()
        }
    }

    /// Whether a delivery may be sent now.
    private var hasReady: Bool { self.deliveries?.queues.hasReady ?? false }

    private mutating func loadMore() { self.deliveries?.loadMore(isOpen: self.isOpen, self.options, &self.outputs) }
}

// MARK: - The store

extension Outgoing {
    /// Belongs to an account from now on; the former one is closed.
    mutating func openStore(account: String?) {
        guard let deliveries = self.deliveries, deliveries.ledger.isStored else { return }
        deliveries.closeStore(&self.outputs)
        deliveries.ledger.account = account
        if case .ended = self.phase { return }
        deliveries.openStore(&self.outputs)
    }

    /// The store has answered a call.
    mutating func storeAnswered(_ answer: StoreAnswer, now: Moment) {
        guard let deliveries = self.deliveries else { return }
        switch answer {
        case .ended, .session: return
        case .opened(let account, let session, let result):
            deliveries.opened(account, session: session, result, &self.outputs)
        case .loaded(let session, let result):
            for command in deliveries.loaded(session: session, result, &self.outputs) { self.watch(command, made: now) }
            // Some may have expired while no process had them.
            self.expire(now: now)
        case .kept(let delivery, let id, let result): deliveries.kept(delivery, id, result, &self.outputs)
        case .found(let key, let session, let result):
            deliveries.found(key: key, session: session, result, &self.outputs)
        }
        self.loadMore()
        self.beginNext()
    }

    /// Asks again what the store has failed to answer.
    mutating func retryStore(session: UInt64) {
        self.deliveries?.retry(session: session, &self.outputs)
        self.loadMore()
    }
}

// MARK: - Ends of commands

extension Outgoing {
    /// The outcome that a reply means for its command; nil for a delivery that is to be sent again.
    mutating func outcome(
        ofReply reply: Payload, _ verdict: ReplyPolicy.Verdict?, to requestID: UInt64
    ) -> Result<Payload, LinkspanError>? {
        guard let verdict, let deliveries = self.deliveries, let command = self.awaited[requestID],
            case .deliver(let orderingKey) = command.kind
        else { return .success(reply) }
        defer { self.beginNext() }
        return deliveries.outcome(
            of: command, orderingKey: orderingKey, reply, verdict, self.options.deliveries, &self.outputs)
    }

    /// The command that a reply answers; nil for late and unknown replies, which are counted.
    mutating func takeAwaited(_ requestID: UInt64) -> Command? {
        guard let command = self.awaited.remove(requestID) else {
            self.lateReplies += 1
            return nil
        }
        if command.isDelivery { self.settleDelivery(command.id) }
        return command
    }

    /// A command has its outcome: if it stands for a delivery, what waits for that ends with it.
    ///
    /// - Returns: the call that tells the store.
    mutating func ended(_ command: Command, _ outcome: Result<Payload, LinkspanError>) -> StoreCall? {
        guard command.isDelivery, let deliveries = self.deliveries else { return nil }
        let row = deliveries.ended(command, outcome, &self.outputs)
        self.loadMore()
        return row.map { .end($0) }
    }

    /// Takes out a delivery that cannot end its link any more.
    private mutating func settleDelivery(_ id: Command.ID) {
        self.deliveries?.queues.clear(id)
        _ = self.deliveries?.queues.remove(id)
        self.beginNext()
    }

    /// Cancels commands, or gives those up for a reason that were not sent.
    mutating func cancel(_ ids: Set<Command.ID>, because cause: LinkspanError? = nil) {
        for (command, certainty) in self.remove(ids) {
            let fate = cause == nil ? "was cancelled" : "was not sent"
            self.outputs.append(
                command.fail(cause == nil ? .cancelled : .disconnected, certainty, fate, because: cause))
        }
    }

    /// Ends commands whose time has run out, and repeats deliveries that were not answered.
    ///
    /// - Parameters:
    ///   - now: the present.
    ///   - reason: the reason why commands wait, if the connection is down.
    mutating func expire(now: Moment, because reason: () -> LinkspanError? = { nil }) {
        var expired: Set<Command.ID> = []
        while let id = self.deadlines.popExpired(now: now) { expired.insert(id) }
        for (command, certainty) in self.remove(expired) {
            let limit = command.timeLimit(self.options.replyTimeout)?.text ?? "its time"
            let fate = "was not \(certainty == .notSent ? "sent" : "answered") within \(limit)"
            self.outputs.append(command.fail(.timedOut, certainty, fate, because: reason()))
        }
        while let id = self.deadlines.popAged(now: now) {
            guard var command = self.buffer.remove(id) else { continue }
            let isDue = command.delay.take() != nil
            let fate = "waited longer than the \(self.options.buffer.maxAge?.text ?? "time") of buffer.maxAge"
            self.outputs.append(isDue ? .perform(command) : command.fail(.timedOut, .notSent, fate, because: reason()))
        }
        if let deliveries = self.deliveries { self.sendAgain(deliveries, now: now) }
    }

    /// Sends deliveries again that were not answered in time, unless that was their last attempt.
    private mutating func sendAgain(_ deliveries: Deliveries, now: Moment) {
        var exhausted: Set<Command.ID> = []
        var hasMore = false
        while let id = deliveries.repeats.popExpired(now: now) {
            hasMore = true
            // One that the link did not take at first has a later instant by now.
            guard self.awaited.contains(id), deliveries.queues.mayRepeat(id, now: now) else { continue }
            if deliveries.queues.isolated == id { self.endIsolation() }
            if let limit = self.options.deliveries.attempts, deliveries.queues.attempts(of: id) ?? 0 >= limit {
                exhausted.insert(id)
            } else {
                deliveries.queues.interrupt(id)
            }
        }
        for (command, certainty) in self.remove(exhausted) {
            self.outputs.append(command.fail(.timedOut, certainty, "got no reply to its last attempt"))
        }
        if hasMore { self.beginNext() }
    }

    /// Takes commands out, wherever they are.
    private mutating func remove(_ ids: Set<Command.ID>) -> [(Command, LinkspanError.Certainty)] {
        guard !ids.isEmpty else { return [] }
        let removed = ids.compactMap { self.remove($0) }
        self.beginNext()
        return removed.count == 1 ? removed : removed.sorted { $0.0.id < $1.0.id }
    }

    private mutating func remove(_ id: Command.ID) -> (Command, LinkspanError.Certainty)? {
        if let command = self.buffer.remove(id) { return (command, .notSent) }
        if let command = self.awaited.number(of: id).flatMap({ self.awaited.remove($0) }), command.isRequest {
            return (command, .unknown)
        }
        return self.deliveries?.remove(id)
    }
}

extension Command {
    /// The time that the command may take.
    fileprivate func timeLimit(_ replyTimeout: Duration) -> Duration? {
        self.timeout ?? (self.isRequest ? replyTimeout : nil)
    }
}
