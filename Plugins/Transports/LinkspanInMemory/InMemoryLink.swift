internal import Linkspan

/// A link to a hub; lives on the hub's executor.
final class InMemoryLink: Link {
    private let request: LinkRequest
    private let hub: InMemoryHub
    private let events: ClientQueue
    /// The client as the hub sees it, once it is admitted.
    private var peer: HubPeer?

    init(request: LinkRequest, receiver: any LinkReceiver, hub: InMemoryHub) {
        self.request = request
        self.hub = hub
        self.events = ClientQueue(receiver: receiver, work: hub.work)
    }

    func open() {
        self.perform {
            guard self.events.begin() else { return }
            do throws(LinkspanError) {
                let peer = try self.hub.admit(self.request, self.events)
                self.peer = peer
                self.events.open(LinkInfo(sessionID: "\(peer.id)"))
            } catch {
                self.events.end(error)
            }
        }
    }

    func send(_ message: OutboundMessage) -> SendAcceptance {
        guard self.events.isOpen, let peer = self.peer else { return .refused }
        self.hub.work.add(.message(message, from: peer))
        return .accepted
    }

    func reply(to id: UInt64, with payload: Payload) -> SendAcceptance {
        guard self.events.isOpen, let peer = self.peer else { return .refused }
        self.hub.work.add(.reply(payload, id: id, from: peer))
        return .accepted
    }

    func setReadingPaused(_ isPaused: Bool) {
        self.events.setReadingPaused(isPaused)
        guard self.events.isOverfull, let peer = self.peer else { return }
        self.perform { peer.endIfOverfull() }
    }

    func close(code: UInt16?, reason: String) { self.abort() }

    func abort() {
        self.perform {
            let error = LinkspanError(.connectionLost, "closed by this side")
            self.peer?.end(error)
            self.events.end(error)
        }
    }

    /// Runs `job` behind what was sent before.
    private func perform(_ job: @escaping () -> Void) { self.hub.work.add(.call(job)) }
}
