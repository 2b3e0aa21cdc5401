#if NIO
internal import NIOCore
internal import Linkspan

/// The bytes of a stream that wait to be sent.
struct Outbox {
    /// The most that is given to SwiftNIO at once, and reported as sent at once.
    private static let slice = 256 * 1024
    /// Buffers larger than this are given back.
    private static let keptRoom = 1024 * 1024

    /// The bytes that were written.
    private var waiting: [UInt8] = []
    /// The bytes that are being sent, slice by slice.
    private var leaving = ByteBuffer()
    /// The bytes of the slice that SwiftNIO has.
    private var given = 0
    private var takesMore = true
    private var isAboveMark = false
    private let lowWaterMark: Int
    private let highWaterMark: Int

    init(lowWaterMark: Int, highWaterMark: Int = .max) {
        self.lowWaterMark = lowWaterMark
        self.highWaterMark = highWaterMark
    }

    var pendingBytes: Int { self.waiting.count + self.leaving.readableBytes + self.given }

    /// Calls `fill` to append; says whether more waits now than the high-water mark.
    mutating func write(_ fill: (inout [UInt8]) -> Void) -> SendAcceptance {
        guard self.takesMore else { return .refused }
        fill(&self.waiting)
        let pending = self.pendingBytes
        if pending > self.lowWaterMark { self.isAboveMark = true }
        return pending > self.highWaterMark ? .acceptedAndFull : .accepted
    }

    mutating func refuseMore() { self.takesMore = false }

    mutating func end() {
        self = Self(lowWaterMark: self.lowWaterMark)
        self.takesMore = false
    }

    /// The next slice to send; nil when there is none, or the one before is under way.
    mutating func next(_ allocator: ByteBufferAllocator) -> ByteBuffer? {
        guard self.given == 0 else { return nil }
        if self.leaving.readableBytes == 0 {
            guard !self.waiting.isEmpty else { return nil }
            self.leaving = allocator.buffer(bytes: self.waiting)
            if self.waiting.capacity > Self.keptRoom {
                self.waiting = []
            } else {
                self.waiting.removeAll(keepingCapacity: true)
            }
        }
        let count = min(Self.slice, self.leaving.readableBytes)
        guard let slice = self.leaving.readSlice(length: count) else { return nil }
        if self.leaving.readableBytes == 0 { self.leaving = ByteBuffer() }
        self.given = count
        return slice
    }

    /// The system has taken the slice; returns whether the low-water mark was reached by that.
    mutating func sent() -> Bool {
        self.given = 0
        guard self.isAboveMark, self.pendingBytes <= self.lowWaterMark else { return false }
        self.isAboveMark = false
        return true
    }
}
#endif
