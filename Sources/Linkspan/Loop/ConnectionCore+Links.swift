internal import LinkspanRuntime
internal import Logging

/// Stands between a link and its connection, so that a former link's events are recognised.
final class LinkAdapter: LinkReceiver {
    private let epoch: UInt64
    private let executor: any JobExecutor
    private let inbox: ConnectionInbox
    private let core: CoreReference
    private let scheduler: any Scheduler

    init(core: ConnectionCore, epoch: UInt64) {
        self.epoch = epoch
        self.executor = core.executor
        self.inbox = core.inbox
        self.core = core.reference
        self.scheduler = core.environment.scheduler
    }

    func receive(_ next: () -> LinkEvent?) {
        let (epoch, inbox, core, now) = (self.epoch, self.inbox, self.core, self.scheduler.moment)
        // A link that breaks the rule of its executor, or calls back from inside a call, costs a job and does no harm.
        guard self.executor.isCurrent, !core.isInTurn,
            let items = inbox.takeItems(on: self.executor, heardAt: now)
        else {
            inbox.withState { $0.heard(at: now) }
            var events: [LinkEvent] = []
            while let event = next() { events.append(event) }
            return inbox.post(
                { [events] core in
                    var iterator = events.makeIterator()
                    core.receive(epoch: epoch, at: core.now) { iterator.next() }
                }, to: core)
        }
        core.onExecutor.makeTurn(items) { $0.receive(epoch: epoch, at: now, next) }
    }
}

extension ConnectionCore {
    /// Takes events of a link, in order, until there is none.
    ///
    /// A link that is given up, perhaps by a listener of its last message, is still asked for the rest: its end counts.
    func receive(epoch: UInt64, at start: Moment, _ next: () -> LinkEvent?) {
        var count = 0
        // When the clock was last read, and the number of messages until then.
        var (mark, timed) = (start, 0)
        while let event = next() {
            guard self.epoch == epoch else {
                if case .closed = event { self.formerLinkEnded() }
                continue
            }
            count += 1
            if count == 1, event.isOwn { self.inbox.withState { $0.unheard() } }
            // Before listeners are called: they may read the session that they can resume. A link that has had nothing
            // to resume from is asked once a read.
            if count == 1 || self.publishedResumption != nil { self.publishResumption() }
            let isTimed = self.slowListeners.times(count)
            self.slowListeners.add(event)
            self.receive(consume event, epoch: epoch)
            if !self.effects.isEmpty { self.performEffects() }
            if isTimed { (mark, timed) = (self.noteTimeOfGroup(since: mark), count) }
        }
        if count > timed { self.noteTimeOfGroup(since: mark) }
        if count > SlowListeners.timedMessages { self.slowListeners.longReadEnded() }
        self.isResumptionStale = true
    }

    /// Delivers the messages that were held for an event.
    func replay(_ event: String) {
        let start = self.now
        self.router.replay(event)
        let time = start.duration(to: self.now)
        if let slow = self.slowListeners.heard(event, in: time) { self.warn(of: slow, time) }
    }

    /// Warns of listeners that hold up everything else on the executor.
    ///
    /// - Parameter start: when the first message came since the clock was last read.
    /// - Returns: now.
    @discardableResult
    private func noteTimeOfGroup(since start: Moment) -> Moment {
        let now = self.now
        let time = start.duration(to: now)
        if let slow = self.slowListeners.heardGroup(in: time) { self.warn(of: slow, time) }
        return now
    }

    private func warn(of event: String, _ time: Duration) {
        self.environment.logger.warning(
            "A listener blocked the executor that its connections share; use a sequence or move the work elsewhere",
            metadata: [
                "url": "\(self.destination.url)", "event": "\(ForeignText.line(event))", "time": "\(time)",
            ])
    }

    @inline(__always)
    private func receive(_ event: consuming LinkEvent, epoch: UInt64) {
        switch consume event {
        case .message(let message):
            self.hasServerSpoken = true
            self.deliver(message)
        case .reply(let id, let payload):
            self.hasServerSpoken = true
            self.reply(id, payload)
        case .opened(let info):
            if self.refusesNext { return self.refuseOnce(epoch: epoch) }
            let now = self.now
            self.run { $0.linkOpened(epoch: epoch, info, now: now) }
        case .changed(let info): if let measured = self.inbox.note(info) { self.probe?.measured(roundTrip: measured) }
        case .writable: self.linkIsWritable()
        case .closed(let error):
            let cause = self.causeOfEnd(self.credentials.concealed(in: error))
            let (now, random) = (self.now, self.environment.random())
            let hasSpoken = self.hasServerSpoken
            self.run { $0.linkClosed(epoch: epoch, cause, hasSpoken: hasSpoken, now: now, random: random) }
        }
    }

    private func deliver(_ inbound: consuming InboundMessage) {
        if let chain = self.chain {
            guard let intercepted = self.intercept(inbound, chain) else { return }
            inbound = intercepted
        }
        self.probe?.received(inbound.event, inbound.payload)
        var replier: Replier?
        if let id = inbound.replyID, let link = self.link {
            replier = Replier(id: id, of: self.chain == nil ? nil : inbound.event, link: link, core: self)
        }
        self.router.route(Message(inbound, replier: replier))
    }
}

extension LinkEvent {
    /// Whether the link tells it by itself, without having heard from the server.
    fileprivate var isOwn: Bool {
        switch self {
        case .writable, .closed: true
        case .opened, .changed, .message, .reply: false
        }
    }
}
