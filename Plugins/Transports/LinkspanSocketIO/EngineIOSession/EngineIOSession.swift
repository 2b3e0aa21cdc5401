internal import Linkspan
internal import LinkspanNetwork
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

    private let version: EngineIOVersion
    /// The time limit for the open packet; nil once it has come or the session has ended.
    private var openDeadline: Moment?
    /// Nil before the open packet and after the end.
    private var heartbeat: Heartbeat?
    private var control = ControlRate()

    /// Makes a session whose stream is up.
    ///
    /// - Parameters:
    ///   - now: the present.
    ///   - timeout: how long the open packet may take.
    ///   - version: the version of Engine.IO.
    init(now: Moment, timeout: Duration, version: EngineIOVersion = .v4) {
        self.version = version
        self.openDeadline = now.advanced(by: timeout)
    }

    /// Whether messages may be sent.
    var isOpen: Bool { self.heartbeat != nil }

    /// The instant at which ``timer(now:)`` has to be called next; nil when never.
    var nextDeadline: Moment? { self.heartbeat?.due ?? self.openDeadline }

    /// The instant at which the server's silence becomes the end; nil before the handshake and after the end.
    var heartbeatDeadline: Moment? { self.heartbeat?.end }

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
    mutating func heard(at instant: Moment) { self.heartbeat?.heard(at: instant) }

    /// Looks at the clock.
    mutating func timer(now: Moment) -> Heartbeat.TimerOutcome {
        if let deadline = self.openDeadline, now >= deadline {
            self.close()
            return .end(LinkspanError(.timedOut, "the server did not send the Engine.IO handshake in time"))
        }
        let outcome = self.heartbeat?.timer(now: now) ?? .nothing
        if case .end = outcome { self.close() }
        return outcome
    }

    /// Ends the session: the stream is gone or not wanted any more.
    mutating func close() { (self.openDeadline, self.heartbeat) = (nil, nil) }
}

extension EngineIOSession {
    private mutating func receive(
        _ packet: EngineIOPacket, now: Moment
    ) throws(SocketIOProtocolError) -> Receipt {
        guard self.isOpen else {
            guard self.openDeadline != nil else { return .nothing }
            guard case .open(let json) = packet else {
                throw SocketIOProtocolError(.notOpen, "the first Engine.IO packet is not the handshake")
            }
            let handshake = try EngineIOHandshake(json: json)
            self.open(handshake, now: now)
            return .opened(handshake)
        }
        switch packet {
        case .message(let text): return .text(text)
        case .binary(let data): return .binary(data)
        case .open, .close, .ping, .pong, .upgrade, .noop: try self.countControl(now: now)
        }
        switch packet {
        case .ping:
            self.heartbeat?.heardPing(now: now)
            return .answerPong
        case .pong: return (self.heartbeat?.heardPong(now: now)).map { .pong(after: $0) } ?? .nothing
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
        (self.openDeadline, self.heartbeat) = (nil, Heartbeat(handshake, version: self.version, now: now))
    }

    private mutating func countControl(now: Moment) throws(SocketIOProtocolError) {
        guard !self.control.isFlooded(by: 1, most: Self.maximumControlRate, now: now) else {
            throw SocketIOProtocolError(
                .controlFlood,
                "more control packets came in a second than the \(Self.maximumControlRate) that are accepted here")
        }
    }

    /// Ends the session because of a frame; a first one that is no handshake comes from a server of another protocol.
    private mutating func fail(_ violation: SocketIOProtocolError, by frame: ArraySlice<UInt8>) -> Receipt {
        guard self.openDeadline != nil, violation.code != .badHandshake else {
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
        self.close()
        return .close(error)
    }
}
