/// Writes frames to the end of a buffer (RFC 6455 section 5.2).
///
/// A payload is copied once, from where it is to where it is sent from, and masked there. Clients give a mask, a fresh
/// one for each frame; servers give nil.
package enum FrameEncoder {
    /// Appends a frame with one payload.
    ///
    /// - Precondition: A control frame is final and has at most 125 bytes.
    package static func append(
        _ opcode: Opcode, isFinal: Bool = true, isCompressed: Bool = false, payload: some Collection<UInt8>,
        mask: UInt32?, to output: inout [UInt8]
    ) {
        let reservedBits = isCompressed ? FrameHeader.compressedBit : 0
        Self.withHeader(opcode, isFinal: isFinal, reservedBits: reservedBits, length: payload.count, mask: mask) {
            output.append(contentsOf: $0)
        }
        let start = output.count
        output.append(contentsOf: payload)
        if let mask { Masking.apply(mask, to: &output, from: start) }
    }

    /// Appends a frame whose payload `write` appends to the buffer.
    ///
    /// The header's place is kept by `expectedLength`. A wrong guess is right all the same: the payload is then moved
    /// by a few bytes if its header has another size, which changes at 126 and at 65,536 bytes.
    ///
    /// - Precondition: `write` only appends; a control frame is final and has at most 125 bytes.
    package static func append(
        _ opcode: Opcode, isFinal: Bool = true, expectedLength: Int, mask: UInt32?, to output: inout [UInt8],
        write: (inout [UInt8]) -> Void
    ) {
        let frame = output.count
        Self.withHeader(opcode, isFinal: isFinal, length: expectedLength, mask: mask) { output.append(contentsOf: $0) }
        let start = output.count
        write(&output)
        precondition(output.count >= start, "the payload's writer removed bytes that were not its own")
        let length = output.count - start
        if length != expectedLength {
            Self.withHeader(opcode, isFinal: isFinal, length: length, mask: mask) { header in
                output.replaceSubrange(frame..<start, with: header)
            }
        }
        if let mask { Masking.apply(mask, to: &output, from: output.count - length) }
    }

    /// Appends a Close frame; without a code it is empty.
    ///
    /// A reason longer than the 123 bytes there is room for is cut after a whole character.
    ///
    /// - Precondition: The code may be sent.
    package static func appendClose(_ code: CloseCode?, reason: String = "", mask: UInt32?, to output: inout [UInt8]) {
        guard let code else { return Self.append(.close, payload: [], mask: mask, to: &output) }
        precondition(code.canBeSent, "the close code \(code.rawValue) must not be sent")
        let number = [UInt8(code.rawValue >> 8), UInt8(code.rawValue & 0xFF)]
        Self.append(.close, payload: number + Self.fitting(reason), mask: mask, to: &output)
    }

    /// As many bytes of `reason` as fit behind a code, not ending inside a Unicode scalar.
    private static func fitting(_ reason: String) -> Substring.UTF8View {
        let room = FrameHeader.maximumControlPayload - 2
        guard let limit = reason.utf8.index(reason.startIndex, offsetBy: room, limitedBy: reason.endIndex) else {
            return reason[...].utf8
        }
        var end = limit
        while end > reason.startIndex, end.samePosition(in: reason.unicodeScalars) == nil {
            end = reason.utf8.index(before: end)
        }
        return reason[..<end].utf8
    }

    private static func withHeader(
        _ opcode: Opcode, isFinal: Bool, reservedBits: UInt8 = 0, length: Int, mask: UInt32?,
        _ body: (UnsafeBufferPointer<UInt8>) -> Void
    ) {
        precondition(
            !opcode.isControl || isFinal && length <= FrameHeader.maximumControlPayload,
            "a control frame is final and has at most 125 bytes, not \(length)")
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: FrameHeader.maximumSize) { bytes in
            let masked: UInt8 = mask == nil ? 0 : 0x80
            bytes[0] = (isFinal ? 0x80 : 0) | reservedBits | opcode.rawValue
            var size = 2
            switch length {
            case ...125:
                bytes[1] = masked | UInt8(length)
            case ...0xFFFF:
                bytes[1] = masked | 126
                size = Self.write(UInt64(length), bytes: 2, to: bytes, at: size)
            default:
                bytes[1] = masked | 127
                size = Self.write(UInt64(length), bytes: 8, to: bytes, at: size)
            }
            if let mask {
                size = Self.write(UInt64(mask), bytes: 4, to: bytes, at: size)
            }
            body(UnsafeBufferPointer(rebasing: bytes[..<size]))
        }
    }

    private static func write(
        _ number: UInt64, bytes count: Int, to bytes: UnsafeMutableBufferPointer<UInt8>, at start: Int
    ) -> Int {
        for index in 0..<count {
            bytes[start + index] = UInt8(truncatingIfNeeded: number >> UInt64(8 * (count - 1 - index)))
        }
        return start + count
    }
}
