internal import Linkspan
internal import LinkspanRuntime

/// A link to a hub.
///
/// Its state changes only inside the hub's serial work, apart from `send`, which only looks.
final class InMemoryLink: Link {
    private enum State: Sendable {
        case idle
        case opening
        case open(HubPeer)
        case ended
    }

    private let request: LinkRequest
    private let receiver: any LinkReceiver
    private let hub: InMemoryHub
    private let state = Lock(State.idle)

    init(request: LinkRequest, receiver: any LinkReceiver, hub: InMemoryHub) {
        self.request = request
        self.receiver = receiver
        self.hub = hub
    }

    func open() {
        self.hub.perform {
            let mustConnect = self.state.withLock { state in
                guard case .idle = state else { return false }
                state = .opening
                return true
            }
            if mustConnect { self.hub.connect(self, self.request) }
        }
    }

    func send(_ message: OutboundMessage) -> SendAcceptance {
        guard let peer = self.peer else { return .refused }
        self.hub.perform {
            // The hub may have been cut since: what was under way is lost, as on a network.
            if self.peer === peer { peer.receive(message) }
        }
        return .accepted
    }

    func reply(to id: UInt64, with payload: Payload) {
        guard let peer = self.peer else { return }
        self.hub.perform { if self.peer === peer { peer.answered(id, payload) } }
    }

    func close() { self.abort() }

    func abort() {
        self.hub.perform {
            let error = LinkspanError(.connectionLost, "closed by this side")
            if let peer = self.peer {
                self.hub.end(peer, error)
            } else {
                self.ended(error)
            }
        }
    }

    // MARK: For the hub, inside its serial work

    func isOpened(as peer: HubPeer) {
        let isOpen = self.state.withLock { state in
            guard case .opening = state else { return false }
            state = .open(peer)
            return true
        }
        if isOpen { self.receiver.receive([.opened(LinkInfo(sessionID: "\(peer.id)"))]) }
    }

    func deliver(_ events: [LinkEvent]) {
        if self.peer != nil { self.receiver.receive(events) }
    }

    func ended(_ error: LinkspanError) {
        let isFirst = self.state.withLock { state in
            if case .ended = state { return false }
            state = .ended
            return true
        }
        if isFirst { self.receiver.receive([.closed(error)]) }
    }

    private var peer: HubPeer? {
        self.state.withLock { state in
            if case .open(let peer) = state { peer } else { nil }
        }
    }
}
