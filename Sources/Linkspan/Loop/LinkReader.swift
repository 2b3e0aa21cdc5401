internal import LinkspanRuntime
internal import Logging

/// Takes what the link brings: messages for listeners, replies for the sender, and news of the link for the core.
///
/// Confined to the connection's executor, as a part of its ``ConnectionCore``.
final class LinkReader {
    private let sender: CommandSender
    private let inbox: ConnectionInbox
    private let environment: ConnectionEnvironment
    private let probe: (any ConnectionProbe)?
    // Looked at for each message; nothing is called while it changes (W1).
    @exclusivity(unchecked) var incoming: Incoming
    // Read from `incoming`, it would be retained for each message (W1, W13).
    /// The router of ``incoming``.
    private let router: EventRouter

    init(
        _ incoming: Incoming, sender: CommandSender, inbox: ConnectionInbox, environment: ConnectionEnvironment,
        probe: (any ConnectionProbe)?
    ) {
        self.incoming = incoming
        self.router = incoming.router
        self.sender = sender
        self.inbox = inbox
        self.environment = environment
        self.probe = probe
    }

    private var now: Moment { self.environment.scheduler.moment }

    private var isReadingPaused: Bool { self.sender.link?.isReadingPaused == true }

    /// Takes events of a link, in order, until there is none.
    ///
    /// A link that is given up, perhaps by a listener of its last message, is still asked for the rest: its end counts.
    func receive(epoch: UInt64, at start: Moment, _ next: () -> LinkEvent?, for core: ConnectionCore) {
        var count = 0
        // When the clock was last read, and the number of messages until then.
        var (mark, timed) = (start, 0)
        while let event = next() {
            guard core.epoch == epoch else {
                if case .closed = event { core.formerLinkEnded() }
                continue
            }
            count += 1
            if count == 1, event.isOwn { self.inbox.withState { $0.unheard() } }
            core.linkHasRead(isFirst: count == 1)
            let isTimed = self.incoming.slowListeners.times(count)
            self.incoming.slowListeners.add(event)
            self.receive(consume event, epoch: epoch, for: core)
            core.carryOutOutputs()
            if isTimed { (mark, timed) = (self.noteTimeOfGroup(since: mark), count) }
        }
        if count > timed { self.noteTimeOfGroup(since: mark) }
        if count > SlowListeners.timedMessages { self.incoming.slowListeners.longReadEnded() }
    }

    @inline(__always)
    private func receive(_ event: consuming LinkEvent, epoch: UInt64, for core: ConnectionCore) {
        switch consume event {
        case .message(let message):
            self.sender.link?.hasServerSpoken = true
            self.deliver(message, for: core)
        case .reply(let id, let payload):
            self.sender.link?.hasServerSpoken = true
            self.sender.reply(id, payload)
        case .failed(let id, let error):
            self.sender.link?.hasServerSpoken = true
            self.sender.fail(id, error)
        case .opened(let info): core.linkOpened(info, epoch: epoch)
        case .changed(let info):
            if !info.endpoints.isEmpty { core.attempt { $0.learn(info.endpoints) } }
            if let measured = self.inbox.note(info) { self.probe?.measured(roundTrip: measured) }
        case .writable: self.sender.linkIsWritable()
        case .closed(let error): core.linkClosed(self.causeOfEnd(error), epoch: epoch)
        }
    }

    // A call would move the message (W1, W13).
    @inline(__always)
    private func deliver(_ inbound: consuming InboundMessage, for core: ConnectionCore) {
        if let chain = self.sender.chain {
            let message = copy inbound
            guard
                let intercepted = try? self.sender.intercepting({ () throws(LinkspanError) in
                    try chain.receive(message)
                })
            else { return }
            inbound = intercepted
        }
        self.probe?.received(inbound.event, inbound.payload)
        var replier: Replier?
        if let id = inbound.replyID, let epoch = self.sender.link?.epoch {
            let event = self.sender.chain == nil ? nil : inbound.event
            let isUsed = Confined(false, to: core.home.executor)
            let right = ReplyRight(id: id, event: event, epoch: epoch, isUsed: isUsed)
            replier = Replier(right, core.reference)
        }
        self.router.route(Message(inbound, replier: replier))
    }

    /// Delivers the messages that were held for an event.
    func replay(_ event: String) {
        let start = self.now
        self.incoming.router.replay(event)
        let time = start.duration(to: self.now)
        if let slow = self.incoming.slowListeners.heard(event, in: time) { self.warn(of: slow, time) }
    }

    /// Warns of listeners that hold up everything else on the executor.
    ///
    /// - Parameter start: when the first message came since the clock was last read.
    /// - Returns: now.
    @discardableResult
    private func noteTimeOfGroup(since start: Moment) -> Moment {
        let now = self.now
        let time = start.duration(to: now)
        if let slow = self.incoming.slowListeners.heardGroup(in: time) { self.warn(of: slow, time) }
        return now
    }

    private func warn(of event: String, _ time: Duration) {
        self.environment.logger.warning(
            "A listener blocked the executor that its connections share; use a sequence or move the work elsewhere",
            metadata: [
                "url": "\(self.sender.destination.url)", "event": "\(ForeignText.line(event))", "time": "\(time)",
            ])
    }

    /// Pauses the reading of the link while a listener wants that, and resumes it afterwards.
    ///
    /// Not while a greeting waits for its replies.
    func pauseOrResume(isConnected: Bool) {
        let isWanted = self.incoming.wantsPause && isConnected && self.sender.outgoing.greetedLink == nil
        guard isWanted != self.isReadingPaused, let link = self.sender.link?.link else { return }
        self.sender.link?.isReadingPaused = isWanted
        self.sender.queue.calling { link.setReadingPaused(isWanted) }
    }

    /// Follows which events have listeners if the link that has opened wants to know, and tells it.
    func linkOpened() {
        self.router.follow(self.sender.link?.link.followsListeners == true)
        self.tellListening()
    }

    /// Tells the link which events have got their first listener, or lost their last one.
    func tellListening() {
        for (event, hasListener) in self.router.takeChanges() {
            guard let link = self.sender.link?.link else { continue }
            do throws(LinkspanError) {
                try self.sender.queue.calling { () throws(LinkspanError) in
                    try link.setListening(hasListener, to: event)
                }
            } catch {
                self.sender.warn("An event cannot be listened to", error, ["event": "\(ForeignText.line(event))"])
            }
        }
    }

    /// The reason for the end of a link, for a link that was not read from.
    private func causeOfEnd(_ error: LinkspanError) -> LinkspanError {
        guard self.isReadingPaused, error.code == .heartbeatMissed || error.code == .connectionLost else {
            return error
        }
        return LinkspanError(.slowConsumer, "a full sequence had paused reading when the link ended", cause: error)
    }
}

extension LinkEvent {
    /// Whether the link tells it by itself, without having heard from the server.
    fileprivate var isOwn: Bool {
        switch self {
        case .writable, .closed: true
        case .opened, .changed, .message, .reply, .failed: false
        }
    }
}

extension Replier {
    /// Answers over a link of ours.
    fileprivate convenience init(_ right: ReplyRight, _ core: CoreReference) {
        self.init { payload in
            if let core = core.inTurn {
                core.sender.answer(right, payload)
            } else {
                core.post { $0.sender.answer(right, payload) }
            }
        }
    }
}
