internal import DequeModule
internal import LinkspanNetwork
internal import LinkspanSocketIO

/// The server's end of one Engine.IO v4 session: what to answer, send, deliver and end for each thing that happens.
///
/// ```text
///         a WebSocket with its sid     probe, answered        upgrade packet
/// polling ─────────────────────► trying ───────────► probed ───────────► webSocket
///    ▲   its end, or its time is up │                   │
///    └──────────────────────────────┴───────────────────┘
/// ```
struct EngineServerSession: Sendable {
    struct Timing: Sendable, Hashable {
        /// The time between a pong and the next ping.
        var pingInterval: Duration
        /// The time limit for the client's pong.
        var pingTimeout: Duration
        /// The time that a WebSocket may be tried beside the polling, as in Engine.IO.
        var upgradeTimeout = Duration.seconds(10)
    }

    enum Effect: Sendable {
        /// Answer the GET that waits.
        case answerPoll([WebSocketMessage])
        /// Send over the WebSocket that carries the session, or that is being tried.
        case send(WebSocketMessage)
        /// A message of the client's, in text or binary.
        case deliver(WebSocketMessage)
        /// The WebSocket that was tried is not to be one any more.
        case dropTried
        /// The session is over: drop all that carries it.
        case end(Ending)
    }

    enum Ending: Sendable, Hashable {
        case closedByClient, heartbeatMissed, violation, overflow
    }

    /// The most packets that answer a poll: python-engineio's clients take no more (its `Payload.max_decode_packets`).
    private static let packetsAPoll = 16

    private enum Carrier: Sendable {
        case polling, trying, probed, webSocket
        case ended(Ending)
    }

    let timing: Timing
    private let maximumWaiting: Int
    private var carrier: Carrier
    private var isPolled = false
    private var waiting: Deque<WebSocketMessage> = []
    /// The size of what waits for a poll.
    private(set) var waitingBytes = 0
    private var nextPing: ContinuousClock.Instant?
    private var pongDue: ContinuousClock.Instant?
    private var upgradeDue: ContinuousClock.Instant?

    /// Makes a session that has just begun.
    ///
    /// - Parameters:
    ///   - timing: the heartbeat and the limit for upgrades.
    ///   - overWebSocket: whether it begins on a WebSocket.
    ///   - maximumWaiting: the most bytes that wait for a poll.
    ///   - now: the present.
    init(timing: Timing, overWebSocket: Bool, maximumWaiting: Int, now: ContinuousClock.Instant) {
        self.timing = timing
        self.maximumWaiting = maximumWaiting
        self.carrier = overWebSocket ? .webSocket : .polling
        self.nextPing = now + timing.pingInterval
    }

    /// Whether GETs and POSTs are still part of it.
    var isPolling: Bool {
        switch self.carrier {
        case .polling, .trying, .probed: true
        case .webSocket, .ended: false
        }
    }

    /// Whether the client may have paused its polls to change to a WebSocket.
    var isChanging: Bool { if case .probed = self.carrier { true } else { false } }

    /// The manner of its end; nil while it lives.
    var ending: Ending? { if case .ended(let ending) = self.carrier { ending } else { nil } }

    var isEnded: Bool { self.ending != nil }

    /// The instant at which ``timer(now:)`` is to be called.
    var nextDeadline: ContinuousClock.Instant? {
        guard !self.isEnded else { return nil }
        return [self.nextPing, self.pongDue, self.upgradeDue].compactMap { $0 }.min()
    }

    // MARK: Polling

    /// A GET has come; false when it is none of this session's: it has been upgraded, or this GET is one too many, after
    /// which the session has ended.
    mutating func poll() -> (isTaken: Bool, effects: [Effect]) {
        guard self.isPolling else { return (false, []) }
        guard !self.isPolled else { return (false, self.end(.violation)) }
        self.isPolled = true
        return (true, self.flush())
    }

    /// The GET that waited is gone without an answer: what was to come is lost with it.
    mutating func pollLost() -> [Effect] { self.isPolled ? self.end(.closedByClient) : [] }

    // MARK: WebSocket

    /// A WebSocket asks to take over; returns whether it may try.
    mutating func tryWebSocket(now: ContinuousClock.Instant) -> Bool {
        guard case .polling = self.carrier else { return false }
        self.carrier = .trying
        self.upgradeDue = now + self.timing.upgradeTimeout
        return true
    }

    /// A frame has come on the WebSocket.
    mutating func webSocketReceived(_ frame: WebSocketMessage, now: ContinuousClock.Instant) -> [Effect] {
        switch self.carrier {
        case .webSocket: return self.received(frame, now: now)
        case .trying:
            guard case .ping(let data)? = Self.packet(frame), data.elementsEqual("probe".utf8) else {
                return self.giveUp()
            }
            self.carrier = .probed
            return [.send(.text(Array("3probe".utf8)[...]))] + self.flush()
        case .probed:
            guard case .upgrade? = Self.packet(frame) else { return self.giveUp() }
            self.carrier = .webSocket
            self.upgradeDue = nil
            // No poll waits: since the probe each was answered at once.
            return self.takeWaiting().map { .send($0) }
        case .polling, .ended: return []
        }
    }

    /// The WebSocket has ended.
    mutating func webSocketLost() -> [Effect] {
        switch self.carrier {
        case .trying, .probed: self.giveUp()
        case .webSocket: self.end(.closedByClient)
        case .polling, .ended: []
        }
    }

    // MARK: Sending and time

    /// Sends packets, with nothing in between.
    mutating func send(_ packets: [WebSocketMessage]) -> [Effect] {
        switch self.carrier {
        case .ended: return []
        case .webSocket: return packets.map { .send($0) }
        case .polling, .trying, .probed:
            self.waiting += packets
            self.waitingBytes += packets.reduce(0) { $0 + PollingPayload.length(of: $1) }
            guard self.waitingBytes <= self.maximumWaiting else { return self.end(.overflow) }
            return self.flush()
        }
    }

    mutating func timer(now: ContinuousClock.Instant) -> [Effect] {
        guard !self.isEnded else { return [] }
        if let due = self.pongDue, now >= due { return self.end(.heartbeatMissed) }
        var effects: [Effect] = []
        if let due = self.upgradeDue, now >= due { effects += self.giveUp() }
        if let due = self.nextPing, now >= due {
            self.nextPing = nil
            self.pongDue = now + self.timing.pingTimeout
            effects += self.send([.text(Array("2".utf8)[...])])
        }
        return effects
    }

    /// Ends it from this side.
    mutating func close() -> [Effect] { self.end(.violation) }
}

extension EngineServerSession {
    private static let noop = WebSocketMessage.text(Array("6".utf8)[...])
    private static let close = WebSocketMessage.text(Array("1".utf8)[...])

    private static func packet(_ frame: WebSocketMessage) -> EngineIOPacket? {
        switch frame {
        case .text(let text): try? EngineIOPacket(text: text)
        case .binary(let data): .binary(data)
        }
    }

    /// A packet has come: in a POST, or on the WebSocket that carries the session.
    mutating func received(_ frame: WebSocketMessage, now: ContinuousClock.Instant) -> [Effect] {
        guard !self.isEnded else { return [] }
        switch Self.packet(frame) {
        case .message(let text): return [.deliver(.text(text))]
        case .binary(let data): return [.deliver(.binary(data))]
        case .pong:
            // One that answers no ping says nothing.
            guard self.pongDue != nil else { return [] }
            self.pongDue = nil
            self.nextPing = now + self.timing.pingInterval
            return []
        case .close: return self.end(.closedByClient)
        case .noop, .upgrade: return []
        // A ping in the wrong direction is an error to the reference, too.
        case .ping, .open, nil: return self.end(.violation)
        }
    }

    /// Answers the GET that waits, when there is something for it.
    private mutating func flush() -> [Effect] {
        guard self.isPolled, self.isPolling else { return [] }
        if !self.waiting.isEmpty {
            self.isPolled = false
            let packets = Array(self.waiting.prefix(Self.packetsAPoll))
            self.waiting.removeFirst(packets.count)
            self.waitingBytes -= packets.reduce(0) { $0 + PollingPayload.length(of: $1) }
            return [.answerPoll(packets)]
        }
        // The client waits for its last GET before it goes over to the WebSocket.
        guard case .probed = self.carrier else { return [] }
        self.isPolled = false
        return [.answerPoll([Self.noop])]
    }

    private mutating func takeWaiting() -> Deque<WebSocketMessage> {
        self.waitingBytes = 0
        return exchange(&self.waiting, with: [])
    }

    private mutating func giveUp() -> [Effect] {
        self.carrier = .polling
        self.upgradeDue = nil
        return [.dropTried]
    }

    private mutating func end(_ ending: Ending) -> [Effect] {
        guard !self.isEnded else { return [] }
        self.carrier = .ended(ending)
        var effects: [Effect] = []
        if self.isPolled {
            self.isPolled = false
            // A client that says goodbye has its last poll answered; others get an error for an unknown session.
            effects.append(.answerPoll([ending == .closedByClient ? Self.noop : Self.close]))
        }
        _ = self.takeWaiting()
        return effects + [.end(ending)]
    }
}
