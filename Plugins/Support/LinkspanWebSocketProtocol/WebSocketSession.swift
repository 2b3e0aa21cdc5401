/// One end of an open WebSocket connection, as a value: it returns the bytes to write and the events to report.
///
/// It begins after the opening handshake. Give it each received chunk with ``receive(_:)`` and call ``next(into:)``
/// until it returns nil; write what gathers in the output buffer, in the order of the calls.
///
/// ```text
///         close()                     the peer's Close
/// open ───────────► closing ──────────────────────────► closed
///   └────── the peer's Close, answered; a broken rule ────► ▲
/// ```
package struct WebSocketSession {
    /// An event caused by the peer.
    package enum Event: Sendable, Hashable {
        /// A whole text message, valid UTF-8; see ``FrameDecoder`` for whose memory it is.
        case text(ArraySlice<UInt8>)

        /// A whole binary message.
        case binary(ArraySlice<UInt8>)

        /// A ping; only with ``WebSocketSession/reportsPings``.
        case ping(ArraySlice<UInt8>)

        /// A pong, and whether it answers the newest ping.
        case pong(ArraySlice<UInt8>, answersPing: Bool)

        /// The connection ended. Nothing comes after it.
        indirect case closed(CloseEvent, stream: StreamEnd)
    }

    /// The handling of the stream below once the output is written.
    package enum StreamEnd: Sendable, Hashable {
        /// Drop it at once.
        case drop

        /// Wait a while for the server to drop it, then do so (RFC 6455 section 7.1.1).
        case awaitPeer
    }

    private enum State: Sendable {
        case open
        /// Our Close frame is written, the peer's has not come.
        case closing
        case closed
    }

    private let role: WebSocketRole
    private let maxPongs: Int
    private var state = State.open
    private var decoder: FrameDecoder
    private var masks: MaskSource
    private var compressor: MessageCompressor?
    private var pongsInChunk = 0
    /// The newest ping of a flood, answered when the chunk is used up.
    private var heldPing: [UInt8]?
    /// The newest ping that was sent and not answered.
    private var sentPing: [UInt8]?
    /// Whether pings are answered here.
    package var answersPings = true
    /// Whether pings are events, answered or not.
    package var reportsPings = false
    /// The number of pings and pongs received so far.
    package private(set) var controlFrames = 0
    // Stored, because owners in other modules would copy the whole session for a call of an accessor (W1, W3, W7).
    /// The number of bytes decompressed so far.
    ///
    /// A few bytes may become a message of any size up to the limit: an owner that shares its thread may let some time
    /// pass between calls of ``next(into:)`` when much was made.
    package private(set) var inflatedBytes = 0
    /// The bytes that are here of a message or frame that has begun and not ended; nil when none has.
    package private(set) var unfinishedBytes: Int?

    /// Makes the end with `role` of a connection that is open from now on.
    ///
    /// Compression is used if it was agreed on in the opening handshake.
    package init(
        role: WebSocketRole, limits: WebSocketLimits = .init(), masks: MaskSource = MaskSource(),
        compression: CompressionAgreement? = nil
    ) {
        self.role = role
        self.maxPongs = limits.maxPongsPerChunk
        self.decoder = FrameDecoder(role: role, limits: limits)
        self.masks = masks
        if let compression { self.begin(compression) }
    }

    /// Uses compression from now on, for an end that was made before the opening handshake.
    package mutating func begin(_ compression: CompressionAgreement) {
        self.decoder.begin(compression)
        self.compressor = MessageCompressor(compression, role: self.role)
    }

    /// Whether messages can be sent.
    package var isOpen: Bool { self.state == .open }

    /// Whether the newest ping has not been answered.
    package var isAwaitingPong: Bool { self.sentPing != nil }

    // MARK: Receiving

    /// Takes a chunk of received bytes; call ``next(into:)`` until it returns nil before the next.
    package mutating func receive(_ chunk: ArraySlice<UInt8>) {
        self.pongsInChunk = 0
        self.decoder.append(chunk)
    }

    /// The next thing the peer did, or nil if more bytes are needed.
    ///
    /// Pongs, and the answer to a Close frame or to a broken rule, are appended to `output`. Once a Close frame has
    /// been sent the peer's messages are ignored.
    package mutating func next(into output: inout [UInt8]) -> Event? {
        defer { self.inflatedBytes = self.decoder.inflatedBytes }
        do throws(WebSocketProtocolError) {
            while let incoming = try self.decoder.next() {
                if let event = self.handle(incoming, into: &output) { return event }
            }
        } catch {
            return self.fail(error.code, error.message, into: &output).map { .closed($0, stream: .drop) }
        }
        if let ping = self.heldPing {
            self.heldPing = nil
            self.answer(ping[...], into: &output)
        }
        self.unfinishedBytes = self.decoder.unfinishedBytes
        return nil
    }

    /// Fails the connection for a reason that its owner found, such as a deadline.
    ///
    /// - Parameters:
    ///   - code: the rule or the limit.
    ///   - message: the same in words, with the limit, for the peer and for a log line.
    ///   - output: takes the Close frame.
    /// - Returns: how it ended, unless it had ended before. The stream is to be dropped.
    package mutating func fail(
        _ code: WebSocketProtocolError.Code, _ message: String, into output: inout [UInt8]
    ) -> CloseEvent? {
        let error = WebSocketProtocolError(code, message)
        guard self.end(error.closeCode, reason: message, into: &output) else { return nil }
        return CloseEvent(code: error.closeCode, reason: "", violation: error)
    }

    @inline(__always)
    private mutating func handle(_ incoming: consuming FrameDecoder.Incoming, into output: inout [UInt8]) -> Event? {
        switch consume incoming {
        case .text(let payload):
            return self.isOpen ? .text(payload) : nil
        case .binary(let payload):
            return self.isOpen ? .binary(payload) : nil
        case .ping(let payload):
            self.controlFrames += 1
            if self.answersPings { self.pinged(payload, into: &output) }
            return self.reportsPings && self.isOpen ? .ping(payload) : nil
        case .pong(let payload):
            self.controlFrames += 1
            return self.ponged(payload)
        case .close(let code, let reason):
            return self.closed(code, reason, into: &output)
        }
    }

    private mutating func pinged(_ payload: ArraySlice<UInt8>, into output: inout [UInt8]) {
        self.pongsInChunk += 1
        if self.pongsInChunk < self.maxPongs {
            self.answer(payload, into: &output)
        } else {
            self.heldPing = Array(payload)
        }
    }

    private mutating func answer(_ ping: ArraySlice<UInt8>, into output: inout [UInt8]) {
        guard self.isOpen else { return }
        FrameEncoder.append(.pong, payload: ping, mask: self.nextMask(), to: &output)
    }

    private mutating func ponged(_ payload: ArraySlice<UInt8>) -> Event? {
        if case .closed = self.state { return nil }
        let answersPing = self.sentPing.map { $0[...] == payload } ?? false
        if answersPing { self.sentPing = nil }
        return .pong(payload, answersPing: answersPing)
    }

    private mutating func closed(_ code: CloseCode?, _ reason: String, into output: inout [UInt8]) -> Event? {
        guard self.end(code, into: &output) else { return nil }
        let event = CloseEvent(code: code ?? .noStatus, reason: reason)
        return .closed(event, stream: self.role == .client ? .awaitPeer : .drop)
    }

    /// Ends the connection, with a Close frame unless one was sent; returns false when it had ended before.
    private mutating func end(_ code: CloseCode?, reason: String = "", into output: inout [UInt8]) -> Bool {
        self.heldPing = nil
        guard self.state != .closed else { return false }
        if self.isOpen { FrameEncoder.appendClose(code, reason: reason, mask: self.nextMask(), to: &output) }
        self.state = .closed
        return true
    }

    // MARK: Sending

    /// Appends a message to `output`; returns false, and does nothing, unless the connection is open.
    ///
    /// It is compressed if that was agreed on, unless `isCompressible` is false.
    ///
    /// - Precondition: `opcode` is text or binary, and a text's payload is UTF-8.
    package mutating func send(
        _ opcode: Opcode, payload: some Collection<UInt8>, isCompressible: Bool = true, into output: inout [UInt8]
    ) -> Bool {
        self.send(opcode, length: payload.count, isCompressible: isCompressible, into: &output) {
            $0.append(contentsOf: payload)
        }
    }

    /// Appends a message whose payload, of exactly so many bytes, `write` writes; returns false, without calling it, unless
    /// open.
    ///
    /// - Precondition: `opcode` is text or binary, and a text's payload is UTF-8.
    package mutating func send(
        _ opcode: Opcode, length: Int, isCompressible: Bool = true, into output: inout [UInt8],
        write: (inout ByteWriter) -> Void
    ) -> Bool {
        precondition(opcode == .text || opcode == .binary, "a message is text or binary, not \(opcode)")
        guard self.isOpen else { return false }
        let mask = self.nextMask()
        if isCompressible, self.compressor != nil {
            var payload: [UInt8] = []
            payload.append(upTo: length, write)
            self.compressor?.append(opcode, payload: payload[...], mask: mask, to: &output)
        } else {
            FrameEncoder.append(opcode, length: length, mask: mask, to: &output, write: write)
        }
        return true
    }

    /// Appends a ping, which ``isAwaitingPong`` then waits for; returns false unless the connection is open.
    ///
    /// - Precondition: The payload has at most 125 bytes.
    package mutating func ping(_ payload: [UInt8] = [], into output: inout [UInt8]) -> Bool {
        guard self.isOpen else { return false }
        self.sentPing = payload
        FrameEncoder.append(.ping, payload: payload, mask: self.nextMask(), to: &output)
        return true
    }

    /// Appends a ping or pong of the owner's own, which nothing waits for; returns false unless the connection is open.
    ///
    /// - Precondition: The payload has at most 125 bytes.
    package mutating func sendControl(
        _ opcode: Opcode, payload: some Collection<UInt8>, into output: inout [UInt8]
    ) -> Bool {
        guard self.isOpen else { return false }
        FrameEncoder.append(opcode, payload: payload, mask: self.nextMask(), to: &output)
        return true
    }

    /// Begins the closing handshake, with nil for a Close frame without a code; returns false unless the connection is open.
    ///
    /// Wait a while for ``Event/closed(_:stream:)`` then, and drop the stream. A reason longer than 123 bytes is cut.
    ///
    /// - Precondition: The code may be sent.
    package mutating func close(
        _ code: CloseCode? = .normal, reason: String = "", into output: inout [UInt8]
    ) -> Bool {
        guard self.isOpen else { return false }
        FrameEncoder.appendClose(code, reason: reason, mask: self.nextMask(), to: &output)
        self.state = .closing
        self.decoder.dropsCompressed = true
        return true
    }

    private mutating func nextMask() -> UInt32? {
        switch self.role {
        case .client: self.masks.next()
        case .server: nil
        }
    }
}
