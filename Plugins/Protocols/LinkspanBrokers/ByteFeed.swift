internal import Linkspan

/// The bytes of a stream that comes in WebSocket messages whose bounds mean nothing.
struct ByteFeed: Sendable {
    private var bytes: [UInt8] = []
    private var start = 0

    /// The received bytes that were not taken.
    var rest: ArraySlice<UInt8> { self.bytes[self.start...] }

    /// Adds received bytes.
    mutating func append(_ more: ArraySlice<UInt8>) {
        if self.start == self.bytes.count {
            (self.bytes, self.start) = (Array(more), 0)
        } else {
            self.bytes.removeFirst(self.start)
            self.start = 0
            self.bytes += more
        }
    }

    /// Takes so many bytes, of those that have come.
    mutating func take(_ count: Int) -> ArraySlice<UInt8> {
        defer { self.start += count }
        return self.rest.prefix(count)
    }

    /// Refuses more events in one WebSocket message than memory should be spent on.
    static func check(_ count: Int) throws(LinkspanError) {
        guard count <= 65_536 else {
            throw LinkspanError(.protocolViolation, "one message brings more than 65,536 events")
        }
    }
}
