internal import Linkspan
internal import LinkspanRuntime

/// The client's side of one Engine.IO session: handshake, heartbeat, end.
///
/// In version 4 the server pings and the client answers (E06); the client itself never pings, because the server takes
/// that for a violation (E07). In version 3 it is the other way round (C01). Whatever comes proves that the server lives,
/// a part of a large message included, which the owner tells by ``heard(at:)``.
struct EngineIOSession: Sendable {
    /// The meaning of a received frame for the owner.
    enum Receipt: Sendable {
        /// Nothing to do.
        case nothing
        /// The session is open.
        case opened(EngineIOHandshake)
        /// Send a pong, at once.
        case answerPong
        /// The answer to a ping of ours, after this time.
        case pong(after: Duration)
        /// A message in text.
        case text(ArraySlice<UInt8>)
        /// A message in binary.
        case binary(ArraySlice<UInt8>)
        /// The session has ended: drop the stream.
        case close(LinkspanError)
    }

    /// The control packets (everything but messages) of one second that are borne.
    static let maximumControlRate = 50

    private enum State: Sendable {
        case awaitingOpen(deadline: Moment)
        case open(Heartbeat)
        case closed
    }

    private let version: EngineIOVersion
    private var state: State
    private var controlWindowEnd: Moment
    private var controlCount = 0

    /// Makes a session whose stream is up.
    ///
    /// - Parameters:
    ///   - now: the present.
    ///   - timeout: how long the open packet may take.
    ///   - version: the version of Engine.IO.
    init(now: Moment, timeout: Duration, version: EngineIOVersion = .v4) {
        self.version = version
        self.state = .awaitingOpen(deadline: now.advanced(by: timeout))
        self.controlWindowEnd = now
    }

    /// Whether messages may be sent.
    var isOpen: Bool {
        if case .open = self.state { true } else { false }
    }

    /// The instant at which ``timer(now:)`` has to be called next; nil when never.
    var nextDeadline: Moment? {
        switch self.state {
        case .awaitingOpen(let deadline): deadline
        case .open(let heartbeat): heartbeat.due
        case .closed: nil
        }
    }

    /// The instant at which the server's silence becomes the end; nil before the handshake and after the end.
    var heartbeatDeadline: Moment? {
        if case .open(let heartbeat) = self.state { heartbeat.end } else { nil }
    }

    /// Takes a text frame.
    mutating func receive(text: ArraySlice<UInt8>, now: Moment) -> Receipt {
        do throws(SocketIOProtocolError) {
            return try self.receive(EngineIOPacket(text: text), now: now)
        } catch {
            return self.fail(error, by: text)
        }
    }

    /// Takes a binary frame.
    mutating func receive(binary: ArraySlice<UInt8>, now: Moment) -> Receipt {
        do throws(SocketIOProtocolError) {
            return try self.receive(EngineIOPacket(binary: binary), now: now)
        } catch {
            return self.fail(error, by: binary)
        }
    }

    /// Something has come, whatever it was.
    mutating func heard(at instant: Moment) {
        guard case .open(var heartbeat) = self.state else { return }
        heartbeat.heard(at: instant)
        self.state = .open(heartbeat)
    }

    /// Looks at the clock.
    mutating func timer(now: Moment) -> Heartbeat.TimerOutcome {
        switch self.state {
        case .awaitingOpen(let deadline) where now >= deadline:
            self.state = .closed
            return .end(LinkspanError(.timedOut, "the server did not send the Engine.IO handshake in time"))
        case .open(var heartbeat):
            let outcome = heartbeat.timer(now: now)
            if case .end = outcome { self.state = .closed } else { self.state = .open(heartbeat) }
            return outcome
        case .awaitingOpen, .closed:
            return .nothing
        }
    }

    /// Ends the session: the stream is gone or not wanted any more.
    mutating func close() { self.state = .closed }
}

extension EngineIOSession {
    private mutating func receive(
        _ packet: EngineIOPacket, now: Moment
    ) throws(SocketIOProtocolError) -> Receipt {
        switch self.state {
        case .closed:
            return .nothing
        case .awaitingOpen:
            guard case .open(let json) = packet else {
                throw SocketIOProtocolError(.notOpen, "the first Engine.IO packet is not the handshake")
            }
            let handshake = try EngineIOHandshake(json: json)
            self.open(handshake, now: now)
            return .opened(handshake)
        case .open(let heartbeat):
            switch packet {
            case .message(let text): return .text(text)
            case .binary(let data): return .binary(data)
            case .open, .close, .ping, .pong, .upgrade, .noop:
                return try self.receiveControl(packet, heartbeat, now: now)
            }
        }
    }

    private mutating func receiveControl(
        _ packet: EngineIOPacket, _ heartbeat: Heartbeat, now: Moment
    ) throws(SocketIOProtocolError) -> Receipt {
        try self.countControl(now: now)
        var heartbeat = heartbeat
        switch packet {
        case .ping:
            heartbeat.heardPing(now: now)
            self.state = .open(heartbeat)
            return .answerPong
        case .pong:
            let roundTrip = heartbeat.heardPong(now: now)
            self.state = .open(heartbeat)
            return roundTrip.map { .pong(after: $0) } ?? .nothing
        case .open(let json):
            // The reference lets a second handshake replace the timings of the first.
            self.open(try EngineIOHandshake(json: json), now: now)
            return .nothing
        case .close:
            // Some servers send this and then leave the stream open, so its end is not waited for.
            return self.fail(LinkspanError(.connectionLost, "the server closed the Engine.IO session"))
        case .upgrade, .noop, .message, .binary:
            // Out of turn, but without a meaning that could do harm; the reference ignores them too.
            return .nothing
        }
    }

    private mutating func open(_ handshake: EngineIOHandshake, now: Moment) {
        self.state = .open(Heartbeat(handshake, version: self.version, now: now))
    }

    private mutating func countControl(now: Moment) throws(SocketIOProtocolError) {
        if now >= self.controlWindowEnd {
            self.controlWindowEnd = now.advanced(by: .seconds(1))
            self.controlCount = 0
        }
        self.controlCount += 1
        guard self.controlCount <= Self.maximumControlRate else {
            throw SocketIOProtocolError(
                .controlFlood,
                "more control packets came in a second than the \(Self.maximumControlRate) that are accepted here")
        }
    }

    /// Ends the session because of a frame; a first one that is no handshake comes from a server of another protocol.
    private mutating func fail(_ violation: SocketIOProtocolError, by frame: ArraySlice<UInt8>) -> Receipt {
        guard case .awaitingOpen = self.state, violation.code != .badHandshake else {
            return self.fail(LinkspanError(violation))
        }
        // A query that the server repeats may hold secrets.
        let quote = ForeignText.line(
            String(decoding: frame.prefix(64).prefix { $0 != UInt8(ascii: "?") }, as: UTF8.self), limit: 40)
        return self.fail(
            LinkspanError(
                .protocolViolation, "the server does not speak Socket.IO: it sent '\(quote)'", cause: violation))
    }

    private mutating func fail(_ error: LinkspanError) -> Receipt {
        self.state = .closed
        return .close(error)
    }
}
