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
        Self.append(
            opcode, isFinal: isFinal, isCompressed: isCompressed, length: payload.count, mask: mask, to: &output
        ) { $0.append(contentsOf: payload) }
    }

    /// Appends a frame whose payload, of exactly so many bytes, `write` writes.
    ///
    /// - Precondition: A control frame is final and has at most 125 bytes.
    @inline(__always)
    package static func append(
        _ opcode: Opcode, isFinal: Bool = true, isCompressed: Bool = false, length: Int, mask: UInt32?,
        to output: inout [UInt8], write: (inout ByteWriter) -> Void
    ) {
        output.append(upTo: FrameHeader.maximumSize + length) { writer in
            Self.writeHeader(
                opcode, isFinal: isFinal, reservedBits: isCompressed ? FrameHeader.compressedBit : 0, length: length,
                mask: mask, to: &writer)
            let start = writer.count
            write(&writer)
            precondition(writer.count - start == length, "the payload has another length than its header says")
            if let mask { Masking.apply(mask, to: writer.written(from: start)) }
        }
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

    @inline(__always)
    private static func writeHeader(
        _ opcode: Opcode, isFinal: Bool, reservedBits: UInt8, length: Int, mask: UInt32?, to writer: inout ByteWriter
    ) {
        precondition(
            !opcode.isControl || isFinal && length <= FrameHeader.maximumControlPayload,
            "a control frame is final and has at most 125 bytes, not \(length)")
        let masked: UInt8 = mask == nil ? 0 : 0x80
        writer.append((isFinal ? 0x80 : 0) | reservedBits | opcode.rawValue)
        switch length {
        case ...125:
            writer.append(masked | UInt8(length))
        case ...0xFFFF:
            writer.append(masked | 126)
            writer.append(number: UInt16(length))
        default:
            writer.append(masked | 127)
            writer.append(number: UInt64(length))
        }
        if let mask { writer.append(number: mask) }
    }
}
