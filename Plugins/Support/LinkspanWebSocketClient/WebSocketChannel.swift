public import LinkspanLWS
internal import LinkspanRuntime
public import LinkspanWebSocketProtocol

/// A WebSocket connection to a server: the codec of `LinkspanWebSocketProtocol` over a stream of `LinkspanLWS`.
///
/// Sending encodes straight into the stream's buffer, on the caller's thread. Receiving decodes on the loop's thread and
/// hands over everything of one read at once. All methods may be called from any thread.
public final class WebSocketChannel: Sendable {
    /// What became of a message.
    public enum SendResult: Sendable, Hashable {
        /// It is in the buffer.
        case sent
        /// It is in the buffer, and the buffer is above its mark: wait for ``WebSocketChannelHandler/drained()``.
        case full
        /// The channel is not open; nothing was taken.
        case notOpen
    }

    private struct Sender: Sendable {
        var isOpen = false
        var masks = MaskSource(generator: SystemRandomBlock())
    }

    private struct Receiver: Sendable {
        var session: WebSocketSession
        var end: WebSocketEnd?
        var deadline: LoopTimer?
        var keepAlive: LoopTimer?
        /// Whether anything has arrived since the last ping.
        var isAlive = true
        /// Whether the handler knows of the end.
        var isTold = false
        var control = ControlRate()
        /// How many messages have come.
        var messages = 0
        /// How far things were when the watch over an unfinished message began; nil when there is none.
        var watch: (messages: Int, bytes: Int)?
        /// The bytes that may still come after our Close frame; nil before it.
        var closingRoom: Int?
    }

    /// The most that is read of a server that broke the protocol, so that our Close frame reaches it.
    private static let farewellBytes = 1 << 20

    private let request: WebSocketRequest
    private let handshake: ClientHandshake
    private let handler: any WebSocketChannelHandler
    private let loop: EventLoop
    private let stream = Lock<ByteStream?>(nil)
    private let sender = Lock(Sender())
    private let receiver: Lock<Receiver>
    /// Held until what it has compressed is in the stream's buffer, so that messages leave in the order of compression.
    private let compressor = Lock<MessageCompressor?>(nil)

    /// Makes a channel that has not begun to open.
    ///
    /// - Throws: ``WebSocketProtocolError`` when an offered sub-protocol is not a token.
    public init(
        _ request: WebSocketRequest, on loop: EventLoop, handler: any WebSocketChannelHandler
    ) throws(WebSocketProtocolError) {
        var request = request
        self.handshake = try ClientHandshake(
            nonce: (.random(in: .min ... .max), .random(in: .min ... .max)), subprotocols: request.subprotocols,
            compression: request.compression)
        request.upgrade.headers = self.handshake.headers + request.upgrade.headers
        self.request = request
        self.handler = handler
        self.loop = loop
        self.receiver = Lock(Receiver(session: WebSocketSession(role: .client, limits: request.limits)))
    }

    /// Begins to connect.
    ///
    /// Call it once.
    public func open() {
        // From the loop, so that the stream is known before its first event.
        self.loop.execute {
            guard self.receiver.withLock({ $0.end == nil }) else { return self.handler.closed(.aborted) }
            let bridge = StreamBridge(channel: self)
            let stream = self.loop.connect(self.request.upgrade, handler: bridge)
            self.stream.withLock { $0 = stream }
        }
    }

    /// Sends a message whose payload `write` appends, and binary messages right behind it with nothing between.
    ///
    /// - Parameters:
    ///   - opcode: text or binary; the bytes of a text must be UTF-8.
    ///   - expectedLength: a guess of the payload's length; a good one saves moving it by a few bytes.
    ///   - attachments: the binary messages that follow.
    ///   - write: appends the payload to the buffer it gets, and does nothing else to it.
    /// - Returns: what became of the message.
    public func send(
        _ opcode: Opcode, expectedLength: Int, attachments: [ArraySlice<UInt8>] = [], write: (inout [UInt8]) -> Void
    ) -> SendResult {
        guard let stream = self.stream.withLock({ $0 }) else { return .notOpen }
        if self.request.compression != nil {
            let result = self.sendCompressed(
                opcode, expectedLength: expectedLength, attachments: attachments, over: stream, write: write)
            if let result { return result }
        }
        var isSent = false
        let pending = stream.write { buffer in
            guard let mask = self.nextMask() else { return }
            FrameEncoder.append(opcode, expectedLength: expectedLength, mask: mask, to: &buffer, write: write)
            for attachment in attachments {
                // Whoever closes meanwhile must not tear the message apart: the mask is drawn all the same.
                FrameEncoder.append(.binary, payload: attachment, mask: self.anyMask(), to: &buffer)
            }
            isSent = true
        }
        return self.result(isSent ? pending : nil)
    }

    /// Sends a message compressed; returns nil, having done nothing, when the server takes no part.
    ///
    /// Compressing takes its time, so it is done before the stream's buffer is held: others of the loop need not wait.
    private func sendCompressed(
        _ opcode: Opcode, expectedLength: Int, attachments: [ArraySlice<UInt8>], over stream: ByteStream,
        write: (inout [UInt8]) -> Void
    ) -> SendResult? {
        guard self.compressor.withLock({ $0 != nil }) else { return nil }
        var payload: [UInt8] = []
        payload.reserveCapacity(expectedLength)
        write(&payload)
        return self.compressor.withLock { compressor in
            // Asked before: what has been compressed must be sent, or the server could not read what follows.
            guard self.sender.withLock({ $0.isOpen }) else { return .notOpen }
            var frames: [UInt8] = []
            compressor?.append(opcode, payload: payload[...], mask: self.anyMask(), to: &frames)
            for attachment in attachments {
                compressor?.append(.binary, payload: attachment, mask: self.anyMask(), to: &frames)
            }
            var isSent = false
            let pending = stream.write { buffer in
                // Closed meanwhile, nothing may follow the Close frame.
                guard self.sender.withLock({ $0.isOpen }) else { return }
                buffer.append(contentsOf: frames)
                isSent = true
            }
            return self.result(isSent ? pending : nil)
        }
    }

    private func result(_ pending: Int?) -> SendResult {
        guard let pending else { return .notOpen }
        return pending > self.request.highWaterMark ? .full : .sent
    }

    private func anyMask() -> UInt32 { self.sender.withLock { $0.masks.next() } }

    /// A mask for the next frame, or nil when the channel is not open.
    private func nextMask() -> UInt32? { self.sender.withLock { $0.isOpen ? $0.masks.next() : nil } }

    /// Begins the closing handshake; the channel ends within its close deadline.
    public func close(_ code: CloseCode? = .normal, reason: String = "") {
        self.sender.withLock { $0.isOpen = false }
        guard let stream = self.stream.withLock({ $0 }) else { return self.abort() }
        var output: [UInt8] = []
        let onClose = self.receiver.withLock { receiver in
            let onClose = receiver.session.close(code, reason: reason, into: &output)
            // Whoever is in the midst of a message may complete it before there is a Close frame.
            if case .awaitPeer = onClose { receiver.closingRoom = self.request.limits.maxMessageBytes }
            return onClose
        }
        switch onClose {
        case .awaitPeer:
            stream.write { $0.append(contentsOf: output) }
            self.setDeadline { stream.finish() }
        case .ignore:
            ()
        }
    }

    /// Ends at once, at any moment.
    public func abort() {
        self.sender.withLock { $0.isOpen = false }
        self.receiver.withLock { if $0.end == nil { $0.end = .aborted } }
        self.stream.withLock { $0 }?.abort()
    }

    /// Stops reading, so that the server is slowed down.
    public func pauseReading() { self.stream.withLock { $0 }?.pauseReading() }

    /// Reads on.
    public func resumeReading() { self.stream.withLock { $0 }?.resumeReading() }

    private func setDeadline(_ onDeadline: @escaping @Sendable () -> Void) {
        let timer = self.loop.schedule(after: self.request.closeDeadline, onDeadline)
        let former = self.receiver.withLock { receiver in
            defer { receiver.deadline = timer }
            return receiver.deadline
        }
        former?.cancel()
    }
}

// MARK: - What the stream reports, on the loop's thread

extension WebSocketChannel {
    fileprivate func streamOpened(_ head: ResponseHead) {
        let fields = [
            "upgrade": head.upgrade, "connection": head.connection, "sec-websocket-accept": head.accept,
            "sec-websocket-protocol": head.subprotocol, "sec-websocket-extensions": head.extensions,
        ]
        do throws(WebSocketProtocolError) {
            let accepted = try self.handshake.verify(status: head.status) { name in
                (fields[name] ?? nil).map { [$0] } ?? []
            }
            if let compression = accepted.compression {
                self.compressor.withLock { $0 = MessageCompressor(compression, role: .client) }
                self.receiver.withLock { $0.session.begin(compression) }
            }
            self.sender.withLock { $0.isOpen = true }
            self.handler.opened(subprotocol: accepted.subprotocol)
            self.scheduleKeepAlive()
        } catch {
            self.drop(.handshake(error))
        }
    }

    fileprivate func streamReceived(_ chunk: [UInt8]) {
        guard self.mayCome(chunk.count) else {
            self.stream.withLock { $0 }?.finish(readingAtMost: Self.farewellBytes)
            return
        }
        var output: [UInt8] = []
        var messages: [WebSocketMessage] = []
        var isUnfinished = false
        let ending = self.receiver.withLock { receiver -> (WebSocketEnd, WebSocketSession.StreamEnd)? in
            receiver.isAlive = true
            let controlFrames = receiver.session.controlFrames
            receiver.session.receive(chunk[...])
            while let event = receiver.session.next(into: &output) {
                switch event {
                case .text(let text): messages.append(.text(text))
                case .binary(let bytes): messages.append(.binary(bytes))
                case .pong: ()
                case .closed(let event, let stream): return (.closed(event), stream)
                }
            }
            receiver.messages += messages.count
            isUnfinished = receiver.session.unfinishedBytes != nil
            let newControlFrames = receiver.session.controlFrames - controlFrames
            guard newControlFrames > 0, receiver.control.isFlooded(by: newControlFrames, now: .now) else { return nil }
            return receiver.session.fail(.controlFlood, into: &output).map { (.closed($0), .drop) }
        }
        let stream = self.stream.withLock { $0 }
        // What came before a broken rule may still be answered; whoever has said goodbye listens to no answer.
        if case .closed(let event)? = ending?.0, event.violation != nil, !messages.isEmpty {
            self.handler.received(messages)
            messages = []
        }
        if ending != nil { self.sender.withLock { $0.isOpen = false } }
        // A server that does not read gets no more pongs; the farewell it gets in any case.
        let isRead = ending != nil || (stream?.pendingBytes ?? 0) <= self.request.highWaterMark
        if !output.isEmpty, isRead { stream?.write { $0.append(contentsOf: output) } }
        if !messages.isEmpty { self.handler.received(messages) }
        if let (end, streamEnd) = ending { return self.finish(end, streamEnd) }
        if isUnfinished { self.watchMessage() }
    }

    /// Whether so many bytes more are read: not without end from a server that has been told to close.
    private func mayCome(_ count: Int) -> Bool {
        self.receiver.withLock { receiver in
            guard let room = receiver.closingRoom else { return true }
            receiver.closingRoom = room - count
            return room >= count
        }
    }

    private func finish(_ end: WebSocketEnd, _ streamEnd: WebSocketSession.StreamEnd) {
        self.receiver.withLock { if $0.end == nil { $0.end = end } }
        let stream = self.stream.withLock { $0 }
        switch streamEnd {
        case .drop:
            // The stream sends what is pending, our own Close frame, before it ends. Who broke the protocol may well let
            // that take its time; the handler need not wait for it.
            stream?.finish(readingAtMost: Self.farewellBytes)
            self.tell(end)
        case .awaitPeer:
            self.setDeadline { stream?.finish() }
        }
    }

    /// Tells the handler of the end, once.
    private func tell(_ end: WebSocketEnd) {
        let isFirst = self.receiver.withLock { receiver in
            defer { receiver.isTold = true }
            return !receiver.isTold
        }
        if isFirst { self.handler.closed(end) }
    }

    fileprivate func streamDrained() {
        if !self.receiver.withLock({ $0.isTold }) { self.handler.drained() }
    }

    fileprivate func streamClosed(_ error: ByteStreamError) {
        self.sender.withLock { $0.isOpen = false }
        let (end, timers) = self.receiver.withLock { receiver -> (WebSocketEnd, [LoopTimer?]) in
            let end = receiver.end ?? .stream(error)
            receiver.end = end
            return (end, [receiver.deadline, receiver.keepAlive])
        }
        for timer in timers { timer?.cancel() }
        self.stream.withLock { $0 = nil }
        self.tell(end)
    }

    private func drop(_ end: WebSocketEnd) {
        self.sender.withLock { $0.isOpen = false }
        self.receiver.withLock { if $0.end == nil { $0.end = end } }
        self.stream.withLock { $0 }?.abort()
    }

    // MARK: Messages that come drop by drop

    /// Makes sure that an unfinished message is looked at again.
    private func watchMessage() {
        let isNew = self.receiver.withLock { receiver in
            guard receiver.watch == nil else { return false }
            receiver.watch = (receiver.messages, receiver.session.unfinishedBytes ?? 0)
            return true
        }
        guard isNew else { return }
        self.loop.schedule(after: self.request.messageDeadline) { [weak self] in self?.judgeMessage() }
    }

    private func judgeMessage() {
        var output: [UInt8] = []
        let (end, isUnfinished) = self.receiver.withLock { receiver -> (WebSocketEnd?, Bool) in
            let former = receiver.watch
            receiver.watch = nil
            guard receiver.end == nil, let bytes = receiver.session.unfinishedBytes else { return (nil, false) }
            guard let former, former.messages == receiver.messages else { return (nil, true) }
            guard bytes - former.bytes < WebSocketRequest.messageProgress else { return (nil, true) }
            return (receiver.session.fail(.messageOverdue, into: &output).map { .closed($0) }, false)
        }
        if isUnfinished { self.watchMessage() }
        guard let end else { return }
        self.sender.withLock { $0.isOpen = false }
        self.stream.withLock { $0 }?.write { $0.append(contentsOf: output) }
        self.finish(end, .drop)
    }

    // MARK: Keep-alive

    private func scheduleKeepAlive() {
        guard let keepAlive = self.request.keepAlive else { return }
        self.setKeepAlive(after: keepAlive.interval) { [weak self] in self?.ping(keepAlive) }
    }

    private func ping(_ keepAlive: WebSocketRequest.KeepAlive) {
        var output: [UInt8] = []
        let isOpen = self.receiver.withLock { receiver in
            receiver.isAlive = false
            return receiver.session.ping(into: &output)
        }
        guard isOpen else { return }
        self.stream.withLock { $0 }?.write { $0.append(contentsOf: output) }
        self.setKeepAlive(after: keepAlive.timeout) { [weak self] in
            guard let self else { return }
            // Anything that has arrived proves that the server lives, be it the pong or not.
            if self.receiver.withLock({ $0.isAlive }) { self.scheduleKeepAlive() } else { self.drop(.silent) }
        }
    }

    private func setKeepAlive(after delay: Duration, _ job: @escaping @Sendable () -> Void) {
        let timer = self.loop.schedule(after: delay, job)
        self.receiver.withLock { $0.keepAlive = timer }
    }
}

/// Keeps the stream's callbacks out of the channel's public face.
private final class StreamBridge: ByteStreamHandler {
    private let channel: WebSocketChannel

    init(channel: WebSocketChannel) { self.channel = channel }

    func opened(_ head: ResponseHead) { self.channel.streamOpened(head) }
    func received(_ bytes: [UInt8]) { self.channel.streamReceived(bytes) }
    func readTurnEnded() {}
    func drained() { self.channel.streamDrained() }
    func closed(_ reason: ByteStreamError) { self.channel.streamClosed(reason) }
}
