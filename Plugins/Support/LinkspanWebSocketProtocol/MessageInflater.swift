private import CZlib

/// Decompresses the payloads of messages (RFC 7692 section 7.2.2), a piece at a time and never more than is allowed.
struct MessageInflater {
    /// The output that each call of zlib may give at most.
    private static let step = 16 * 1024

    private static let tail: [UInt8] = [0x00, 0x00, 0xFF, 0xFF]

    private let windowBits: Int
    private let forgets: Bool
    private let maximumBytes: Int
    private var stream: ZlibStream?
    /// The number of bytes of the message that have come, and that were made of them.
    private var consumed = 0
    private var produced = 0
    /// Whether the last block said it was the last, and nothing has come since.
    private var isAtRestart = false

    /// Makes what the end with `role` receives with.
    init(_ agreement: CompressionAgreement, role: WebSocketRole, maximumBytes: Int) {
        (self.windowBits, self.forgets) = agreement.sending(role == .client ? .server : .client)
        self.maximumBytes = maximumBytes
    }

    /// The most bytes a compressed message may have on the wire.
    ///
    /// What cannot be compressed grows by a little; beyond that there is only padding.
    var maximumWireBytes: UInt64 { UInt64(self.maximumBytes) + UInt64(self.maximumBytes) / 8 + 64 }

    /// Takes a piece of a message and appends what it holds to `message`.
    mutating func inflate(
        _ piece: ArraySlice<UInt8>, into message: inout PartialMessage
    ) throws(WebSocketProtocolError) {
        guard !piece.isEmpty else { return }
        self.isAtRestart = false
        try self.run(try self.ownStream(), piece, into: &message)
    }

    /// Ends the message, appending the rest of it.
    mutating func finish(into message: inout PartialMessage) throws(WebSocketProtocolError) {
        defer { (self.consumed, self.produced) = (0, 0) }
        // A sender whose message is empty may have had nothing to flush, and one that ended its stream needs no tail.
        guard self.consumed > 0, !self.isAtRestart else { return }
        let stream = try self.ownStream()
        // The tail is the rest of an empty block whose first bits end the message; otherwise that was cut off.
        guard inflateSyncPoint(stream.raw) == 1 else { throw .notInflatable }
        try self.run(stream, Self.tail[...], into: &message)
        if self.forgets, !stream.reset() { throw .notInflatable }
    }

    private mutating func run(
        _ stream: ZlibStream, _ piece: ArraySlice<UInt8>, into message: inout PartialMessage
    ) throws(WebSocketProtocolError) {
        var start = piece.startIndex
        while start < piece.endIndex {
            // zlib counts in 32 bits.
            let end = min(start + 1 << 30, piece.endIndex)
            try piece[start..<end].withUnsafeBufferPointer { bytes throws(WebSocketProtocolError) in
                try self.run(stream, bytes, into: &message)
            }
            start = end
        }
    }

    private mutating func run(
        _ stream: ZlibStream, _ bytes: UnsafeBufferPointer<UInt8>, into message: inout PartialMessage
    ) throws(WebSocketProtocolError) {
        stream.raw.pointee.next_in = UnsafeMutablePointer(mutating: bytes.baseAddress)
        stream.raw.pointee.avail_in = UInt32(bytes.count)
        try withUnsafeTemporaryAllocation(of: UInt8.self, capacity: Self.step) { room throws(WebSocketProtocolError) in
            var hasMore = true
            while hasMore {
                hasMore = try self.step(stream, room, into: &message)
            }
        }
    }

    /// Decompresses as much as there is room for; returns whether there may be more.
    private mutating func step(
        _ stream: ZlibStream, _ room: UnsafeMutableBufferPointer<UInt8>, into message: inout PartialMessage
    ) throws(WebSocketProtocolError) -> Bool {
        // One byte beyond the limit, to see whether it is exceeded.
        let capacity = min(self.maximumBytes - self.produced, Self.step - 1) + 1
        let available = stream.raw.pointee.avail_in
        stream.raw.pointee.next_out = room.baseAddress
        stream.raw.pointee.avail_out = UInt32(capacity)
        let status = CZlib.inflate(stream.raw, Z_SYNC_FLUSH)
        let rest = stream.raw.pointee.avail_in
        let count = capacity - Int(stream.raw.pointee.avail_out)
        self.consumed += Int(available - rest)
        self.produced += count
        guard self.produced <= self.maximumBytes else { throw WebSocketProtocolError.tooBig(limit: self.maximumBytes) }
        try message.append(UnsafeBufferPointer(rebasing: room[..<count]), limit: self.maximumBytes)
        switch status {
        case Z_OK:
            return count == capacity
        case Z_BUF_ERROR where rest == 0:
            return false
        case Z_STREAM_END where stream.reset():
            self.isAtRestart = rest == 0
            return rest > 0
        default:
            throw .notInflatable
        }
    }

    private mutating func ownStream() throws(WebSocketProtocolError) -> ZlibStream {
        let windowBits = self.windowBits
        guard let stream = self.stream.own(or: .inflating(windowBits: windowBits)) else { throw .notInflatable }
        return stream
    }
}

extension WebSocketProtocolError {
    fileprivate static var notInflatable: Self {
        Self(.invalidCompressedData, "a compressed message cannot be decompressed")
    }
}
