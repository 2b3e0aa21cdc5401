internal import Linkspan
internal import LinkspanNetwork
internal import LinkspanRuntime
internal import LinkspanSocketIO
internal import LinkspanWebSocketProtocol

/// The protocol above an Engine.IO session.
enum EngineUse: Sendable, Hashable {
    case socketIO
    /// Messages are sent back as they are.
    case echo
}

/// One Engine.IO session, with what carries it and the links of its namespaces.
///
/// Lives on the loop.
final class EngineConnection: ConnectionOwner {
    /// The most packets of a POST that are handled in one turn of the loop.
    private static let packetsATurn = 1_024

    let sid: String
    let use: EngineUse
    private let began = ContinuousClock.now
    private let request: HTTPRequest
    private let context: ServerContext
    /// Called when the session has ended.
    private let onEnded: (EngineConnection) -> Void
    private var engine: EngineServerSession
    private var socketIO: SocketIOServerSession
    private var waitingPoll: ServerConnection?
    /// The rest of the POST that is being handled; nil when there is none.
    private var posted: ArraySlice<UInt8>?
    /// The connection that carries the session, or is tried for it.
    private var webSocket: ServerConnection?
    /// The WebSocket that is dropped when its client has gone over to it.
    private weak var dropped: ServerConnection?
    private var relays: [String: HubRelay] = [:]
    /// Whether the echo has answered a message of the client.
    private var hasEchoed = false
    /// Whether a batch of packets is being handled: the timer is then set once, after the last packet.
    private var isWithinBatch = false
    /// The timer by which the engine looks at the clock.
    private lazy var timer = ServerDeadline(self.context) { [weak self] in self?.act { $0.timer(now: .now) } }
    /// Ends the session when no namespace is joined in time.
    private lazy var admission = ServerDeadline(self.context) { [weak self] in
        if self?.isInUse == false { self?.act { $0.close() } }
    }

    init(
        _ request: HTTPRequest, _ use: EngineUse, _ context: ServerContext,
        onEnded: @escaping (EngineConnection) -> Void
    ) {
        let configuration = context.configuration
        self.sid =
            String(UInt64.random(in: .min ... .max), radix: 36) + String(UInt64.random(in: .min ... .max), radix: 36)
        self.use = use
        self.request = request.withoutBody
        self.context = context
        self.onEnded = onEnded
        let timing = EngineServerSession.Timing(
            pingInterval: configuration.pingInterval, pingTimeout: configuration.pingTimeout)
        let limits = SocketIOLimits(maximumMessageBytes: configuration.maximumMessageBytes)
        self.engine = EngineServerSession(
            timing: timing, overWebSocket: request.isUpgrade, maximumWaiting: configuration.limits.maximumWaitingBytes,
            now: .now)
        self.socketIO = SocketIOServerSession(known: Set(context.hubs.keys), limits: limits)
    }

    /// Whether the client has joined a namespace, or has sent a message that was echoed.
    ///
    /// The session of one that has not may be dropped to make room for a new one.
    private var isInUse: Bool { self.socketIO.isInUse || self.hasEchoed }

    /// Answers the request that began the session.
    func begin(on connection: ServerConnection) {
        if self.request.isUpgrade {
            guard connection.upgrade(self.request, owner: self) else { return self.onEnded(self) }
            self.webSocket = connection
            connection.send([.text(self.openPacket[...])])
        } else {
            connection.respond(.text(self.openPacket))
        }
        self.watch()
        self.admission.set(self.began + self.context.configuration.limits.connectTimeout)
    }

    private var openPacket: [UInt8] {
        let configuration = self.context.configuration
        let upgrades = self.request.isUpgrade || !configuration.carriers.contains(.webSocket) ? "" : #""websocket""#
        let json =
            #"0{"sid":"\#(self.sid)","upgrades":[\#(upgrades)],"pingInterval":\#(configuration.pingInterval.milliseconds),"#
            + #""pingTimeout":\#(configuration.pingTimeout.milliseconds),"maxPayload":\#(configuration.maximumMessageBytes)}"#
        return Array(json.utf8)
    }

    // MARK: Requests of the session

    func poll(on connection: ServerConnection) -> EngineRefusal? {
        let (isTaken, effects) = self.engine.poll()
        if isTaken {
            self.waitingPoll = connection
            connection.wait(for: self)
        }
        self.perform(effects)
        return isTaken ? nil : .badRequest
    }

    func post(_ body: [UInt8], on connection: ServerConnection) -> EngineRefusal? {
        guard self.engine.isPolling else { return .badRequest }
        // Nobody could say which of two comes first; such a session ends with the reference, too.
        guard self.posted == nil else {
            self.act { $0.close() }
            return .badRequest
        }
        self.posted = body[...]
        return self.handlePosted(on: connection)
    }

    /// Handles some packets of a POST; others get their turn before it goes on with the rest.
    private func handlePosted(on connection: ServerConnection) -> EngineRefusal? {
        let now = ContinuousClock.now
        self.batch {
            for _ in 0..<Self.packetsATurn where !self.engine.isEnded {
                do {
                    // One at a time: a packet may end the session, and the packets after it are then ignored.
                    guard let packet = try PollingPayload.next(of: &self.posted) else { return }
                    self.act { $0.received(packet, now: now) }
                } catch {
                    self.act { $0.close() }
                }
            }
        }
        if self.engine.isEnded { self.posted = nil }
        guard self.posted == nil else {
            self.context.perform {
                if let refusal = self.handlePosted(on: connection) { connection.respond(.refusal(refusal)) }
            }
            return nil
        }
        guard self.engine.ending != .violation else { return .badRequest }
        connection.respond(.text(Array("ok".utf8)))
        return nil
    }

    func tryWebSocket(_ request: HTTPRequest, on connection: ServerConnection) -> EngineRefusal? {
        guard self.engine.tryWebSocket(now: .now) else {
            // One that is tried beside another, or after the upgrade, is opened and closed, as the reference does.
            if connection.upgrade(request, owner: SpareWebSocket()) { connection.close(.normal, reason: "") }
            return nil
        }
        guard connection.upgrade(request, owner: self) else {
            self.act { $0.webSocketLost() }
            return nil
        }
        self.webSocket = connection
        self.watch()
        return nil
    }

    // MARK: The connections

    func received(_ next: () -> WebSocketMessage?, on connection: ServerConnection) {
        let now = ContinuousClock.now
        self.batch {
            while let message = next() {
                if self.dropped === connection { connection.drop() }
                guard self.webSocket === connection else { continue }
                self.act { $0.webSocketReceived(message, now: now) }
            }
        }
    }

    func ended(_ connection: ServerConnection) {
        if self.waitingPoll === connection {
            self.waitingPoll = nil
            self.act { $0.pollLost() }
        } else if self.webSocket === connection {
            self.webSocket = nil
            self.act { $0.webSocketLost() }
        }
    }

    // MARK: The end

    /// Ends without a word, as if the network were gone.
    ///
    /// The official client learns nothing from the end of a WebSocket for which it has just paused its polls: that is
    /// dropped when it sends a frame, or does not in time.
    func drop() {
        let isChanging = self.engine.isChanging
        _ = self.engine.close()
        let (poll, webSocket, relays) = self.takeAll()
        self.onEnded(self)
        poll?.drop()
        if isChanging {
            self.dropped = webSocket
            _ = self.context.schedule(after: self.engine.timing.upgradeTimeout) { webSocket?.drop() }
        } else {
            webSocket?.drop()
        }
        for relay in relays { relay.leave() }
    }

    private func end(_ ending: EngineServerSession.Ending) {
        let (_, webSocket, relays) = self.takeAll()
        self.onEnded(self)
        switch ending {
        case .closedByClient: webSocket?.close(.normal, reason: "")
        case .violation: webSocket?.close(.policyViolation, reason: "the client violated the protocol")
        case .heartbeatMissed, .overflow: webSocket?.drop()
        }
        for relay in relays { relay.leave() }
    }

    private func takeAll() -> (poll: ServerConnection?, webSocket: ServerConnection?, relays: [HubRelay]) {
        defer { (self.waitingPoll, self.webSocket, self.relays) = (nil, nil, [:]) }
        return (self.waitingPoll, self.webSocket, Array(self.relays.values))
    }
}

// MARK: - Effects

extension EngineConnection {
    private func act(_ decide: (inout EngineServerSession) -> [EngineServerSession.Effect]) {
        self.perform(decide(&self.engine))
    }

    private func perform(_ effects: [EngineServerSession.Effect]) {
        for effect in effects {
            switch effect {
            case .answerPoll(let packets): self.answerPoll(packets)
            case .send(let frame): self.webSocket?.send([frame])
            case .deliver(let message): self.deliver(message)
            case .dropTried: self.webSocket.take()?.drop()
            case .end(let ending): self.end(ending)
            }
        }
        self.watch()
    }

    private func answerPoll(_ packets: [WebSocketMessage]) {
        var body: [UInt8] = []
        PollingPayload.append(packets, to: &body)
        self.waitingPoll.take()?.respond(.text(body))
    }

    /// Handles a batch of packets, and sets the timer once after it, not after each packet.
    private func batch(_ handle: () -> Void) {
        // The answer to a poll may have a POST served that waits behind it.
        let isOutermost = !self.isWithinBatch
        self.isWithinBatch = true
        handle()
        guard isOutermost else { return }
        self.isWithinBatch = false
        self.watch()
    }

    /// Looks at the clock when something is due.
    private func watch() {
        guard !self.isWithinBatch else { return }
        assert(Growth.step())
        self.timer.set(self.engine.nextDeadline)
        if self.engine.isEnded { self.admission.set(nil) }
    }
}

extension EngineConnection: PlaceHolder {
    var placeKey: String { self.sid }
    var unusedSince: ContinuousClock.Instant? { self.isInUse ? nil : self.began }
}

// MARK: - Socket.IO

extension EngineConnection {
    private func deliver(_ message: WebSocketMessage) {
        guard self.use == .socketIO else { return self.echo(message) }
        switch self.socketIO.receive(message) {
        case nil: ()
        case .answer(let frames)?: self.send { _ in frames }
        case .connect(let name, let auth)?: self.enter(name, auth)
        case .left(let name)?: self.relays.removeValue(forKey: name)?.leave()
        case .say(let saying, let name)?: self.say(saying, in: name)
        case .violation?: self.act { $0.close() }
        }
    }

    private func echo(_ message: WebSocketMessage) {
        self.hasEchoed = true
        guard case .text(let text) = message else { return self.act { $0.send([message]) } }
        self.act { $0.send([.text([UInt8(ascii: "4")] + text)]) }
    }

    private func enter(_ name: String, _ auth: Payload?) {
        guard let hub = self.context.hubs[name],
            let request = self.request.linkRequest(auth: auth, path: name, self.context)
        else { return }
        let relay = HubRelay(self.context) { [weak self] event in self?.heard(event, in: name) }
        self.relays[name] = relay
        relay.enter(hub, request)
    }

    private func say(_ saying: HubRelay.Saying, in name: String) {
        guard let relay = self.relays[name], !relay.say(saying) else { return }
        self.act { $0.close() }
    }

    private func heard(_ event: LinkEvent, in name: String) {
        switch event {
        case .opened(let info): self.send { $0.accepted(name, sessionID: info.sessionID ?? self.sid) }
        case .message(let message): self.send { $0.message(name, message) }
        case .reply(let id, let payload): self.send { $0.reply(name, id, payload) }
        case .changed, .failed, .writable: ()
        case .closed(let error):
            guard error.code != .connectionLost else { return self.drop() }
            self.relays[name] = nil
            self.send { $0.ended(name, error) }
        }
    }

    private func send(_ encode: (inout SocketIOServerSession) -> [WebSocketMessage]) {
        let frames = encode(&self.socketIO)
        if !frames.isEmpty { self.act { $0.send(frames) } }
    }
}

/// The owner of a WebSocket that nobody needs.
private final class SpareWebSocket: ConnectionOwner {
    let unusedSince: ContinuousClock.Instant? = .now

    func received(_ next: () -> WebSocketMessage?, on connection: ServerConnection) { while next() != nil {} }
    func ended(_ connection: ServerConnection) {}
}

extension Duration {
    /// Whole milliseconds, at least one for what is not zero.
    fileprivate var milliseconds: Int { max(1, Int(self.nanoseconds / 1_000_000)) }
}
