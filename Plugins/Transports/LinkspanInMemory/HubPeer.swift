public import Linkspan
internal import LinkspanRuntime

/// A client, as its hub sees it.
public final class HubPeer: Sendable {
    /// Handles a message from the client.
    public typealias Handler = @Sendable (HubMessage) -> Void

    private struct State: Sendable {
        var handlers: [String: Handler] = [:]
        var fallback: Handler?
        var onEnd: (@Sendable () -> Void)?
        var questions: [UInt64: @Sendable (Payload) -> Void] = [:]
        var lastQuestion: UInt64 = 0
    }

    /// Identifies the client among those of its hub.
    public let id: UInt64
    /// What the client connected with, credentials included.
    public let request: LinkRequest
    let link: InMemoryLink
    private let hub: InMemoryHub
    private let state = Lock(State())

    init(id: UInt64, request: LinkRequest, link: InMemoryLink, hub: InMemoryHub) {
        self.id = id
        self.request = request
        self.link = link
        self.hub = hub
    }

    /// Sets what is done with one event of the client.
    public func on(_ event: String, _ handler: @escaping Handler) {
        self.state.withLock { $0.handlers[event] = handler }
    }

    /// Sets what is done with every event that has no handler of its own.
    public func onOther(_ handler: @escaping Handler) { self.state.withLock { $0.fallback = handler } }

    /// Sets what is done when the client has gone, however that came about.
    public func onEnd(_ handler: @escaping @Sendable () -> Void) { self.state.withLock { $0.onEnd = handler } }

    /// Puts the client into a room.
    public func join(_ room: String) { self.hub.join(self, room) }

    /// Takes the client out of a room.
    public func leave(_ room: String) { self.hub.leave(self, room) }

    /// Sends an event to this client.
    public func emit(_ event: String, _ payload: Payload) {
        self.hub.perform { self.link.deliver([.message(InboundMessage(event: event, payload: payload))]) }
    }

    /// Sends an event to this client and hears its reply.
    ///
    /// A client that goes away without one is not heard of again.
    public func ask(_ event: String, _ payload: Payload, _ onReply: @escaping @Sendable (Payload) -> Void) {
        let id = self.state.withLock { state in
            state.lastQuestion += 1
            state.questions[state.lastQuestion] = onReply
            return state.lastQuestion
        }
        self.hub.perform {
            self.link.deliver([.message(InboundMessage(event: event, payload: payload, replyID: id))])
        }
    }

    /// Ends the client's link.
    public func disconnect(_ error: LinkspanError = LinkspanError(.closedByServer, "the hub closed the connection")) {
        self.hub.perform { self.hub.end(self, error) }
    }

    // MARK: For links and the hub

    func receive(_ message: OutboundMessage) {
        let handler = self.state.withLock { $0.handlers[message.event] ?? $0.fallback }
        handler?(HubMessage(peer: self, event: message.event, payload: message.payload, requestID: message.requestID))
    }

    func answered(_ id: UInt64, _ payload: Payload) {
        let onReply = self.state.withLock { $0.questions.removeValue(forKey: id) }
        onReply?(payload)
    }

    func reply(_ id: UInt64, _ payload: Payload) {
        self.hub.perform { self.link.deliver([.reply(id: id, payload: payload)]) }
    }

    func ended() {
        let onEnd = self.state.withLock { state in
            defer { state = State() }
            return state.onEnd
        }
        onEnd?()
    }
}

/// A message from a client to the hub.
public struct HubMessage: Sendable {
    /// The client.
    public let peer: HubPeer
    /// The name of the event.
    public let event: String
    /// Its arguments.
    public let payload: Payload
    let requestID: UInt64?

    /// Whether the client waits for a reply.
    public var wantsReply: Bool { self.requestID != nil }

    /// Answers the client; does nothing when it did not ask.
    public func reply(_ payload: Payload) {
        if let requestID { self.peer.reply(requestID, payload) }
    }
}
