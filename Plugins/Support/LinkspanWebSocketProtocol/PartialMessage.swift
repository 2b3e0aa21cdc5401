/// A message whose end has not arrived: its bytes so far, and where its text stands.
struct PartialMessage: Sendable {
    /// The most that is reserved because a peer announced it and not because it sent it.
    private static let maximumReservation = 64 * 1024

    /// Text or binary, or nil if no message has begun.
    private(set) var kind: Opcode?

    /// The number of frames of the message that have begun.
    private(set) var fragments = 0

    /// Whether its received bytes have to be decompressed.
    private(set) var isCompressed = false

    /// The number of bytes of its frames on the wire, the part included that has not arrived.
    private(set) var wireBytes: UInt64 = 0

    private var bytes: [UInt8] = []
    private var utf8 = UTF8Validator()

    var byteCount: Int { self.bytes.count }

    /// The number of bytes that there is memory for.
    var capacity: Int { self.bytes.capacity }

    /// Notes a further frame, which is the first if no message has begun.
    mutating func beginFrame(_ frame: FrameHeader) {
        if self.kind == nil {
            self.kind = frame.opcode
            self.isCompressed = frame.isCompressed
        }
        self.fragments += 1
        self.wireBytes += UInt64(frame.length)
    }

    /// Takes a piece of a frame's payload; with it the message has at most `limit` bytes.
    mutating func append(
        _ piece: ArraySlice<UInt8>, of frame: FrameHeader, limit: Int
    ) throws(WebSocketProtocolError) {
        let start = self.bytes.count
        if start == 0 {
            self.bytes.reserveCapacity(max(piece.count, min(frame.length, Self.maximumReservation)))
        } else {
            self.bytes.makeRoom(for: piece.count, most: limit)
        }
        self.bytes.append(contentsOf: piece)
        if let mask = frame.mask {
            Masking.apply(Masking.rotate(mask, by: frame.received), to: &self.bytes, from: start)
        }
        guard self.kind == .text else { return }
        let isValid = self.bytes.withUnsafeBufferPointer {
            self.utf8.accept(UnsafeBufferPointer(rebasing: $0[start...]))
        }
        guard isValid else { throw .invalidText }
    }

    /// Takes bytes that were decompressed; with them the message has at most `limit` bytes.
    mutating func append(_ inflated: UnsafeBufferPointer<UInt8>, limit: Int) throws(WebSocketProtocolError) {
        guard self.kind != .text || self.utf8.accept(inflated) else { throw .invalidText }
        self.bytes.makeRoom(for: inflated.count, most: limit)
        self.bytes.append(contentsOf: inflated)
    }

    /// Ends the message and hands its bytes out; the next begins from nothing.
    ///
    /// - Returns: text or binary, and its bytes.
    mutating func finish() throws(WebSocketProtocolError) -> (isText: Bool, bytes: ArraySlice<UInt8>) {
        guard self.utf8.isComplete else { throw .invalidText }
        let bytes = self.bytes[...]
        let isText = self.kind == .text
        self = Self()
        return (isText, bytes)
    }
}

extension WebSocketProtocolError {
    static var invalidText: Self { Self(.invalidUTF8, "a text message is not UTF-8") }
}
