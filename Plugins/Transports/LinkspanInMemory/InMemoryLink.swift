internal import Linkspan
internal import LinkspanRuntime

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
        self.hub.work.add {
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

    func send(_ message: OutboundMessage) -> SendAcceptance { self.whileOpen { $0.receive(message) } }

    func reply(to id: UInt64, with payload: Payload) -> SendAcceptance { self.whileOpen { $0.answered(id, payload) } }

    /// Passes something to the hub, unless the link has ended before its turn: as on a network, it is lost then.
    private func whileOpen(_ pass: @escaping (HubPeer) -> Void) -> SendAcceptance {
        guard self.events.isOpen, let peer = self.peer else { return .refused }
        self.hub.work.add { if self.events.isOpen { pass(peer) } }
        return .accepted
    }

    func setReadingPaused(_ isPaused: Bool) {
        self.events.setReadingPaused(isPaused)
        guard self.events.isOverfull, let peer = self.peer else { return }
        self.hub.work.add { peer.endIfOverfull() }
    }

    func close() { self.abort() }

    func abort() {
        self.hub.work.add {
            let error = LinkspanError(.connectionLost, "closed by this side")
            self.peer?.end(error)
            self.events.end(error)
        }
    }
}
