private import CZlib

/// Makes frames of messages, compressed where that is agreed on and pays (RFC 7692 section 7.2.1).
///
/// The frames must be sent in the order in which they were made: each may refer to those before.
package struct MessageCompressor {
    private static let step = 16 * 1024
    private static let tail: [UInt8] = [0x00, 0x00, 0xFF, 0xFF]
    /// zlib counts in 32 bits; what is larger is sent as it is.
    private static let maximumBytes = 1 << 30

    // Small, because every session has room for them, whether it compresses or not.
    private let threshold: Int
    private let windowBits: Int8
    private let forgets: Bool
    private var stream: ZlibStream?

    /// Makes a compressor for the end with `role`.
    package init(_ agreement: CompressionAgreement, role: WebSocketRole) {
        let (windowBits, forgets) = agreement.sending(role)
        self.threshold = max(agreement.options.threshold, 1)
        self.windowBits = Int8(clamping: windowBits)
        self.forgets = forgets
    }

    /// Appends a message in one frame.
    ///
    /// - Precondition: `opcode` is text or binary.
    package mutating func append(
        _ opcode: Opcode, payload: ArraySlice<UInt8>, mask: UInt32?, to output: inout [UInt8]
    ) {
        let compressed = self.compress(payload)
        FrameEncoder.append(
            opcode, isCompressed: compressed != nil, payload: compressed ?? payload, mask: mask, to: &output)
    }

    /// The compressed payload, or nil if it is to be sent as it is.
    private mutating func compress(_ payload: ArraySlice<UInt8>) -> ArraySlice<UInt8>? {
        // Empty messages would leave zlib nothing to flush. A window of 8 bits is legal, but zlib has no compression
        // for it; not to compress is legal, too.
        let windowBits = Int(self.windowBits)
        guard payload.count >= self.threshold, payload.count <= Self.maximumBytes, windowBits > 8,
            let stream = self.stream.own(or: .deflating(windowBits: windowBits))
        else { return nil }
        var output: [UInt8] = []
        let isDone = payload.withUnsafeBufferPointer { Self.run(stream, $0, into: &output) }
        guard isDone, output.suffix(4) == Self.tail[...], !self.forgets || stream.reset() else {
            // What the peer has not seen must not be referred to.
            self.stream = nil
            return nil
        }
        let compressed = output.dropLast(4)
        return self.forgets && compressed.count >= payload.count ? nil : compressed
    }

    private static func run(
        _ stream: ZlibStream, _ payload: UnsafeBufferPointer<UInt8>, into output: inout [UInt8]
    ) -> Bool {
        output.reserveCapacity(min(payload.count, Self.step))
        stream.raw.pointee.next_in = UnsafeMutablePointer(mutating: payload.baseAddress)
        stream.raw.pointee.avail_in = UInt32(payload.count)
        return withUnsafeTemporaryAllocation(of: UInt8.self, capacity: Self.step) { room in
            repeat {
                stream.raw.pointee.next_out = room.baseAddress
                stream.raw.pointee.avail_out = UInt32(Self.step)
                let status = deflate(stream.raw, Z_SYNC_FLUSH)
                guard status == Z_OK || status == Z_BUF_ERROR else { return false }
                output.append(contentsOf: room[..<(Self.step - Int(stream.raw.pointee.avail_out))])
            } while stream.raw.pointee.avail_out == 0
            return stream.raw.pointee.avail_in == 0
        }
    }
}
