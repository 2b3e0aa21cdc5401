private import CLibwebsockets

extension ByteStream {
    /// The bytes that wait to be sent, and whether the loop knows that there are some.
    struct Outbox: Sendable {
        /// The bytes the library wants in front of what it sends.
        static let headRoom = clws_head_room()

        private enum Phase: Sendable { case opening, open, refusing, ended }

        private var phase = Phase.opening
        /// Starts with the head room, or is empty.
        private var buffer: [UInt8] = []
        /// Bytes that the loop has taken out and the system has not taken over.
        private var inFlight = 0
        /// Whether the loop will come for the bytes without being asked.
        private var isRequested = true
        private var isAboveMark = false
        private let lowWaterMark: Int

        init(lowWaterMark: Int) { self.lowWaterMark = lowWaterMark }

        var pendingBytes: Int { max(0, self.buffer.count - Self.headRoom) + self.inFlight }
    }
}

extension ByteStream.Outbox {
    /// Lets `fill` append; returns the bytes pending and whether the loop has to be asked to come.
    mutating func write(_ fill: (inout [UInt8]) -> Void) -> (pending: Int?, isRequest: Bool) {
        switch self.phase {
        case .refusing, .ended: return (nil, false)
        case .opening, .open: ()
        }
        if self.buffer.isEmpty { self.buffer.append(contentsOf: repeatElement(0, count: Self.headRoom)) }
        fill(&self.buffer)
        precondition(self.buffer.count >= Self.headRoom, "the bytes in front of a write were removed")
        let pending = self.pendingBytes
        if pending > self.lowWaterMark { self.isAboveMark = true }
        let isRequest = !self.isRequested && pending > 0
        if isRequest { self.isRequested = true }
        return (pending, isRequest)
    }

    /// Returns whether there are bytes to be sent already.
    mutating func open() -> Bool {
        guard case .opening = self.phase else { return false }
        self.phase = .open
        self.isRequested = self.pendingBytes > 0
        return self.isRequested
    }

    mutating func refuseMore() {
        if self.phase != .ended { self.phase = .refusing }
    }

    mutating func end() {
        self.phase = .ended
        self.buffer = []
        self.inFlight = 0
    }

    /// Swaps the waiting bytes for `spent`, an empty array whose room is used for the next ones.
    mutating func take(_ spent: inout [UInt8]) {
        swap(&self.buffer, &spent)
        self.inFlight = max(0, spent.count - Self.headRoom)
    }

    /// Notes what the system took over; `left` bytes of those taken out are still here.
    ///
    /// Returns whether the loop has to come again, and whether the writer has to be told of the drain.
    mutating func sent(left: Int) -> (isMore: Bool, isDrained: Bool) {
        guard self.phase != .ended else { return (false, false) }
        self.inFlight = left
        let pending = self.pendingBytes
        self.isRequested = pending > 0
        let isDrained = self.isAboveMark && pending <= self.lowWaterMark
        if isDrained { self.isAboveMark = false }
        return (self.isRequested, isDrained)
    }
}
