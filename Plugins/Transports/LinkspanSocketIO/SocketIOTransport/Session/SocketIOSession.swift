internal import Linkspan
internal import LinkspanNetwork
internal import LinkspanRuntime

/// One Engine.IO connection with all its namespaces: frames and instants go in, frames to send and events come out.
///
/// The owner feeds it a received chunk frame by frame, takes the ``SocketIOOutput`` and acts on it. After each call
/// that may change them it looks at ``nextDeadline`` and ``activeNamespaces``.
struct SocketIOSession: Sendable {
    /// The server's handshake, once it has come.
    ///
    /// The first one stays when the server repeats itself.
    private(set) var handshake: EngineIOHandshake?

    private let limits: SocketIOLimits
    private let version: EngineIOVersion
    private var engine: EngineIOSession
    private var decoder: SocketIODecoder
    private let coding: SocketIOCoding
    /// Reads in place of `decoder`; nil for the protocol's own form.
    private var codecDecoder: Boxed<any SocketIOCodecDecoder>?
    private var namespaces = NamespaceTable()
    /// The namespace of the last packet: traffic mostly stays in one.
    private var latest = 0
    private var attachmentsDeadline: Moment?
    /// Whether the Engine.IO session is open; looked at for each frame.
    private var isOpen = false
    private var isClosed = false
    /// The state of `/` on servers of version 3: they admit every client to it unasked, once.
    private var main = MainNamespace.awaited

    private enum MainNamespace: Sendable { case awaited, open, left }

    /// Makes a session whose stream is up.
    ///
    /// - Parameters:
    ///   - limits: how much is accepted.
    ///   - openTimeout: how long the Engine.IO handshake may take.
    ///   - version: the version of Engine.IO, and with it that of Socket.IO.
    ///   - codec: what writes and reads packets; nil for the protocol's own form.
    ///   - now: the present.
    init(
        limits: SocketIOLimits = .usual, openTimeout: Duration, version: EngineIOVersion = .v4,
        codec: (any SocketIOCodec)? = nil, now: Moment
    ) {
        self.coding = SocketIOCoding(codec)
        self.codecDecoder = codec.map { Boxed($0.makeDecoder(maximumBytes: limits.maximumMessageBytes)) }
        self.limits = limits
        self.version = version
        self.engine = EngineIOSession(now: now, timeout: openTimeout, version: version)
        self.decoder = SocketIODecoder(limits: limits)
    }

    /// The number of namespaces that are joined.
    ///
    /// When none is, the engine has no purpose (S25).
    var activeNamespaces: Int { self.namespaces.activeCount }

    /// The instant at which ``timer(now:output:)`` has to be called next; nil when never.
    var nextDeadline: Moment? {
        [self.engine.nextDeadline, self.attachmentsDeadline, self.namespaces.nextDeadline].compactMap(\.self).min()
    }

    /// The most bytes that a packet over polling may have, as far as the server has said.
    var maximumPayload: Int { self.handshake?.maxPayload ?? .max }

    /// The instant at which the server's silence becomes the end; nil before the handshake and after the end.
    var heartbeatDeadline: Moment? { self.engine.heartbeatDeadline }

    /// Whether events and replies may be sent in a namespace.
    func isConnected(_ index: Int) -> Bool {
        self.namespaces.indices.contains(index) && self.namespaces[index].isConnected
    }

    /// The values for the next join of a namespace on another engine; nil when the server offers no recovery.
    func recovery(of index: Int) -> SocketIORecovery? {
        self.namespaces.indices.contains(index) ? self.namespaces[index].recovery : nil
    }

    /// Joins a namespace, at once or as soon as the engine is open.
    ///
    /// - Parameters:
    ///   - namespace: which one.
    ///   - auth: who we are; its first argument has to be an object without attachments.
    ///   - recovery: what the last session of the namespace left, to resume it.
    ///   - timeout: how long the answer to CONNECT may take.
    ///   - now: the present.
    ///   - output: where the CONNECT goes.
    /// - Returns: the index under which the namespace's events are delivered. Joining again after the end gives the
    ///   same, unless it was released and another name has got it.
    /// - Throws: ``LinkspanError`` with code `wrongState` when the engine has ended, or the namespace is joined, or a
    ///   former CONNECT is still unanswered: another engine is needed then. Code `invalidConfiguration` for another
    ///   auth.
    mutating func join(
        _ namespace: SocketIONamespace, auth: Payload? = nil, recovery: SocketIORecovery? = nil,
        timeout: Duration = .seconds(10), now: Moment, output: inout SocketIOOutput
    ) throws(LinkspanError) -> Int {
        guard !self.isClosed else { throw LinkspanError(.wrongState, "the connection has ended") }
        let auth = try Self.object(auth)
        guard namespace != .main || self.main != .left else {
            throw LinkspanError(.wrongState, "duplicate CONNECT for namespace \"/\"")
        }
        let index: Int
        if let known = self.namespaces.index(of: namespace) {
            guard !self.namespaces[known].isActive, !self.namespaces[known].isAbandoned else {
                throw LinkspanError(.wrongState, "the namespace is already in use on this connection")
            }
            index = known
        } else {
            index = self.namespaces.nextIndex
            self.namespaces.put(
                NamespaceSession(
                    namespace, index: index, version: self.version, coding: self.coding, limits: self.limits),
                at: index)
        }
        try self.namespaces[index].join(auth: auth, recovery: recovery, timeout: timeout)
        if self.engine.isOpen { self.sendConnect(index, now: now, output: &output) }
        return index
    }

    /// The number of the first acknowledgement that the owner of a namespace may ask for.
    func firstAck(of index: Int) -> UInt64 { self.namespaces[index].firstAck }

    /// Forgets a namespace whose owner has been told of its end, and which asked for acknowledgements below `nextAck`: the
    /// index may become that of another name.
    mutating func release(_ index: Int, nextAck: UInt64) {
        guard self.namespaces.indices.contains(index) else { return }
        self.namespaces[index].skipAcks(below: nextAck)
        self.namespaces[index].release()
    }

    /// Leaves a namespace: says goodbye where that is possible, and delivers `closed` with the reason.
    ///
    /// Impolitely, the next join may resume it, unless it was given up in the midst of a replay; `isReceiving` says
    /// whether a frame has come in part.
    mutating func leave(
        _ index: Int, reason: LinkspanError, politely: Bool = true, isReceiving: Bool = false,
        output: inout SocketIOOutput
    ) {
        guard self.namespaces.indices.contains(index) else { return }
        self.namespaces[index].leave(
            reason, politely: politely, isReceiving: isReceiving || self.decoder.isCollecting, output: &output)
        if self.version == .v3, self.namespaces[index].namespace == .main { self.main = .left }
    }

    /// Gives a namespace up together with the stream, which is about to end.
    mutating func giveUp(_ index: Int, reason: LinkspanError, isReceiving: Bool, output: inout SocketIOOutput) {
        self.namespaces[index].giveUpReplay(isReceiving: isReceiving || self.decoder.isCollecting)
        self.streamClosed(reason, output: &output)
    }

    /// Takes a text frame.
    mutating func receive(text: ArraySlice<UInt8>, now: Moment, output: inout SocketIOOutput) {
        guard !self.isClosed else { return }
        // The commonest case first: it needs neither the codec of Engine.IO nor its clock.
        if self.isOpen, text.first == UInt8(ascii: "4") {
            return self.handle(in: text, behind: 1, now: now, output: &output)
        }
        output.hasNewDeadlines = true
        self.handle(self.engine.receive(text: text, now: now), now: now, output: &output)
    }

    /// Takes a binary frame.
    mutating func receive(binary: ArraySlice<UInt8>, now: Moment, output: inout SocketIOOutput) {
        guard !self.isClosed else { return }
        output.hasNewDeadlines = true
        self.handle(self.engine.receive(binary: binary, now: now), now: now, output: &output)
    }

    /// Whether the next attachment of a packet is overdue.
    func isAttachmentOverdue(now: Moment) -> Bool {
        self.attachmentsDeadline.map { $0 <= now } ?? false
    }

    /// Restarts the attachment timeout.
    mutating func putOffAttachment(now: Moment) {
        self.attachmentsDeadline = now.advanced(by: self.limits.attachmentsTimeout)
    }

    /// Something has come at that moment, whatever it was: the server lives.
    mutating func heard(at instant: Moment) { self.engine.heard(at: instant) }

    /// Looks at the clock: ends what is overdue; `isReceiving` says whether a frame has come in part.
    mutating func timer(now: Moment, isReceiving: Bool = false, output: inout SocketIOOutput) {
        guard !self.isClosed else { return }
        switch self.engine.timer(now: now) {
        case .nothing: ()
        case .sendPing: output.send { $0.append(UInt8(ascii: "2")) }
        case .end(let error): return self.close(error, output: &output)
        }
        if self.isAttachmentOverdue(now: now) {
            let violation = SocketIOProtocolError(
                .attachmentsOverdue, "the attachments of a packet did not arrive in time")
            return self.close(LinkspanError(violation), output: &output)
        }
        guard let deadline = self.namespaces.nextDeadline, deadline <= now else { return }
        let isReceiving = isReceiving || self.decoder.isCollecting
        for index in self.namespaces.indices {
            self.namespaces[index].timer(now: now, isReceiving: isReceiving, output: &output)
        }
    }

    /// The stream has ended by itself.
    ///
    /// The session takes nothing more, and asks for nothing to be closed.
    mutating func streamClosed(_ error: LinkspanError, output: inout SocketIOOutput) {
        guard !self.isClosed else { return }
        self.end(error, output: &output)
    }
}

extension SocketIOSession {
    private mutating func handle(
        _ receipt: EngineIOSession.Receipt, now: Moment, output: inout SocketIOOutput
    ) {
        switch receipt {
        case .text(let text):
            self.handle(in: text, behind: 0, now: now, output: &output)
        case .binary(let data):
            self.handle(binary: data, now: now, output: &output)
        case .nothing:
            ()
        case .pong(let roundTrip):
            output.heartbeat = .answered(roundTrip)
        case .answerPong:
            output.heartbeat = .heard
            output.send { $0.append(UInt8(ascii: "3")) }
        case .opened(let handshake):
            self.handshake = handshake
            self.isOpen = true
            for index in self.namespaces.indices { self.sendConnect(index, now: now, output: &output) }
        case .close(let error):
            self.close(error, output: &output)
        }
    }

    /// Takes a message in text.
    ///
    /// - Parameters:
    ///   - frame: the frame.
    ///   - type: the bytes of the Engine.IO type before the message.
    ///   - now: the present.
    ///   - output: where events and frames go.
    @inline(__always)
    private mutating func handle(
        in frame: ArraySlice<UInt8>, behind type: Int, now: Moment, output: inout SocketIOOutput
    ) {
        if self.codecDecoder != nil { return self.decode(.text(frame.dropFirst(type)), now: now, output: &output) }
        do throws(SocketIOProtocolError) {
            let body = try self.decoder.check(text: frame, behind: type)
            if let event = try body.plainEvent(frame, behind: type) {
                guard let index = self.index(of: body.header.namespace, in: frame, behind: type) else { return }
                return self.namespaces.receive(event, at: index, now: now, output: &output)
            }
            let text = frame.dropFirst(type)
            if let packet = try self.decoder.finish(body, text) {
                return self.dispatch(packet, now: now, output: &output)
            }
            // Nothing complete: perhaps the first part of a packet whose attachments are now awaited.
            if self.decoder.isCollecting {
                output.hasNewDeadlines = true
                self.putOffAttachment(now: now)
            }
        } catch {
            self.close(LinkspanError(error), output: &output)
        }
    }

    private mutating func handle(
        binary data: ArraySlice<UInt8>, now: Moment, output: inout SocketIOOutput
    ) {
        if self.codecDecoder != nil { return self.decode(.binary(data), now: now, output: &output) }
        do throws(SocketIOProtocolError) {
            guard let packet = try self.decoder.receive(binary: data) else { return self.putOffAttachment(now: now) }
            self.attachmentsDeadline = nil
            self.dispatch(packet, now: now, output: &output)
        } catch {
            self.close(LinkspanError(error), output: &output)
        }
    }

    /// Reads a message by the codec of the app.
    private mutating func decode(
        _ message: WebSocketMessage, now: Moment, output: inout SocketIOOutput
    ) {
        do {
            guard let packet = try self.codecDecoder?.value.decode(message) else { return }
            self.dispatch(try SocketIOPacket(packet), now: now, output: &output)
        } catch let error as LinkspanError {
            self.close(error, output: &output)
        } catch let error as SocketIOProtocolError {
            self.close(LinkspanError(error), output: &output)
        } catch {
            self.close(LinkspanError(.protocolViolation, "the codec cannot read a packet"), output: &output)
        }
    }

    private mutating func dispatch(
        _ packet: SocketIOPacket, now: Moment, output: inout SocketIOOutput
    ) {
        switch packet {
        case .event(let namespace, let message):
            guard let index = self.index(of: namespace) else { return }
            self.namespaces.receive(message, at: index, now: now, output: &output)
        case .ack(let namespace, let id, let payload):
            guard let index = self.index(of: namespace) else { return }
            self.namespaces[index].receive(ack: id, payload, output: &output)
        case .connect(let namespace, let payload):
            if self.version == .v3, namespace.isEmpty, self.main == .awaited { self.main = .open }
            guard let index = self.index(of: namespace) else { return }
            self.namespaces[index].receiveConnect(payload, now: now, output: &output)
        case .connectError(let namespace, let payload):
            guard let index = self.index(of: namespace) else { return }
            self.namespaces[index].receiveConnectError(payload, output: &output)
        case .disconnect(let namespace):
            guard let index = self.index(of: namespace) else { return }
            self.namespaces[index].receiveDisconnect(output: &output)
            if self.version == .v3, self.namespaces[index].namespace == .main { self.main = .left }
        }
    }

    /// The namespace of a packet that names it there; nil for one that was never joined.
    @inline(__always)
    private mutating func index(of range: Range<Int>, in frame: ArraySlice<UInt8>, behind type: Int) -> Int? {
        if range.isEmpty, self.latest < self.namespaces.count, self.namespaces[self.latest].namespace.isMain {
            return self.latest
        }
        return self.index(of: frame.dropFirst(type + range.lowerBound).prefix(range.count))
    }

    /// Finds a packet's namespace; nil for one that was never joined, whose packets are ignored (S27).
    private mutating func index(of written: ArraySlice<UInt8>) -> Int? {
        // Version 3 may repeat the query with which a namespace was joined.
        let written = self.version == .v3 ? written.prefix { $0 != UInt8(ascii: "?") } : written
        if self.latest < self.namespaces.count, self.namespaces[self.latest].namespace.matches(written) {
            return self.latest
        }
        guard let found = self.namespaces.index(of: written) else { return nil }
        self.latest = found
        return found
    }

    private mutating func sendConnect(_ index: Int, now: Moment, output: inout SocketIOOutput) {
        output.hasNewDeadlines = true
        self.namespaces[index].sendConnect(engineID: self.handshake?.sid ?? "", now: now, output: &output)
        // The server's consent came before anybody wanted in.
        guard self.main == .open, self.namespaces[index].namespace == .main else { return }
        self.namespaces[index].receiveConnect(.empty, now: now, output: &output)
    }

    private mutating func close(_ error: LinkspanError, output: inout SocketIOOutput) {
        self.end(error, output: &output)
        output.close = error
    }

    private mutating func end(_ error: LinkspanError, output: inout SocketIOOutput) {
        (self.isOpen, self.isClosed) = (false, true)
        self.engine.close()
        self.decoder.reset()
        self.attachmentsDeadline = nil
        for index in self.namespaces.indices { self.namespaces[index].streamClosed(error, output: &output) }
    }

    /// The text of an auth payload; the official server drops the connection over anything but an object.
    private static func object(_ auth: Payload?) throws(LinkspanError) -> ArraySlice<UInt8> {
        guard let auth, !auth.isEmpty else { return [] }
        guard let value = auth[0], value.text.first == UInt8(ascii: "{"), auth[1] == nil, auth.attachments.isEmpty
        else {
            throw LinkspanError(
                .invalidConfiguration, "the auth payload of Socket.IO has to be one object without binary values")
        }
        return value.text
    }
}
