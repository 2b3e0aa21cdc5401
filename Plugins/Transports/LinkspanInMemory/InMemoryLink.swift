internal import DequeModule
internal import Linkspan
internal import LinkspanRuntime

/// A link to a hub, confined to the hub's executor.
// Unchecked because the compiler cannot see that it is; the hub's work and the connection's turns alone touch it.
final class InMemoryLink: Link, @unchecked Sendable {
    private enum State: Equatable { case idle, opening, open, ended }

    private let request: LinkRequest
    private let receiver: any LinkReceiver
    private let hub: InMemoryHub
    private var state = State.idle
    /// The hub's peer of the client while the link is open.
    private var peer: HubPeer?
    // Nothing is called while they change, as in the hub's work.
    @exclusivity(unchecked) private var events = UniqueDeque<LinkEvent>()
    /// Events for a client that is being let in, which come behind `opened`.
    private var early: [LinkEvent] = []
    /// Whether the client reads no further, and what waits until it does.
    private var isPaused = false
    private var pausedBytes = 0

    /// The events that are handed over together.
    private static let batch = 64
    /// The number of bytes that the hub keeps for a client that does not read, before it gives the client up.
    private static let pausedLimit = 16 << 20

    init(request: LinkRequest, receiver: any LinkReceiver, hub: InMemoryHub) {
        self.request = request
        self.receiver = receiver
        self.hub = hub
    }

    func open() {
        self.hub.work.perform {
            guard self.state == .idle else { return }
            self.state = .opening
            self.hub.connect(self, self.request)
        }
    }

    func send(_ message: OutboundMessage) -> SendAcceptance {
        guard let peer = self.peer else { return .refused }
        self.hub.work.add(.message(peer, message))
        return .accepted
    }

    func reply(to id: UInt64, with payload: Payload) -> SendAcceptance {
        guard let peer = self.peer else { return .refused }
        self.hub.work.add(.reply(peer, id: id, payload))
        return .accepted
    }

    func setReadingPaused(_ isPaused: Bool) {
        self.isPaused = isPaused
        guard isPaused else {
            if !self.events.isEmpty { self.hub.work.touch(self) }
            return
        }
        self.pausedBytes = self.events.indices.reduce(0) { $0 + self.events[$1].byteCount }
        guard let peer = self.peer else { return }
        self.hub.work.add(.call { self.checkPause(peer) })
    }

    func close() { self.abort() }

    func abort() {
        self.hub.work.perform {
            let error = LinkspanError(.connectionLost, "closed by this side")
            if let peer = self.peer { self.hub.end(peer, error) } else { self.ended(error) }
        }
    }
}

// MARK: - For the hub's work

extension InMemoryLink {
    func arrived(_ message: consuming OutboundMessage, at peer: HubPeer) {
        // The hub may have been cut since: what was under way is lost, as on a network.
        if self.peer === peer { peer.receive(message) }
    }

    func answered(_ id: UInt64, _ payload: Payload, to peer: HubPeer) {
        if self.peer === peer { peer.answered(id, payload) }
    }

    func isOpened(as peer: HubPeer) {
        guard self.state == .opening else { return }
        (self.state, self.peer) = (.open, peer)
        self.tell(.opened(LinkInfo(sessionID: "\(peer.id)")))
        for event in self.early { self.tell(event) }
        self.early = []
    }

    func deliver(_ event: consuming LinkEvent) {
        switch self.state {
        case .opening: self.early.append(event)
        case .open:
            guard self.isPaused, let peer = self.peer else { return self.tell(event) }
            self.pausedBytes += event.byteCount
            self.tell(event)
            self.checkPause(peer)
        case .idle, .ended: ()
        }
    }

    func ended(_ error: LinkspanError) {
        if self.state == .ended { return }
        (self.state, self.peer) = (.ended, nil)
        if self.isPaused { self.setReadingPaused(false) }
        self.tell(.closed(error))
    }

    /// Hands over the events of the work that was done, at most so many at a time that a pause takes effect.
    func handOver() {
        if self.isPaused || self.events.isEmpty { return }
        var left = min(self.events.count, Self.batch)
        if self.events.count > left { self.hub.work.touch(self) }
        self.receiver.receive {
            left -= 1
            return left >= 0 ? self.events.popFirst() : nil
        }
    }

    /// Ends a client that does not read, and for which too much waits.
    private func checkPause(_ peer: HubPeer) {
        guard self.isPaused, self.pausedBytes > Self.pausedLimit else { return }
        self.hub.end(peer, LinkspanError(.slowConsumer, "more than 16 MiB wait for a client that does not read"))
    }

    private func tell(_ event: consuming LinkEvent) {
        if self.events.isEmpty { self.hub.work.touch(self) }
        self.events.append(event)
    }
}

extension LinkEvent {
    fileprivate var byteCount: Int {
        switch self {
        case .message(let message): message.event.utf8.count + message.payload.byteCount
        case .reply(_, let payload): payload.byteCount
        case .opened, .changed, .writable, .closed: 0
        }
    }
}
