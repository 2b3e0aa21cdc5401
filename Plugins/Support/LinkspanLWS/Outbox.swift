#if LWS
private import CLibwebsockets

/// The bytes of a stream that wait to be sent.
struct Outbox {
    /// The bytes the library wants in front of what it sends.
    private static var headRoom: Int { clws_head_room() }
    /// The most that is given to the library at once, so that one stream cannot hold up the loop.
    private static let slice = 256 * 1024
    /// Buffers larger than this are given back.
    private static let keptRoom = 1024 * 1024

    /// The bytes that were written; starts with the head room, or is empty.
    private var waiting: [UInt8] = []
    /// The bytes that are being sent, from `next` on.
    private var leaving: [UInt8] = []
    private var next = 0
    /// Bytes that the library holds because the system did not take them.
    private var held = 0
    private var takesMore = true
    private var isAboveMark = false
    private let lowWaterMark: Int

    init(lowWaterMark: Int) { self.lowWaterMark = lowWaterMark }

    private init(ended lowWaterMark: Int) {
        self.lowWaterMark = lowWaterMark
        self.takesMore = false
    }

    var pendingBytes: Int { max(0, self.waiting.count - Self.headRoom) + self.leaving.count - self.next + self.held }

    /// Calls `fill` to append; returns the bytes pending, or nil when nothing more is taken.
    mutating func write(_ fill: (inout [UInt8]) -> Void) -> Int? {
        guard self.takesMore else { return nil }
        if self.waiting.isEmpty { self.waiting.append(contentsOf: repeatElement(0, count: Self.headRoom)) }
        fill(&self.waiting)
        precondition(self.waiting.count >= Self.headRoom, "the bytes in front of a write were removed")
        let pending = self.pendingBytes
        if pending > self.lowWaterMark { self.isAboveMark = true }
        return pending
    }

    mutating func refuseMore() { self.takesMore = false }

    mutating func end() { self = Self(ended: self.lowWaterMark) }

    enum OnSend { case failed, sent(isMore: Bool, isDrained: Bool) }

    /// Gives a slice to the library.
    mutating func send(over connection: OpaquePointer) -> OnSend {
        self.held = 0
        let sent = self.sendSlice { bytes, count in clws_write(connection, bytes, count) < 0 ? nil : count }
        guard let sent else { return .failed }
        // The library keeps the rest of a slice, and gives the next chance once that is gone.
        if sent > 0, lws_partial_buffered(connection) != 0 { self.held = sent }
        return self.sent()
    }

    /// Sends a slice, as far as the system takes it.
    mutating func send(over socket: OpenSocket) -> OnSend {
        let sent = self.sendSlice { bytes, count in
            var sent = 0
            return clws_send(socket.descriptor, socket.tls, bytes, count, &sent) == .over ? nil : sent
        }
        return sent == nil ? .failed : self.sent()
    }

    /// Sends a slice by `write`; returns how many bytes it took, or nil when it failed.
    private mutating func sendSlice(_ write: (UnsafeMutablePointer<UInt8>, Int) -> Int?) -> Int? {
        if self.next >= self.leaving.count { self.refill() }
        let (start, count) = (self.next, min(Self.slice, self.leaving.count - self.next))
        guard count > 0 else { return 0 }
        let sent = self.leaving.withUnsafeMutableBufferPointer { bytes in
            bytes.baseAddress.flatMap { write($0 + start, count) }
        }
        self.next += sent ?? 0
        return sent
    }

    private mutating func sent() -> OnSend {
        let pending = self.pendingBytes
        let isDrained = self.isAboveMark && pending <= self.lowWaterMark
        if isDrained { self.isAboveMark = false }
        return .sent(isMore: pending > 0, isDrained: isDrained)
    }

    private mutating func refill() {
        if self.leaving.capacity > Self.keptRoom {
            self.leaving = []
        } else {
            self.leaving.removeAll(keepingCapacity: true)
        }
        swap(&self.waiting, &self.leaving)
        self.next = min(self.leaving.count, Self.headRoom)
    }
}
#endif
