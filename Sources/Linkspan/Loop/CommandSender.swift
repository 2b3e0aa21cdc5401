internal import DequeModule
internal import LinkspanRuntime
internal import Logging

/// Gives commands and replies to the link, and outcomes to their callers.
///
/// Confined to the connection's executor, as a part of its ``ConnectionCore``.
final class CommandSender {
    let queue: OutputQueue
    private let inbox: ConnectionInbox
    private let environment: ConnectionEnvironment
    private let probe: (any ConnectionProbe)?
    /// The interceptors; nil when there are none.
    let chain: InterceptorChain?
    var destination: Destination
    // Their methods call nobody, so that no access meets another; the check costs a twentieth of a message (W1).
    @exclusivity(unchecked) var outgoing: Outgoing
    @exclusivity(unchecked) var link: CurrentLink?
    @exclusivity(unchecked) var listeners = HandlerList<Command>()
    @exclusivity(unchecked) var drains = DrainWaiters()
    @exclusivity(unchecked) var store = StoreQueue()
    /// The load and the flow that were published last.
    private var published: (load: ConnectionLoad, isOpen: Bool)
    /// The command of the latest measurement of the round trip, which is no message of the app.
    var measurement: Command.ID?

    init(
        _ outgoing: consuming Outgoing, destination: Destination, inbox: ConnectionInbox,
        environment: ConnectionEnvironment, probe: (any ConnectionProbe)?
    ) {
        self.queue = OutputQueue()
        self.inbox = inbox
        self.environment = environment
        self.probe = probe
        self.chain = InterceptorChain(destination.options.interceptors)
        self.destination = destination
        self.published = (outgoing.load, false)
        self.outgoing = outgoing
    }

    private var now: Moment { self.environment.scheduler.moment }

    /// Lines up what the sending side has decided; called after each change of it.
    func collect() {
        while let output = self.outgoing.outputs.popFirst() { self.queue.append(.outgoing(output)) }
    }

    /// Publishes how much waits, if that has changed or items were taken.
    func publishLoad(_ hasTaken: inout Bool) {
        defer { hasTaken = false }
        let (load, isOpen) = (self.outgoing.load, self.outgoing.isFlowing)
        let keys = self.outgoing.buffer.takeKeyChanges()
        guard hasTaken || load != self.published.load || isOpen != self.published.isOpen || !keys.isEmpty else {
            return
        }
        if let probe = self.probe, load.waiting != self.published.load.waiting {
            probe.queueChanged(depth: load.waiting, limit: self.destination.options.buffer.commands)
        }
        self.published = (load, isOpen)
        self.inbox.publish(load, keys: keys, isOpen: isOpen)
    }

    /// Publishes whether the link takes commands at once, before the turn ends.
    func publishFlow() {
        self.published.isOpen = self.outgoing.isFlowing
        self.inbox.publish(isOpen: self.published.isOpen)
    }

    /// Saves data or not from now on, over this link and those to come; see ``DataSaving``.
    func saveData(_ savesData: Bool) {
        self.outgoing.savesData = savesData
        self.queue.calling { [link = self.link?.link] in link?.saveData(savesData) }
    }

    /// Changes the sending side, and lines up what it decides.
    func change(_ body: (inout Outgoing) -> Void) {
        body(&self.outgoing)
        self.collect()
    }
}

// MARK: - Commands come

extension CommandSender {
    /// Takes a command: sends it now or lets it wait.
    ///
    /// - Parameters:
    ///   - command: the command.
    ///   - hasBeenTaken: whether it was taken at the inbox, where there was room for it.
    ///   - made: when it was performed; nil for now.
    /// - Throws: `released`, `bufferFull`, `disconnected`.
    func accept(
        _ command: consuming Command, hasBeenTaken: Bool = false, made: Moment? = nil
    ) throws(LinkspanError) {
        if self.outgoing.passes(command), self.pass(command) { return }
        // Collected also when it throws: others may have gone to make room.
        defer { self.collect() }
        if let ready = try self.outgoing.accept(command, hasBeenTaken: hasBeenTaken, made: { made ?? self.now }) {
            self.hand(ready)
        }
    }

    /// Takes commands of a callback that belong together, if there is room for all.
    ///
    /// - Throws: `released`, `bufferFull`, `disconnected`.
    func accept(_ batch: [Command]) throws(LinkspanError) {
        guard self.outgoing.isOpen || self.outgoing.buffer.hasRoom(for: batch, within: self.destination.options.buffer)
        else {
            throw LinkspanError(
                .bufferFull,
                "a batch of \(batch.count) was refused: \(self.outgoing.buffer.count) commands are waiting",
                certainty: .notSent)
        }
        for command in batch { try self.accept(command, hasBeenTaken: true) }
    }

    func acceptGreeting(_ command: Command, epoch: UInt64, made: Moment) {
        if let ready = self.outgoing.acceptGreeting(command, epoch: epoch, made: made) { self.hand(ready) }
        self.collect()
    }

    /// Gives a command to the link as it is; false when the link did not take it, and it goes the usual way.
    private func pass(_ command: borrowing Command) -> Bool {
        guard self.chain == nil else { return false }
        self.queue.isCalling = true
        defer { self.queue.isCalling = false }
        switch self.link {
        case .some(let current):
            switch current.link.send(command.message) {
            case .accepted: ()
            case .acceptedAndFull: self.outgoing.linkIsFull()
            case .refused, .rejected: return false
            }
        case nil: return false
        }
        if !self.listeners.isEmpty || !self.drains.isEmpty {
            self.sent(ReadyCommand(command: copy command, requestID: nil, delivery: nil))
        } else {
            self.probe?.sent(command)
        }
        return true
    }
}

// MARK: - Commands leave

extension CommandSender {
    /// Gives a command to the link.
    private func hand(_ ready: consuming ReadyCommand) {
        switch self.give(ready) {
        case .accepted:
            self.sent(ready)
            self.outgoing.linkTook(ready)
        case .acceptedAndFull:
            self.outgoing.linkIsFull()
            self.sent(ready)
            self.outgoing.linkTook(ready)
        case .refused:
            self.outgoing.takeBack(ready, now: self.now)
        case .rejected(let error):
            // Nobody waits for the outcome of a send without a completion, so that the log alone can tell.
            if ready.command.isSend, ready.command.completion == nil {
                self.warn("A message was not sent", error, ["event": "\(ready.command.event)"])
            }
            self.outgoing.reject(ready, error)
        }
    }

    private func give(_ ready: borrowing ReadyCommand) -> SendAcceptance {
        guard let link = self.link?.link else { return .refused }
        var intercepted: OutboundMessage?
        if let chain = self.chain {
            do throws(LinkspanError) {
                intercepted = try self.intercepting { () throws(LinkspanError) in try chain.send(ready.message) }
            } catch {
                return .rejected(error)
            }
        }
        return self.queue.calling {
            if let probe = self.probe, !ready.command.isSend, !self.isMeasurement(ready.command.id) {
                probe.leaving(ready.command)
            }
            return ready.give(intercepted, to: link)
        }
    }

    private func sent(_ ready: borrowing ReadyCommand) {
        // Before the command is looked at, which copies it: a request that nobody watches ends with its reply.
        guard self.probe != nil || !self.listeners.isEmpty || ready.requestID == nil else { return }
        if !self.isMeasurement(ready.command.id) { self.probe?.sent(ready.command) }
        if !self.listeners.isEmpty { self.queue.append(.tellOutgoing(ready.command)) }
        guard ready.command.isSend else { return }
        if ready.command.completion != nil || !self.drains.isEmpty {
            self.queue.append(.outgoing(.finish(ready.command, .success(.empty))))
        }
    }

    /// Whether a command was sent to measure the round trip, which services are not told of.
    private func isMeasurement(_ id: Command.ID) -> Bool { id == self.measurement }

    /// Sends what waits until nothing is left, the link is full, or the turn of the flush is used up.
    func flush() {
        let now = self.now
        while let ready = self.outgoing.nextToFlush(now: now) { self.hand(ready) }
        self.collect()
    }
}

// MARK: - Outcomes

extension CommandSender {
    func reply(_ id: UInt64, _ payload: Payload) {
        var payload = payload
        if let chain = self.chain, let event = self.outgoing.awaited[id]?.event {
            do throws(LinkspanError) {
                payload = try self.intercepting { () throws(LinkspanError) in
                    try chain.receive(replyTo: event, payload)
                }
            } catch {
                if let command = self.outgoing.takeAwaited(id) { self.finish(command, .failure(error)) }
                return
            }
        }
        payload = payload.detached()
        var verdict: ReplyPolicy.Verdict?
        if let policy = self.destination.options.deliveries.replies, self.outgoing.awaited[id]?.isDelivery == true {
            verdict = self.queue.calling { policy.verdict(of: payload) }
        }
        defer { self.collect() }
        guard let outcome = self.outgoing.outcome(ofReply: payload, verdict, to: id) else { return }
        guard let command = self.outgoing.takeAwaited(id) else {
            return self.inbox.withState { $0.lateReplies = self.outgoing.lateReplies }
        }
        // Unlike a request under way, a delivery counts until it is answered; what had arrived is dealt with.
        if command.isDelivery {
            var hasTaken = false
            self.publishLoad(&hasTaken)
        }
        self.finish(command, outcome)
    }

    /// The server refuses what was sent with a number; nil for something else.
    func fail(_ id: UInt64?, _ error: LinkspanError) {
        guard let id else { return self.warn("The server reports an error", error) }
        defer { self.collect() }
        var outcome: Result<Payload, LinkspanError> = .failure(error)
        if error.code == .serverUnavailable, self.outgoing.awaited[id]?.isDelivery == true {
            // What nobody has heard waits as if it had no answer, and is never set aside.
            guard error.certainty != .notSent, let final = self.outgoing.outcome(ofReply: .empty, .later, to: id)
            else { return }
            outcome = final
        }
        if let command = self.outgoing.takeAwaited(id) { self.finish(command, outcome) }
    }

    /// Gives a command its outcome.
    func finish(_ command: Command, _ outcome: Result<Payload, LinkspanError>) {
        if let call = self.outgoing.ended(command, outcome) { self.store.append(call) }
        self.collect()
        if command.isOfDelivery, self.store.hasCalls {
            self.store.record(command, outcome)
        } else {
            self.complete(command, outcome)
        }
    }

    func complete(_ command: Command, _ outcome: Result<Payload, LinkspanError>) {
        if !self.isMeasurement(command.id) { self.probe?.finished(command, outcome) }
        command.finish(outcome)
        for waiter in self.drains.ended(command.id) { self.queue.append(.awaitFlush(waiter)) }
    }

    /// Logs the first failed attempt of an outage, and ends the requests for which waiting hardly helps.
    func attemptFailed(_ failure: AttemptFailure) {
        let logger = self.environment.logger
        if failure.isFirst { self.queue.append(.call { failure.log(to: logger) }) }
        guard failure.endsRequests, self.destination.options.buffer.failsFast else { return }
        let requests = self.outgoing.listed.filter { $0.isRequest && $0.delay == nil }.map(\.id)
        self.change { $0.cancel(Set(requests), because: failure.error) }
    }

    /// Calls the listeners to outgoing commands that there are at the moment of their turn.
    func tellOutgoing(_ command: Command) {
        for id in self.listeners.ids { self.listeners.handler(of: id)?(command) }
    }
}

// MARK: - Replies to the server

extension CommandSender {
    /// Gives an answer to the link; while the link takes none, the answer waits.
    func answer(_ right: ReplyRight, _ payload: Payload) {
        var payload = payload
        if let chain = self.chain, let event = right.event {
            do throws(LinkspanError) {
                payload = try self.intercepting { () throws(LinkspanError) in try chain.send(replyTo: event, payload) }
            } catch {
                return self.warn("A reply was not sent", error)
            }
        }
        guard self.link?.waitingReplies != nil || !self.give(payload, right) else { return }
        guard right.isOpen(over: self.link?.epoch), var waiting = self.link?.waitingReplies.take() else { return }
        let isKept = waiting.append(payload, by: right, within: self.destination.options.buffer)
        self.link?.waitingReplies = waiting
        guard !isKept else { return }
        self.warn(
            "A reply was not sent",
            LinkspanError(.bufferFull, "the link is full, and \(waiting.count) replies wait for it"))
    }

    /// The link has room: first for the answers that wait, then for commands.
    func linkIsWritable() {
        if var waiting = self.link?.waitingReplies.take() {
            while self.link?.waitingReplies == nil, let (right, payload) = waiting.popFirst() {
                if !self.give(payload, right) { waiting.putBack(payload, by: right) }
            }
            // It takes no more.
            guard self.link?.waitingReplies == nil else {
                self.link?.waitingReplies = waiting
                return
            }
        }
        self.change { $0.linkIsWritable() }
    }

    /// Gives an answer to the link, unless there was one; another may follow one that the link would not take.
    ///
    /// - Returns: false when the link takes it later, if it does not end first.
    private func give(_ payload: Payload, _ right: ReplyRight) -> Bool {
        guard right.isOpen(over: self.link?.epoch), let link = self.link?.link else { return true }
        let acceptance = self.queue.calling { link.reply(to: right.id, with: payload) }
        switch acceptance {
        case .accepted, .acceptedAndFull:
            right.isUsed.value = true
            self.outgoing.deliveries?.queues.noteReply()
            if acceptance == .acceptedAndFull { self.stopReplying() }
            return true
        case .refused:
            self.stopReplying()
            return false
        case .rejected(let error):
            self.warn("A reply was not sent", error)
            return true
        }
    }

    /// The link takes no more for now.
    private func stopReplying() {
        self.outgoing.linkIsFull()
        self.link?.waitingReplies = WaitingReplies()
    }
}

// MARK: - Interceptors

extension CommandSender {
    /// Passes a message through the interceptors; what they send comes behind it, and what they drop is counted.
    func intercepting<Message>(_ body: () throws(LinkspanError) -> Message) throws(LinkspanError) -> Message {
        do throws(LinkspanError) {
            return try self.queue.calling(body)
        } catch {
            let count = self.inbox.withState { state in
                state.droppedMessages += 1
                return state.droppedMessages
            }
            // The first is worth a look, the others may be the purpose of a filter.
            self.environment.logger.log(
                level: count == 1 ? .notice : .debug, "An interceptor dropped a message",
                metadata: ["url": "\(self.destination.url)", "error": "\(error)", "count": "\(count)"])
            throw error
        }
    }

    func warn(_ message: Logger.Message, _ error: LinkspanError, _ others: Logger.Metadata = [:]) {
        let facts: Logger.Metadata = ["url": "\(self.destination.url)", "error": "\(error)"]
        self.environment.logger.warning(message, metadata: facts.merging(others) { $1 })
    }
}
