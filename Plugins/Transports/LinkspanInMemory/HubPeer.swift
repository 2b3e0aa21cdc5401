public import Linkspan
internal import LinkspanRuntime

/// A client, as its hub sees it.
///
/// All methods may be called from any thread; handlers run on the hub's executor.
public final class HubPeer: @unchecked Sendable {
    // Unchecked because the compiler cannot see that the handlers are touched on the hub's executor alone.

    /// Handles a message from the client.
    public typealias Handler = @Sendable (HubMessage) -> Void

    /// Identifies the client among those of its hub.
    public let id: UInt64
    /// The request that the client connected with, credentials included.
    public let request: LinkRequest
    let link: InMemoryLink
    private let hub: InMemoryHub
    private var handlers: [String: Handler] = [:] { didSet { self.latest = nil } }
    private var fallback: Handler? { didSet { self.latest = nil } }
    /// The handler of the event that came last, while nothing changes: traffic mostly is of one kind.
    private var latest: (event: String, handler: Handler)?
    private var onEnd: (@Sendable () -> Void)?
    private var questions: [UInt64: @Sendable (Payload) -> Void] = [:]
    private var lastQuestion: UInt64 = 0

    init(id: UInt64, request: LinkRequest, link: InMemoryLink, hub: InMemoryHub) {
        self.id = id
        self.request = request
        self.link = link
        self.hub = hub
    }

    /// Sets the handler of one event of the client.
    public func on(_ event: String, _ handler: @escaping Handler) {
        self.hub.confined { self.handlers[event] = handler }
    }

    /// Sets the handler of one event that clients deliver with a key as the last argument; see
    /// `DeliveryOptions.keyPlacement`.
    ///
    /// Of each key the handler is called once, and its answer goes to each repetition too, over whatever link it comes:
    /// the hub remembers the newest 100,000 keys of each account. A message without a key gets no answer.
    ///
    /// - Parameters:
    ///   - event: the name of the event.
    ///   - account: whose keys they are, by the credentials of the client: others may have the same.
    ///   - handler: applies the message, and returns the answer.
    public func onDelivery(
        _ event: String, account: String = "", _ handler: @escaping @Sendable (HubMessage) -> Payload
    ) {
        self.on(event) { message in
            guard let key = message.payload.values.last?.string else { return }
            message.reply(self.hub.answers.answer(to: key, account: account) { handler(message) })
        }
    }

    /// Sets the handler of every event that has none of its own.
    public func onOther(_ handler: @escaping Handler) { self.hub.confined { self.fallback = handler } }

    /// Sets the handler that is called when the client has disconnected, for any reason.
    public func onEnd(_ handler: @escaping @Sendable () -> Void) { self.hub.confined { self.onEnd = handler } }

    /// Puts the client into a room.
    public func join(_ room: String) { self.hub.join(self, room) }

    /// Takes the client out of a room.
    public func leave(_ room: String) { self.hub.leave(self, room) }

    /// Sends an event to this client.
    public func emit(_ event: consuming String, _ payload: consuming Payload) {
        self.deliver(.message(InboundMessage(event: event, payload: payload)))
    }

    /// Sends an event with values to this client.
    ///
    /// - Throws: `LinkspanError` with code `encodingFailed`.
    public func emit<each Argument: Encodable>(
        _ event: String, _ arguments: repeat each Argument
    ) throws(LinkspanError) {
        self.emit(event, try Payload(repeat each arguments))
    }

    /// Sends an event to this client and receives its reply.
    ///
    /// A client that goes away without a reply is not heard of again.
    public func ask(_ event: String, _ payload: Payload, _ onReply: @escaping @Sendable (Payload) -> Void) {
        self.hub.confined {
            self.lastQuestion += 1
            self.questions[self.lastQuestion] = onReply
            self.link.deliver(
                .message(InboundMessage(event: event, payload: payload, replyID: self.lastQuestion)))
        }
    }

    /// Ends the client's link.
    public func disconnect(_ error: LinkspanError = LinkspanError(.closedByServer, "the hub closed the connection")) {
        self.hub.work.perform { self.hub.end(self, error) }
    }

    // MARK: For links and the hub

    func receive(_ message: consuming OutboundMessage) {
        guard let handler = self.handler(of: message.event) else { return }
        handler(HubMessage(peer: self, message: message))
    }

    private func handler(of event: String) -> Handler? {
        if let latest, latest.event == event { return latest.handler }
        let handler = self.handlers[event] ?? self.fallback
        self.latest = handler.map { (event, $0) }
        return handler
    }

    func answered(_ id: UInt64, _ payload: Payload) {
        let onReply = self.questions.removeValue(forKey: id)
        onReply?(payload)
    }

    func reply(_ id: UInt64, _ payload: Payload) {
        self.deliver(.reply(id: id, payload: payload))
    }

    private func deliver(_ event: consuming LinkEvent) {
        // On the executor, as from a handler, without a closure.
        if self.hub.executor.isCurrent { return self.link.deliver(event) }
        self.hub.work.perform { [event] in self.link.deliver(event) }
    }

    func ended() {
        // Kept until after the accesses: handlers may hold anything.
        let (handlers, fallback, questions, onEnd) = (self.handlers, self.fallback, self.questions, self.onEnd)
        (self.handlers, self.fallback, self.questions, self.onEnd) = ([:], nil, [:], nil)
        withExtendedLifetime((handlers, fallback, questions)) { onEnd?() }
    }
}

/// A message from a client to the hub.
public struct HubMessage: Sendable {
    /// The client.
    public let peer: HubPeer
    private let message: OutboundMessage

    init(peer: HubPeer, message: consuming OutboundMessage) {
        self.peer = peer
        self.message = message
    }

    /// The name of the event.
    public var event: String { self.message.event }

    /// Its arguments.
    public var payload: Payload { self.message.payload }

    /// Whether the client waits for a reply.
    public var wantsReply: Bool { self.message.requestID != nil }

    /// Answers the client; does nothing when it did not ask.
    public func reply(_ payload: Payload) {
        if let requestID = self.message.requestID { self.peer.reply(requestID, payload) }
    }

    /// Answers the client with values; does nothing when it did not ask.
    ///
    /// - Throws: `LinkspanError` with code `encodingFailed`.
    public func reply<each Argument: Encodable>(_ arguments: repeat each Argument) throws(LinkspanError) {
        self.reply(try Payload(repeat each arguments))
    }
}
