/// The first bytes of a frame, checked against every rule that needs nothing else (RFC 6455 section 5.2).
struct FrameHeader: Sendable {
    /// The most bytes a header can have.
    static let maximumSize = 14

    /// The most bytes a control frame may carry.
    static let maximumControlPayload = 125

    /// RSV1, which permessage-deflate (RFC 7692 section 6) sets on the first frame of a compressed message.
    static let compressedBit: UInt8 = 0x40

    var opcode: Opcode
    var isFinal: Bool
    /// Whether it begins a compressed message.
    var isCompressed: Bool
    var mask: UInt32?
    /// The number of bytes of the payload, and how many of them have been taken.
    var length: Int
    var received = 0
    var size: Int

    /// Reads a header from the start of `bytes`, or returns nil if it is incomplete.
    ///
    /// `isInsideMessage` says whether a message has begun and not ended, which decides what data frames may follow;
    /// `reservedBits` which bits a frame may have set that begins a message.
    static func parse(
        _ bytes: UnsafeBufferPointer<UInt8>, role: WebSocketRole, isInsideMessage: Bool, reservedBits: UInt8
    ) throws(WebSocketProtocolError) -> Self? {
        guard bytes.count >= 1 else { return nil }
        let opcode = try Self.opcode(bytes[0], isInsideMessage: isInsideMessage, reservedBits: reservedBits)
        guard bytes.count >= 2 else { return nil }
        let isMasked = bytes[1] & 0x80 != 0
        let short = bytes[1] & 0x7F
        try Self.check(isMasked: isMasked, role: role)
        guard short <= 125 || !opcode.isControl else {
            throw WebSocketProtocolError(.oversizedControl, "a control frame has more than 125 bytes")
        }
        let lengthSize = short < 126 ? 0 : short == 126 ? 2 : 8
        let size = 2 + lengthSize + (isMasked ? 4 : 0)
        guard bytes.count >= size else { return nil }
        let length = lengthSize == 0 ? Int(short) : try Self.length(bytes, size: lengthSize)
        let mask = isMasked ? UInt32(truncatingIfNeeded: Self.number(bytes, at: size - 4, size: 4)) : nil
        return Self(
            opcode: opcode, isFinal: bytes[0] & 0x80 != 0, isCompressed: bytes[0] & Self.compressedBit != 0, mask: mask,
            length: length, size: size)
    }

    private static func opcode(
        _ first: UInt8, isInsideMessage: Bool, reservedBits: UInt8
    ) throws(WebSocketProtocolError) -> Opcode {
        guard let opcode = Opcode(rawValue: first & 0x0F) else {
            throw WebSocketProtocolError(.reservedOpcode, "the opcode of a frame is reserved")
        }
        guard first & 0x70 & ~(opcode == .text || opcode == .binary ? reservedBits : 0) == 0 else {
            throw WebSocketProtocolError(.reservedBits, "a reserved bit is set without an extension")
        }
        switch opcode {
        case .continuation where !isInsideMessage:
            throw WebSocketProtocolError(.unexpectedContinuation, "a continuation has no message to continue")
        case .text where isInsideMessage, .binary where isInsideMessage:
            throw WebSocketProtocolError(.interruptedMessage, "a message began before the last one ended")
        case .close where first & 0x80 == 0, .ping where first & 0x80 == 0, .pong where first & 0x80 == 0:
            throw WebSocketProtocolError(.fragmentedControl, "a control frame is fragmented")
        case .continuation, .text, .binary, .close, .ping, .pong:
            return opcode
        }
    }

    private static func check(isMasked: Bool, role: WebSocketRole) throws(WebSocketProtocolError) {
        guard isMasked || role == .client else {
            throw WebSocketProtocolError(.maskMissing, "a client sent an unmasked frame")
        }
        guard !isMasked || role == .server else {
            throw WebSocketProtocolError(.maskForbidden, "a server sent a masked frame")
        }
    }

    private static func length(
        _ bytes: UnsafeBufferPointer<UInt8>, size: Int
    ) throws(WebSocketProtocolError) -> Int {
        let length = Self.number(bytes, at: 2, size: size)
        guard length <= UInt64(Int64.max) else {
            throw WebSocketProtocolError(.lengthOutOfRange, "the highest bit of a length is set")
        }
        guard length >= (size == 2 ? 126 : 65536) else {
            throw WebSocketProtocolError(.lengthNotMinimal, "a length is written longer than needed")
        }
        return Int(clamping: length)
    }

    private static func number(_ bytes: UnsafeBufferPointer<UInt8>, at start: Int, size: Int) -> UInt64 {
        var number: UInt64 = 0
        for index in start..<start + size {
            number = number << 8 | UInt64(bytes[index])
        }
        return number
    }
}
