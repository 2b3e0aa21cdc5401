internal import DequeModule
internal import LinkspanRuntime

/// The right to answer a message once, over the link that brought it.
struct ReplyRight: Sendable {
    /// The number by which the link knows the answer.
    let id: UInt64
    /// The name of the message that is answered, where interceptors want to know.
    let event: String?
    /// The number of the link.
    let epoch: UInt64
    /// Whether an answer was given, or waits for room; looked at on the executor of the connection with that link.
    let isUsed: Confined<Bool>

    /// Whether an answer would still be given: there was none, and the connection has the same link.
    func isOpen(over epoch: UInt64?) -> Bool { self.epoch == epoch && !self.isUsed.value }
}

/// Answers that wait until their link has room again.
///
/// A link has no bound of its own: it takes what it is given. So a peer that asks on and reads slowly would fill the
/// memory with answers. Reading from the peer goes on meanwhile: if neither side read, both would wait for ever.
struct WaitingReplies {
    private var replies: Deque<(right: ReplyRight, payload: Payload)> = []
    private var byteCount = 0

    var count: Int { self.replies.count }

    /// Adds an answer at the end, unless it is beyond the limits; one answer always has room.
    ///
    /// - Returns: whether there was room.
    mutating func append(_ payload: Payload, by right: ReplyRight, within limits: BufferLimits) -> Bool {
        let bytes = self.byteCount + payload.byteCount
        guard self.replies.isEmpty || self.replies.count < limits.commands && bytes <= limits.bytes else {
            return false
        }
        right.isUsed.value = true
        // What a handler sends back as it came is a slice of a read.
        self.replies.append((right, payload.detached()))
        self.byteCount = bytes
        return true
    }

    mutating func popFirst() -> (right: ReplyRight, payload: Payload)? {
        guard let first = self.replies.popFirst() else { return nil }
        self.byteCount -= first.payload.byteCount
        first.right.isUsed.value = false
        return first
    }

    /// Puts an answer back that the link would not take yet.
    mutating func putBack(_ payload: Payload, by right: ReplyRight) {
        right.isUsed.value = true
        self.replies.prepend((right, payload))
        self.byteCount += payload.byteCount
    }
}
