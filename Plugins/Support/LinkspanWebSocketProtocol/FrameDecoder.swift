/// Turns received bytes into messages and control frames (RFC 6455 section 5).
///
/// Give it each chunk with ``append(_:)`` and call ``next()`` until it returns nil. An unmasked message that lies
/// wholly inside one chunk in one frame comes out as a slice of that chunk, without a copy: who keeps it longer than
/// the moment keeps the chunk and should copy it. Whatever spans chunks or fragments is collected in a buffer that
/// grows with what has really arrived, up to the limits, which are checked before anything is allocated.
///
/// Any bytes give a value or an error. After an error or a Close frame nothing more comes out and nothing is retained.
package struct FrameDecoder {
    /// A message, or a control frame.
    package enum Incoming: Sendable, Hashable {
        /// A whole text message, valid UTF-8.
        case text(ArraySlice<UInt8>)

        /// A whole binary message.
        case binary(ArraySlice<UInt8>)

        /// A ping with at most 125 bytes, which wants the same bytes in a pong.
        case ping(ArraySlice<UInt8>)

        /// A pong with at most 125 bytes.
        case pong(ArraySlice<UInt8>)

        /// The Close frame, with its code unless it was empty.
        case close(CloseCode?, reason: String)
    }

    private enum State: Sendable {
        case header
        case payload(FrameHeader)
        case ended
    }

    private let role: WebSocketRole
    private let limits: WebSocketLimits
    private var state = State.header
    private var input: ArraySlice<UInt8> = []
    private var position = 0
    /// The start of a control frame's payload whose rest is in the next chunk.
    private var control: [UInt8] = []
    private var message = PartialMessage()
    /// The decompressor, if compression was agreed on.
    private var inflater: MessageInflater?
    /// The reserved bits that a message's first frame may have set.
    private var reservedBits: UInt8 = 0
    /// The number of bytes that were made of compressed messages so far.
    private(set) var inflatedBytes = 0
    /// Whether compressed messages are passed over, because nobody wants them any more.
    var dropsCompressed = false

    /// Makes a decoder for the frames that the end with `role` receives.
    package init(
        role: WebSocketRole, limits: WebSocketLimits = .init(), compression: CompressionAgreement? = nil
    ) {
        self.role = role
        self.limits = limits
        if let compression { self.begin(compression) }
    }

    /// Expects compressed messages from now on.
    mutating func begin(_ compression: CompressionAgreement) {
        self.inflater = MessageInflater(compression, role: self.role, maximumBytes: self.limits.maxMessageBytes)
        self.reservedBits = FrameHeader.compressedBit
    }

    /// Whether a frame or a message has begun and not ended, and how many bytes of the message are here.
    var unfinishedBytes: Int? {
        let isInsideFrame = if case .payload = self.state { true } else { false }
        let isAny = isInsideFrame || self.message.kind != nil || self.position < self.input.endIndex
        return isAny ? self.message.byteCount + self.control.count : nil
    }

    /// Takes a chunk of received bytes.
    ///
    /// Call ``next()`` until it returns nil before the next chunk; otherwise what is left is copied to join the two.
    package mutating func append(_ chunk: ArraySlice<UInt8>) {
        if case .ended = self.state { return }
        if self.position == self.input.endIndex {
            self.input = chunk
        } else {
            self.input = (self.input[self.position...] + chunk)
        }
        self.position = self.input.startIndex
    }

    /// The next message or control frame, or nil if more bytes are needed.
    ///
    /// - Throws: What the peer did wrong, once; the messages before it have been returned by then.
    package mutating func next() throws(WebSocketProtocolError) -> Incoming? {
        do throws(WebSocketProtocolError) {
            while true {
                switch self.state {
                case .header:
                    guard let header = try self.readHeader() else { return self.starve() }
                    try self.admit(header)
                    if let incoming = try self.readWhole(header) { return incoming }
                case .payload(let frame):
                    guard frame.received == frame.length || self.position < self.input.endIndex else {
                        return self.starve()
                    }
                    if let incoming = try self.readPiece(frame) { return incoming }
                case .ended:
                    return nil
                }
            }
        } catch {
            self.end()
            throw error
        }
    }

    // MARK: Headers

    private mutating func readHeader() throws(WebSocketProtocolError) -> FrameHeader? {
        let (role, isInsideMessage, reservedBits) = (self.role, self.message.kind != nil, self.reservedBits)
        let offset = self.position - self.input.startIndex
        let header = try self.input.withUnsafeBufferPointer { bytes throws(WebSocketProtocolError) in
            try FrameHeader.parse(
                UnsafeBufferPointer(rebasing: bytes[offset...]), role: role, isInsideMessage: isInsideMessage,
                reservedBits: reservedBits)
        }
        if let header { self.position += header.size }
        return header
    }

    /// Checks a frame against the limits before a byte of it is stored.
    private func admit(_ header: FrameHeader) throws(WebSocketProtocolError) {
        guard !header.opcode.isControl else { return }
        guard UInt64(header.length) <= self.room(for: header) else {
            throw WebSocketProtocolError.tooBig(limit: self.limits.maxMessageBytes)
        }
        guard self.message.fragments < self.limits.maxFragments else {
            throw WebSocketProtocolError(
                .tooManyFragments,
                "a message has more than the \(self.limits.maxFragments) frames that are accepted here")
        }
    }

    /// The number of bytes that the message's next frame may have.
    private func room(for header: FrameHeader) -> UInt64 {
        if let inflater = self.inflater, header.isCompressed || self.message.isCompressed {
            return inflater.maximumWireBytes - self.message.wireBytes
        }
        return UInt64(max(self.limits.maxMessageBytes - self.message.byteCount, 0))
    }

    // MARK: Payloads

    /// Returns a frame that is complete in the chunk and needs no collecting, else prepares to collect it.
    // Inlined, and without a copy of what no mask hides, it saves a fortieth of a small message (W7).
    @inline(__always)
    private mutating func readWhole(_ frame: FrameHeader) throws(WebSocketProtocolError) -> Incoming? {
        let isAlone = frame.opcode != .continuation && frame.isFinal && !frame.isCompressed
        guard isAlone, self.input.endIndex - self.position >= frame.length else {
            if !frame.opcode.isControl { self.message.beginFrame(frame) }
            self.state = .payload(frame)
            return nil
        }
        let end = self.position + frame.length
        var payload = self.input[self.position..<end]
        if frame.mask != nil { payload = Self.unmasked(payload, of: frame) }
        self.position = end
        switch frame.opcode {
        case .text:
            guard UTF8Validator.isValid(payload) else { throw .invalidText }
            return .text(payload)
        case .binary, .continuation:
            return .binary(payload)
        case .close, .ping, .pong:
            return try self.control(frame.opcode, payload)
        }
    }

    /// Collects what the chunk has of a frame, and returns the message or control frame that this completes.
    private mutating func readPiece(_ partial: FrameHeader) throws(WebSocketProtocolError) -> Incoming? {
        let end = self.position + min(partial.length - partial.received, self.input.endIndex - self.position)
        let piece = self.input[self.position..<end]
        self.position = end
        if partial.opcode.isControl {
            self.control += Self.unmasked(piece, of: partial)
        } else if self.message.isCompressed {
            if !self.dropsCompressed { try self.inflate(piece, of: partial) }
        } else {
            try self.message.append(piece, of: partial, limit: self.limits.maxMessageBytes)
        }
        var frame = partial
        frame.received += piece.count
        guard frame.received == frame.length else {
            self.state = .payload(frame)
            return nil
        }
        self.state = .header
        return try self.finish(frame)
    }

    private mutating func inflate(
        _ piece: ArraySlice<UInt8>, of frame: FrameHeader
    ) throws(WebSocketProtocolError) {
        let before = self.message.byteCount
        defer { self.inflatedBytes += self.message.byteCount - before }
        try self.inflater?.inflate(Self.unmasked(piece, of: frame), into: &self.message)
    }

    /// The next bytes of a frame's payload as they were before they were masked.
    private static func unmasked(_ piece: ArraySlice<UInt8>, of frame: FrameHeader) -> ArraySlice<UInt8> {
        guard let mask = frame.mask else { return piece }
        var bytes = Array(piece)
        Masking.apply(Masking.rotate(mask, by: frame.received), to: &bytes, from: 0)
        return bytes[...]
    }

    private mutating func finish(_ frame: FrameHeader) throws(WebSocketProtocolError) -> Incoming? {
        guard frame.opcode.isControl else {
            guard frame.isFinal else { return nil }
            if self.message.isCompressed {
                guard !self.dropsCompressed else {
                    self.message = PartialMessage()
                    return nil
                }
                try self.inflater?.finish(into: &self.message)
            }
            let message = try self.message.finish()
            return message.isText ? .text(message.bytes) : .binary(message.bytes)
        }
        let payload = self.control[...]
        self.control = []
        return try self.control(frame.opcode, payload)
    }

    private mutating func control(
        _ opcode: Opcode, _ payload: ArraySlice<UInt8>
    ) throws(WebSocketProtocolError) -> Incoming {
        switch opcode {
        case .ping:
            return .ping(payload)
        case .pong:
            return .pong(payload)
        case .close, .continuation, .text, .binary:
            let close = try Self.close(payload)
            self.end()
            return close
        }
    }

    private static func close(_ payload: ArraySlice<UInt8>) throws(WebSocketProtocolError) -> Incoming {
        guard let first = payload.first else { return .close(nil, reason: "") }
        guard payload.count >= 2 else {
            throw WebSocketProtocolError(.closePayloadTooShort, "a Close frame has half a code")
        }
        let code = CloseCode(rawValue: UInt16(first) << 8 | UInt16(payload[payload.startIndex + 1]))
        guard code.canBeSent else {
            throw WebSocketProtocolError(.closeCodeInvalid, "a Close frame has a code that must not be sent")
        }
        let reason = payload.dropFirst(2)
        guard UTF8Validator.isValid(reason) else {
            throw WebSocketProtocolError(.invalidUTF8, "a close reason is not UTF-8")
        }
        return .close(code, reason: String(decoding: reason, as: UTF8.self))
    }

    // MARK: Ends

    /// Drops a chunk that is used up, but for the start of a header whose rest is in the next one.
    private mutating func starve() -> Incoming? {
        self.input = self.position < self.input.endIndex ? Array(self.input[self.position...])[...] : []
        self.position = 0
        return nil
    }

    private mutating func end() {
        self.state = .ended
        self.input = []
        self.message = PartialMessage()
        self.inflater = nil
    }
}
