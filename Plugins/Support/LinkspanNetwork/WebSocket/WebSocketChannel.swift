package import Linkspan
package import LinkspanRuntime
package import LinkspanWebSocketProtocol

/// A WebSocket connection to a server: the codec of `LinkspanWebSocketProtocol` over a stream of a ``NetworkLoop``.
///
/// It lives on the loop, where all its methods are called. Sending encodes straight into the stream's buffer; received
/// messages are handed over once for each read.
package final class WebSocketChannel {
    /// The most that is read of a server that broke the protocol, so that our Close frame reaches it.
    private static let farewellBytes = 1 << 20
    /// The time limit for closing, from our Close frame to the end of the stream.
    private static let closeDeadline = Duration.seconds(5)
    /// The most pings and pongs that are borne in a second; honest peers send one in many.
    private static let mostControlFrames = 200
    private static let controlExcess =
        "more control frames came in a second than the \(mostControlFrames) that are accepted here"
    /// The time for reading what has arrived when an answer to a ping is overdue.
    private static let lastLook = Duration.milliseconds(10)

    /// Nil once the stream is open.
    private var handshake: Boxed<ClientHandshake>?
    private let terms: WebSocketTerms
    private let handler: any WebSocketChannelHandler
    private let loop: any NetworkLoop
    /// Nil after its end.
    @exclusivity(unchecked) private var owned: Owned<any ByteStream>?
    // Its methods call nobody but the writers of messages, which only append, so that no access meets another.
    @exclusivity(unchecked) private var session: WebSocketSession
    /// The bytes behind the handshake that may be the start of a refusal.
    private var refusalStart = RefusalStart()
    /// Whether messages may be sent, as far as the handshake and the end of the stream go.
    private var isOpen = false
    private var ending = Ending()
    private var timers = WebSocketTimers()
    // Counted with each message; its methods call nobody.
    @exclusivity(unchecked) private var liveness = Liveness()
    private var control = ControlRate()
    /// Whether the owner wants nothing to be read.
    private var isPaused = false
    // Counted with each message, which calls nobody.
    @exclusivity(unchecked) private var messages = 0
    // Looked at for each message; its methods call nobody.
    @exclusivity(unchecked) private var inflation = InflationBudget()

    /// How far the channel has come with ending.
    private struct Ending {
        var reason: Boxed<WebSocketEnd>?
        /// Whether the handler knows of the end.
        var isTold = false
        /// The end of the stream while messages waited.
        var ofStream: Boxed<ByteStreamError>?
        /// The bytes that may still come after our Close frame; nil before it.
        var room: Int?
    }

    /// Makes a channel, and begins to connect.
    ///
    /// - Parameters:
    ///   - request: the upgrade request without the headers of the WebSocket handshake.
    ///   - subprotocols: the sub-protocols to offer, the preferred first.
    ///   - compression: the compression to offer; nil for none.
    ///   - terms: the channel's terms.
    ///   - loop: the loop that it lives on.
    ///   - handler: the receiver of its events.
    package init(
        _ request: StreamRequest, subprotocols: [String] = [], compression: WebSocketCompression? = nil,
        terms: WebSocketTerms = .init(), on loop: any NetworkLoop, handler: any WebSocketChannelHandler
    ) {
        self.terms = terms
        self.handler = handler
        self.loop = loop
        self.session = WebSocketSession(role: .client, limits: terms.limits, masks: .system)
        (self.session.answersPings, self.session.reportsPings) = (terms.answersPings, terms.reportsControl)
        do throws(WebSocketProtocolError) {
            let handshake = try ClientHandshake(
                nonce: (.random(in: .min ... .max), .random(in: .min ... .max)), subprotocols: subprotocols,
                compression: compression)
            self.handshake = Boxed(handshake)
            var request = request
            request.headers = handshake.headers + request.headers
            request.highWaterMark = terms.highWaterMark
            // A stream that was full is to report that it is writable, so it has to have been above its low-water mark.
            request.lowWaterMark = min(request.lowWaterMark, terms.highWaterMark)
            self.stream = loop.connect(request, handler: self)
        } catch {
            let end = ByteStreamError(.invalidRequest, error.message)
            loop.executeLocally { self.closed(end) }
        }
    }

    /// The time of the latest arrival, parts of messages included.
    package var lastHeard: Moment? { self.liveness.lastHeard }

    private var isBehind: Bool { self.inflation.pause != nil }

    private var stream: (any ByteStream)? {
        get { self.owned?.object }
        set { self.owned = newValue.map { Owned($0) } }
    }

    /// Lets four intervals pass between two pings instead of one, or one again.
    package func saveData(_ savesData: Bool) { self.timers.savesData = savesData }

    /// The bytes that wait to be sent, because the system has not taken them yet.
    package var pendingBytes: Int { self.stream?.pendingBytes ?? 0 }

    /// Whether a message has begun to come and is not complete, or nothing is read for now.
    package var isReceiving: Bool { self.isPaused || self.isBehind || self.session.unfinishedBytes != nil }

    /// The step that opening is waiting for; nil when it waits for none.
    package var openingStage: OpeningStage? { self.stream?.openingStage }

    /// Sends a message whose payload `write` writes, and binary messages right behind it with nothing between.
    ///
    /// - Parameters:
    ///   - opcode: text or binary; the bytes of a text must be UTF-8.
    ///   - length: the bytes of the payload.
    ///   - attachments: the binary messages that follow.
    ///   - isCompressible: whether they may be compressed, where that was agreed on.
    ///   - write: writes the payload.
    /// - Returns: `acceptedAndFull` above the high-water mark of the request; `refused` when the channel is not open.
    package func send(
        _ opcode: Opcode, length: Int, attachments: [ArraySlice<UInt8>] = [], isCompressible: Bool = true,
        write: (inout ByteWriter) -> Void
    ) -> SendAcceptance {
        guard self.isOpen else { return .refused }
        switch self.owned {
        case .some(let owned):
            return owned.object.write { buffer in
                let start = buffer.count
                _ = self.session.send(
                    opcode, length: length, isCompressible: isCompressible, into: &buffer, write: write)
                for attachment in attachments {
                    _ = self.session.send(.binary, payload: attachment, isCompressible: isCompressible, into: &buffer)
                }
                self.liveness.wrote(buffer.count - start)
            }
        case nil: return .refused
        }
    }

    /// Sends a ping or pong of the owner's own, of at most 125 bytes; like
    /// ``send(_:length:attachments:isCompressible:write:)`` otherwise.
    package func sendControl(_ opcode: Opcode, payload: some Collection<UInt8>) -> SendAcceptance {
        guard self.isOpen, let stream = self.stream else { return .refused }
        return stream.write { _ = self.session.sendControl(opcode, payload: payload, into: &$0) }
    }

    /// Sends a ping, by whose answer the server proves that it has read all before it; false when that is not possible.
    package func ping() -> Bool {
        var output: [UInt8] = []
        guard self.session.ping(into: &output), let stream = self.stream else { return false }
        self.liveness.pings(behind: stream.pendingBytes, at: self.loop.moment)
        stream.write { $0.append(contentsOf: output) }
        return true
    }

    /// Begins the closing handshake; the channel ends within its close deadline.
    package func close(_ code: CloseCode? = .normal, reason: String = "") {
        self.isOpen = false
        guard let stream = self.stream else { return self.abort() }
        var output: [UInt8] = []
        guard self.session.close(code, reason: reason, into: &output) else { return }
        // The peer may complete a message that it has begun before it sends its Close frame.
        self.ending.room = self.terms.limits.maxMessageBytes
        // Its Close frame comes behind what the owner did not want to be read.
        self.setReadingPaused(false)
        stream.write { $0.append(contentsOf: output) }
        self.finishAfterDeadline()
    }

    /// Ends at once, at any moment.
    package func abort() {
        self.isOpen = false
        if self.ending.reason == nil { self.ending.reason = Boxed(.aborted) }
        if let heldEnd = self.ending.ofStream { return self.loop.executeLocally { self.closed(heldEnd.value) } }
        self.stream?.abort()
    }

    /// Stops reading, so that the server is slowed down, or reads on; a channel that closes reads on in any case.
    package func setReadingPaused(_ isPaused: Bool) {
        self.isPaused = isPaused && self.ending.room == nil
        if !self.isPaused, self.isBehind { self.awaitTurn() } else { self.stream?.setReadingPaused(self.isPaused) }
    }

    private func finishAfterDeadline() {
        self.timers.main?.cancel()
        self.timers.main = self.loop.scheduleLocally(after: Self.closeDeadline) { self.stream?.finish() }
    }
}

// MARK: - Events of the stream

extension WebSocketChannel: ByteStreamHandler {
    package func opened(_ head: ResponseHead) {
        do throws(WebSocketProtocolError) {
            guard let handshake = self.handshake.take()?.value else { return }
            let accepted = try handshake.verify(status: head.status, headers: head.list)
            if let compression = accepted.compression { self.session.begin(compression) }
            self.isOpen = true
            self.handler.opened(head, subprotocol: accepted.subprotocol)
            self.scheduleKeepAlive()
        } catch {
            self.drop(.handshake(error))
        }
    }

    package func received(_ chunk: [UInt8]) {
        guard self.mayCome(chunk.count) else { return self.stream?.finish(readingAtMost: Self.farewellBytes) ?? () }
        self.liveness.heard(at: self.loop.moment)
        guard let chunk = self.refusalStart.take(chunk) else { return }
        self.session.receive(chunk[...])
        if !self.isBehind { self.take(chunk) }
    }

    /// The reading of the bytes that came, the last of which are `chunk`.
    private struct Reading {
        let chunk: [UInt8]
        var output: [UInt8] = []
        var ending: (end: WebSocketEnd, stream: WebSocketSession.StreamEnd)?
        var isOver = false
        var hasPong = false
        /// The ping or pong at which the messages are interrupted, to be handed over before the next one.
        var control: (opcode: Opcode, payload: ArraySlice<UInt8>)?
    }

    /// Hands over what the session makes of the bytes that were read.
    private func take(_ chunk: [UInt8]) {
        let controlFrames = self.session.controlFrames
        var reading = Reading(chunk: chunk)
        self.inflation.pause = nil
        repeat {
            var first = self.nextMessage(&reading)
            if first != nil { self.handler.received { first.take() ?? self.nextMessage(&reading) } }
            if let (opcode, payload) = reading.control.take() { self.handler.received(opcode, payload: payload) }
        } while !reading.isOver
        if reading.hasPong, self.isOpen, let roundTrip = self.liveness.takeRoundTrip(now: self.loop.moment) {
            // The next ping is due, and not the end of the time for this answer.
            self.timers.main?.cancel()
            self.scheduleKeepAlive()
            self.handler.answeredPing(after: roundTrip)
        }
        let frames = self.session.controlFrames - controlFrames
        if reading.ending == nil, frames > 0,
            self.control.isFlooded(by: frames, most: Self.mostControlFrames, now: self.loop.moment)
        {
            reading.ending = self.session.fail(.controlFlood, Self.controlExcess, into: &reading.output)
                .map { (.closed($0), .drop) }
        }
        if reading.ending != nil { self.isOpen = false }
        self.write(&reading)
        if let (end, stream) = reading.ending { return self.finish(end, stream) }
        if self.session.unfinishedBytes != nil { self.watchMessage() }
        if self.isBehind { self.awaitTurn() }
    }

    /// Sends the answers to what was read.
    ///
    /// A server that does not read gets no more pongs; the farewell it gets in any case.
    private func write(_ reading: inout Reading) {
        guard !reading.output.isEmpty, let stream = self.stream,
            reading.ending != nil || stream.pendingBytes <= self.terms.highWaterMark
        else { return }
        stream.write { $0.append(contentsOf: reading.output) }
        reading.output.removeAll(keepingCapacity: true)
    }

    /// Reads nothing more, and goes on after a pause with what was read.
    private func awaitTurn() {
        self.stream?.setReadingPaused(true)
        guard self.timers.turn == nil, self.takesTurns else { return }
        self.timers.turn = self.loop.scheduleLocally(after: self.inflation.pause ?? .zero) { self.turnCame() }
    }

    /// An owner that wants nothing has to be told of the end all the same.
    private var takesTurns: Bool { !self.isPaused || self.ending.ofStream != nil }

    private func turnCame() {
        self.timers.turn = nil
        guard self.isBehind, self.takesTurns else { return }
        self.take([])
        guard !self.isBehind else { return }
        if let heldEnd = self.ending.ofStream { return self.closed(heldEnd.value) }
        if !self.isPaused { self.stream?.setReadingPaused(false) }
    }

    /// The next message of a read; nil when it has no more.
    private func nextMessage(_ reading: inout Reading) -> WebSocketMessage? {
        guard !reading.isOver else { return nil }
        while let event = self.session.next(into: &reading.output) {
            let message: WebSocketMessage
            switch consume event {
            case .text(let text): message = .text(text)
            case .binary(let bytes): message = .binary(bytes)
            case .ping(let payload):
                reading.control = (.ping, payload)
                return nil
            case .pong(let payload, _):
                // The keep-alive's own ping is empty.
                let isOwn = payload.isEmpty && self.liveness.isAwaitingPong && !reading.hasPong
                // As `terms.reportsControl` says; to read that costs a check at run time for each message.
                guard self.session.reportsPings, !isOwn else {
                    reading.hasPong = true
                    continue
                }
                reading.control = (.pong, payload)
                return nil
            case .closed(let event, let stream):
                self.isOpen = false
                let isFirst = event.violation != nil && self.messages == 0
                let refusal = isFirst ? WebSocketEnd(lateRefusal: reading.chunk) : nil
                reading.ending = refusal.map { ($0, .drop) } ?? (.closed(event), stream)
                reading.isOver = true
                return nil
            }
            self.messages += 1
            if self.inflation.pauses(after: self.session.inflatedBytes) { reading.isOver = true }
            if !reading.output.isEmpty { self.write(&reading) }
            return message
        }
        // What has been made of a message whose last byte is yet to come counts as well.
        _ = self.inflation.pauses(after: self.session.inflatedBytes)
        reading.isOver = true
        return nil
    }

    /// Whether so many bytes more are read: not without end from a server that has been told to close.
    private func mayCome(_ count: Int) -> Bool {
        guard let room = self.ending.room else { return true }
        self.ending.room = room - count
        return room >= count
    }

    private func finish(_ end: WebSocketEnd, _ streamEnd: WebSocketSession.StreamEnd) {
        if self.ending.reason == nil { self.ending.reason = Boxed(end) }
        switch streamEnd {
        // The stream sends what is pending, our own Close frame, before it ends. Who broke the protocol may well let that
        // take its time; the handler need not wait for it.
        case .drop: self.stream?.finish(readingAtMost: Self.farewellBytes)
        // Both have said goodbye: nothing more comes, whenever the server closes the connection below.
        case .awaitPeer: self.finishAfterDeadline()
        }
        self.tell(end)
    }

    /// Reports the end to the handler, once.
    private func tell(_ end: WebSocketEnd) {
        guard !self.ending.isTold else { return }
        self.ending.isTold = true
        self.handler.closed(end)
    }

    package func writable() {
        if !self.ending.isTold { self.handler.writable() }
    }

    package func closed(_ error: ByteStreamError) {
        self.isOpen = false
        if self.isBehind, self.ending.reason == nil {
            // Bytes received before the end still follow.
            (self.ending.ofStream, self.stream) = (Boxed(error), nil)
            return self.awaitTurn()
        }
        let end = self.ending.reason?.value ?? .stream(error)
        self.ending.reason = Boxed(end)
        self.timers.cancel()
        self.stream = nil
        self.tell(end)
    }

    private func drop(_ end: WebSocketEnd) {
        self.isOpen = false
        if self.ending.reason == nil { self.ending.reason = Boxed(end) }
        self.stream?.abort()
    }

    /// Makes sure that an unfinished message is looked at again.
    private func watchMessage() {
        guard self.timers.watch == nil, self.stream != nil else { return }
        let (messages, bytes) = (self.messages, self.session.unfinishedBytes ?? 0)
        self.timers.watch = self.loop.scheduleLocally(after: self.terms.messageDeadline) {
            self.judgeMessage(since: messages, bytes)
        }
    }

    /// Ends the channel over a message that has grown too little since so many messages and bytes had come.
    private func judgeMessage(since messages: Int, _ formerBytes: Int) {
        self.timers.watch = nil
        guard self.ending.reason == nil, let bytes = self.session.unfinishedBytes else { return }
        // What is not read is not the server's fault.
        if !self.isPaused, !self.isBehind, messages == self.messages,
            bytes - formerBytes < WebSocketTerms.messageProgress
        {
            var output: [UInt8] = []
            guard let event = self.session.fail(.messageOverdue, self.terms.slowness, into: &output) else { return }
            self.isOpen = false
            self.stream?.write { $0.append(contentsOf: output) }
            return self.finish(.closed(event), .drop)
        }
        self.watchMessage()
    }

    private func scheduleKeepAlive() {
        guard let keepAlive = self.terms.keepAlive, self.stream != nil else { return }
        let interval = keepAlive.interval * (self.timers.savesData ? 4 : 1)
        self.timers.main = self.loop.scheduleLocally(after: interval) { self.ping(keepAlive) }
    }

    private func ping(_ keepAlive: WebSocketKeepAlive) {
        self.liveness.expectsSign()
        if self.ping() { self.awaitPong(keepAlive) }
    }

    private func awaitPong(_ keepAlive: WebSocketKeepAlive) {
        self.timers.main = self.loop.scheduleLocally(after: keepAlive.timeout) {
            if self.liveness.isAlive || self.isBehind { return self.scheduleKeepAlive() }
            if self.liveness.hasMoved(pending: self.pendingBytes) { return self.awaitPong(keepAlive) }
            // What has arrived meanwhile is to be read before a server is called dead: perhaps this side was busy.
            self.timers.main = self.loop.scheduleLocally(after: Self.lastLook) {
                // Anything that has arrived proves that the server lives; what has not been read says nothing against it.
                if self.liveness.isAlive || self.isBehind { self.scheduleKeepAlive() } else { self.drop(.silent) }
            }
        }
    }
}
