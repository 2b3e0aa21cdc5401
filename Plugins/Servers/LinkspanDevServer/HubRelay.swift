internal import Linkspan
internal import LinkspanInMemory
internal import LinkspanRuntime

/// One client's link to the hub: what the client says goes in, what the hub says comes out on the loop's thread.
final class HubRelay: LinkReceiver {
    /// A client's message or reply.
    enum Saying: Sendable {
        case message(InboundMessage)
        case reply(id: UInt64, Payload)

        var byteCount: Int {
            switch self {
            case .message(let message): message.payload.byteCount
            case .reply(_, let payload): payload.byteCount
            }
        }
    }

    /// A link to the hub, which is called on the hub's executor.
    private struct HubLink: Sendable {
        private let link: Confined<any Link>
        private let executor: any JobExecutor

        init(_ link: any Link, on executor: any JobExecutor) {
            self.link = Confined(link, to: executor)
            self.executor = executor
        }

        func call(_ body: @escaping @Sendable (any Link) -> Void) { self.executor.execute { body(self.link.value) } }
    }

    private struct State {
        var link: HubLink?
        var handler: ((LinkEvent) -> Void)?
        var isOpen = false
        /// The messages that came before the hub admitted the client.
        var early: [Saying] = []
        var earlyBytes = 0
    }

    private let context: ServerContext
    private let state: Confined<State>

    /// Makes a relay that has not begun.
    init(_ context: ServerContext, _ handler: @escaping (LinkEvent) -> Void) {
        self.context = context
        self.state = Confined(State(handler: handler), to: context.loop)
    }

    /// Asks the hub to let the client in; its answer is an event.
    func enter(_ hub: InMemoryHub, _ request: LinkRequest) {
        if let refusal = self.context.faults.refusal { return self.receive([.closed(refusal)]) }
        let transport = InMemoryTransport(hub: hub)
        let link = HubLink(transport.makeLink(request, receiver: self), on: transport.executor)
        self.state.value.link = link
        link.call { $0.open() }
    }

    /// Passes on what the client says; returns false when that is too much before it is let in.
    func say(_ saying: Saying) -> Bool {
        if self.state.value.isOpen {
            if let link = self.state.value.link { Self.pass(saying, to: link) }
            return true
        }
        guard self.state.value.handler != nil else { return true }
        self.state.value.early.append(saying)
        self.state.value.earlyBytes += saying.byteCount + 64
        return self.state.value.earlyBytes <= self.context.configuration.limits.maximumWaitingBytes
    }

    /// The client has gone; nothing more is heard.
    func leave() {
        let former = exchange(&self.state.value, with: State())
        former.link?.call { $0.abort() }
    }

    func receive(_ next: () -> LinkEvent?) {
        var events: [LinkEvent] = []
        while let event = next() { events.append(event) }
        self.context.loop.execute { [events] in self.context.performNow { for event in events { self.heard(event) } } }
    }

    private func heard(_ event: LinkEvent) {
        let (handler, link) = (self.state.value.handler, self.state.value.link)
        var early: [Saying] = []
        switch event {
        case .opened:
            self.state.value.isOpen = true
            swap(&early, &self.state.value.early)
        case .closed: self.state.value = State()
        case .message, .reply, .changed, .failed, .writable: ()
        }
        handler?(event)
        if let link { for saying in early { Self.pass(saying, to: link) } }
    }

    private static func pass(_ saying: Saying, to link: HubLink) {
        link.call { link in
            switch saying {
            case .message(let message):
                _ = link.send(
                    OutboundMessage(event: message.event, payload: message.payload, requestID: message.replyID))
            case .reply(let id, let payload): link.reply(to: id, with: payload)
            }
        }
    }
}
