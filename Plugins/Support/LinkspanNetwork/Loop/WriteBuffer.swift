package import Linkspan

/// The bytes of a stream that wait to be sent.
package struct WriteBuffer {
    /// The most that is sent at once, so that one stream cannot hold up the loop.
    private static let slice = 2 * 1024 * 1024
    /// Arrays larger than this are given back once they are sent.
    private static let keptCapacity = 1024 * 1024

    /// The bytes that were written.
    private var waiting: [UInt8] = []
    /// The bytes that are being sent, from `next` on.
    private var leaving: [UInt8] = []
    private var next = 0
    private var takesMore = true
    private var isAboveLowMark = false
    private let lowWaterMark: Int
    private let highWaterMark: Int

    package init(lowWaterMark: Int = 64 * 1024, highWaterMark: Int = .max) {
        self.lowWaterMark = lowWaterMark
        self.highWaterMark = highWaterMark
    }

    package var pendingBytes: Int { self.waiting.count + self.leaving.count - self.next }

    /// Calls `fill` to append, unless nothing more is taken.
    package mutating func write(_ fill: (inout [UInt8]) -> Void) -> SendAcceptance {
        guard self.takesMore else { return .refused }
        fill(&self.waiting)
        let pending = self.pendingBytes
        if pending > self.lowWaterMark { self.isAboveLowMark = true }
        return pending > self.highWaterMark ? .acceptedAndFull : .accepted
    }

    package mutating func refuseMore() { self.takesMore = false }

    /// Drops what waits, and takes nothing more.
    package mutating func end() {
        self = Self(lowWaterMark: self.lowWaterMark, highWaterMark: self.highWaterMark)
        self.takesMore = false
    }

    /// Passes the next bytes to `body`, if any wait; they wait until ``sent(_:)``.
    package mutating func withNext(_ body: (UnsafeBufferPointer<UInt8>) -> Void) {
        if self.next >= self.leaving.count { self.refill() }
        let end = self.next + min(Self.slice, self.leaving.count - self.next)
        guard end > self.next else { return }
        self.leaving.withUnsafeBufferPointer { body(UnsafeBufferPointer(rebasing: $0[self.next..<end])) }
    }

    /// The system has taken so many of the bytes that ``withNext(_:)`` passed.
    package mutating func sent(_ count: Int) { self.next += count }

    /// Whether the bytes that wait fell to the low-water mark since the last call, after having been above it.
    package mutating func takeWritable() -> Bool {
        guard self.isAboveLowMark, self.pendingBytes <= self.lowWaterMark else { return false }
        self.isAboveLowMark = false
        return true
    }

    private mutating func refill() {
        if self.leaving.capacity > Self.keptCapacity {
            self.leaving = []
        } else {
            self.leaving.removeAll(keepingCapacity: true)
        }
        swap(&self.waiting, &self.leaving)
        self.next = 0
    }
}
