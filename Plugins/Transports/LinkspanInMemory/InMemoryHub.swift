public import Linkspan
public import LinkspanRuntime

/// A server inside the process: links connect to it, it answers them, and it can be pulled like a plug.
///
/// For demos, tests and previews. What the hub does for its clients is given as handlers:
///
/// ```swift
/// let hub = InMemoryHub()
/// hub.onConnect { peer in
///     peer.join("lobby")
///     peer.on("say") { message in
///         hub.emit("message", message.payload, to: "lobby", except: peer)
///         message.reply(.empty)
///     }
/// }
/// let transport = InMemoryTransport(hub: hub)
/// ```
///
/// Everything happens on the hub's executor, in the order in which it was asked for. There is no clock inside, so a
/// test over it is deterministic when it gives the hub an executor that is.
public final class InMemoryHub: Sendable {
    /// Decides about a new client: throw to refuse it.
    public typealias ConnectHandler = @Sendable (HubPeer) throws(LinkspanError) -> Void

    private struct State: Sendable {
        var handler: ConnectHandler?
        var outage: LinkspanError?
        var peers: [UInt64: HubPeer] = [:]
        var rooms: [String: Set<UInt64>] = [:]
        var lastID: UInt64 = 0

        mutating func leave(_ id: UInt64, _ room: String) {
            self.rooms[room]?.remove(id)
            if self.rooms[room]?.isEmpty == true { self.rooms[room] = nil }
        }
    }

    /// The executor of the hub and of its clients' connections.
    public let executor: any JobExecutor
    let work: HubWork
    fileprivate let answers: Confined<HubAnswers>
    /// Guards the handler, the outage, the clients and their rooms, which are reached from any thread.
    private let state = Lock(State())

    /// Makes a hub without clients.
    ///
    /// - Parameter executor: its executor; one of its own by default.
    public init(executor: any JobExecutor = SystemScheduler.makeExecutor(label: "linkspan.memory")) {
        self.executor = executor
        self.work = HubWork(executor: executor)
        self.answers = Confined(HubAnswers(), to: executor)
    }

    /// Sets the handler for each new client, called before its link opens.
    public func onConnect(_ handler: @escaping ConnectHandler) { self.state.withLock { $0.handler = handler } }

    /// The clients that are connected, in the order in which they came.
    public var peers: [HubPeer] { self.members(of: nil) }

    /// Drops every link and refuses new ones until ``restore()``, as if the network were gone.
    public func cut(_ error: LinkspanError = LinkspanError(.connectionLost, "the hub is disconnected")) {
        self.work.perform {
            self.state.withLock { $0.outage = error }
            for peer in self.peers { peer.end(error) }
        }
    }

    /// Accepts links again after ``cut(_:)``.
    public func restore() { self.work.perform { self.state.withLock { $0.outage = nil } } }

    /// Sends an event to everyone in a room, or to everyone.
    ///
    /// - Parameters:
    ///   - event: the name of the event.
    ///   - payload: its arguments.
    ///   - room: the room; nil for all clients.
    ///   - sender: a client that is left out.
    public func emit(_ event: String, _ payload: Payload, to room: String? = nil, except sender: HubPeer? = nil) {
        self.work.confined {
            for peer in self.members(of: room) where peer !== sender { peer.emit(event, payload) }
        }
    }

    /// The clients in a room, or all when it is nil, in the order in which they came.
    public func members(of room: String?) -> [HubPeer] {
        self.state.withLock { state in
            let ids = room.map { state.rooms[$0] ?? [] } ?? Set(state.peers.keys)
            return ids.sorted().compactMap { state.peers[$0] }
        }
    }

    /// Admits a client whose events go to `events`.
    ///
    /// - Throws: the error of the handler, or that of ``cut(_:)``.
    func admit(_ request: LinkRequest, _ events: ClientQueue) throws(LinkspanError) -> HubPeer {
        let state = self.state.withLock { $0 }
        if let outage = state.outage { throw outage }
        let peer = self.state.withLock { state in
            state.lastID += 1
            let peer = HubPeer(id: state.lastID, request: request, events: events, hub: self)
            state.peers[peer.id] = peer
            return peer
        }
        do throws(LinkspanError) {
            try state.handler?(peer)
        } catch {
            self.remove(peer.id)
            throw error
        }
        return peer
    }

    /// Removes a client from the hub and its rooms; returns false when it was not there.
    @discardableResult
    fileprivate func remove(_ id: UInt64) -> Bool {
        self.state.withLock { state in
            for room in state.rooms.keys { state.leave(id, room) }
            return state.peers.removeValue(forKey: id) != nil
        }
    }

    fileprivate func join(_ id: UInt64, _ room: String) {
        self.state.withLock { if $0.peers[id] != nil { $0.rooms[room, default: []].insert(id) } }
    }

    fileprivate func leave(_ id: UInt64, _ room: String) { self.state.withLock { $0.leave(id, room) } }
}

/// A client, as its hub sees it.
///
/// All methods may be called from any thread; handlers run on the hub's executor.
public final class HubPeer: Sendable, HubClient {
    /// Handles a message from the client.
    public typealias Handler = @Sendable (HubMessage) -> Void

    private struct State {
        let events: ClientQueue
        var handlers: [String: Handler] = [:] { didSet { self.latest = nil } }
        var fallback: Handler? { didSet { self.latest = nil } }
        /// The handler of the latest event, so that a name is not hashed for each message (W13).
        var latest: (event: String, handler: Handler)?
        var onEnd: (@Sendable () -> Void)?
        var questions: [UInt64: @Sendable (Payload) -> Void] = [:]
        var lastQuestion: UInt64 = 0

        init(events: ClientQueue) { self.events = events }

        /// Nil when the client's link has ended: what it sent before is lost then, as on a network.
        mutating func handler(of event: String) -> Handler? {
            guard self.events.isOpen else { return nil }
            if let latest, latest.event == event { return latest.handler }
            let handler = self.handlers[event] ?? self.fallback
            self.latest = handler.map { (event, $0) }
            return handler
        }
    }

    /// Identifies the client among those of its hub.
    public let id: UInt64
    /// The request that the client connected with, credentials included.
    public let request: LinkRequest
    private let hub: InMemoryHub
    private let work: HubWork
    private let state: Confined<State>

    fileprivate init(id: UInt64, request: LinkRequest, events: ClientQueue, hub: InMemoryHub) {
        self.id = id
        self.request = request
        self.hub = hub
        self.work = hub.work
        self.state = Confined(State(events: events), to: hub.executor)
    }

    /// Sets the handler of one event of the client.
    public func on(_ event: String, _ handler: @escaping Handler) {
        self.work.confined { self.state.value.handlers[event] = handler }
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
            if let former = self.hub.answers.value.answer(to: key, account: account) { return message.reply(former) }
            let answer = handler(message)
            self.hub.answers.value.add(answer, to: key, account: account)
            message.reply(answer)
        }
    }

    /// Sets the handler of every event that has none of its own.
    public func onOther(_ handler: @escaping Handler) { self.work.confined { self.state.value.fallback = handler } }

    /// Sets the handler that is called when the client has disconnected, for any reason.
    public func onEnd(_ handler: @escaping @Sendable () -> Void) {
        self.work.confined { self.state.value.onEnd = handler }
    }

    /// Puts the client into a room.
    public func join(_ room: String) { self.hub.join(self.id, room) }

    /// Takes the client out of a room.
    public func leave(_ room: String) { self.hub.leave(self.id, room) }

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
        self.work.confined {
            self.state.value.lastQuestion += 1
            let id = self.state.value.lastQuestion
            self.state.value.questions[id] = onReply
            self.deliver(.message(InboundMessage(event: event, payload: payload, replyID: id)))
        }
    }

    /// Ends the client's link.
    public func disconnect(_ error: LinkspanError = LinkspanError(.closedByServer, "the hub closed the connection")) {
        self.work.perform { self.end(error) }
    }

    // MARK: For links and the hub

    func receive(_ message: consuming OutboundMessage) {
        guard let handler = self.state.value.handler(of: message.event) else { return }
        handler(HubMessage(peer: self, message: message))
    }

    func answered(_ id: UInt64, _ payload: Payload) {
        guard self.state.value.events.isOpen else { return }
        let onReply = self.state.value.questions.removeValue(forKey: id)
        onReply?(payload)
    }

    func deliver(_ event: consuming LinkEvent) {
        // At once on the executor, as from a handler, without a closure.
        guard self.work.executor.isCurrent else { return self.work.perform { [event] in self.deliver(event) } }
        if !self.state.value.events.deliver(event) { self.endIfOverfull() }
    }

    /// Ends a client that has paused reading, and for which too much waits.
    func endIfOverfull() {
        guard self.state.value.events.isOverfull else { return }
        self.end(LinkspanError(.slowConsumer, "more than 16 MiB wait for a client that does not read"))
    }

    func end(_ error: LinkspanError) {
        guard self.hub.remove(self.id) else { return }
        // Kept until after the accesses: handlers may hold anything.
        let former = self.state.value
        self.state.value = State(events: former.events)
        withExtendedLifetime(former) { former.onEnd?() }
        former.events.end(error)
    }
}

/// A message from a client to the hub.
public struct HubMessage: Sendable {
    /// The client.
    public let peer: HubPeer
    fileprivate let message: OutboundMessage

    /// The name of the event.
    public var event: String { self.message.event }

    /// Its arguments.
    public var payload: Payload { self.message.payload }

    /// Whether the client waits for a reply.
    public var wantsReply: Bool { self.message.requestID != nil }

    /// Answers the client; does nothing when it did not ask.
    public func reply(_ payload: Payload) {
        if let requestID = self.message.requestID { self.peer.deliver(.reply(id: requestID, payload: payload)) }
    }

    /// Answers the client with values; does nothing when it did not ask.
    ///
    /// - Throws: `LinkspanError` with code `encodingFailed`.
    public func reply<each Argument: Encodable>(_ arguments: repeat each Argument) throws(LinkspanError) {
        self.reply(try Payload(repeat each arguments))
    }
}
