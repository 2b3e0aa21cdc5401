#if LWS
private import CLibwebsockets
internal import Linkspan

/// The bytes of a stream that wait to be sent.
struct Outbox {
    /// The most that is sent at once, so that one stream cannot hold up the loop.
    private static let slice = 256 * 1024
    /// Buffers larger than this are given back.
    private static let keptRoom = 1024 * 1024

    /// The bytes that were written.
    private var waiting: [UInt8] = []
    /// The bytes that are being sent, from `next` on.
    private var leaving: [UInt8] = []
    private var next = 0
    private var takesMore = true
    private var isAboveMark = false
    private let lowWaterMark: Int
    private let highWaterMark: Int

    init(lowWaterMark: Int, highWaterMark: Int = .max) {
        self.lowWaterMark = lowWaterMark
        self.highWaterMark = highWaterMark
    }

    private init(ended lowWaterMark: Int) {
        self.lowWaterMark = lowWaterMark
        self.highWaterMark = .max
        self.takesMore = false
    }

    var pendingBytes: Int { self.waiting.count + self.leaving.count - self.next }

    /// Calls `fill` to append; says whether more waits now than the high-water mark.
    mutating func write(_ fill: (inout [UInt8]) -> Void) -> SendAcceptance {
        guard self.takesMore else { return .refused }
        fill(&self.waiting)
        let pending = self.pendingBytes
        if pending > self.lowWaterMark { self.isAboveMark = true }
        return pending > self.highWaterMark ? .acceptedAndFull : .accepted
    }

    mutating func refuseMore() { self.takesMore = false }

    mutating func end() { self = Self(ended: self.lowWaterMark) }

    enum OnSend { case failed, sent(isMore: Bool, isDrained: Bool) }

    /// Sends a slice, as far as the system takes it.
    mutating func send(over socket: OpenSocket) -> OnSend {
        if self.next >= self.leaving.count { self.refill() }
        let (start, count) = (self.next, min(Self.slice, self.leaving.count - self.next))
        guard count > 0 else { return self.sent() }
        var sent = 0
        let outcome = self.leaving.withUnsafeBufferPointer { bytes in
            bytes.baseAddress.map { clws_send(socket.descriptor, socket.tls, $0 + start, count, &sent) }
        }
        guard outcome != .over else { return .failed }
        self.next += sent
        return self.sent()
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
        self.next = 0
    }
}
#endif
