private import CLibwebsockets

/// Sends the bytes of an outbox in slices, one for each chance that the library gives.
struct StreamWriter {
    /// The most that is handed over at once: the library copies what the system does not take.
    private static let slice = 256 * 1024
    /// A buffer with more room than this is not kept for the next bytes.
    private static let keptRoom = 1024 * 1024

    private var buffer: [UInt8] = []
    private var next = 0

    enum OnWritable { case failed, sent(isMore: Bool, isDrained: Bool) }

    mutating func write(to connection: OpaquePointer, from stream: ByteStream) -> OnWritable {
        if self.next >= self.buffer.count { self.refill(from: stream) }
        let count = min(Self.slice, self.buffer.count - self.next)
        var held = 0
        if count > 0 {
            let start = self.next
            let result = self.buffer.withUnsafeMutableBufferPointer { bytes in
                bytes.baseAddress.map { clws_write(connection, $0 + start, count) } ?? -1
            }
            guard result >= 0 else { return .failed }
            self.next += count
            // The library keeps the rest of a slice, and gives the next chance once that is gone.
            if lws_partial_buffered(connection) != 0 { held = count }
        }
        let left = self.buffer.count - self.next + held
        let (isMore, isDrained) = stream.withOutbox { $0.sent(left: left) }
        return .sent(isMore: isMore, isDrained: isDrained)
    }

    private mutating func refill(from stream: ByteStream) {
        if self.buffer.capacity > Self.keptRoom {
            self.buffer = []
        } else {
            self.buffer.removeAll(keepingCapacity: true)
        }
        stream.withOutbox { $0.take(&self.buffer) }
        self.next = min(self.buffer.count, ByteStream.Outbox.headRoom)
    }
}
