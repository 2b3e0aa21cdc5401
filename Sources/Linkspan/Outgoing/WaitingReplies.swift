internal import DequeModule

/// An answer that is still owed; touched on the connection's executor.
// Unchecked because the compiler cannot see that it is; the core alone touches it.
final class ReplyRight: @unchecked Sendable {
    private let id: UInt64
    /// The name of the message that is answered, where interceptors want to know.
    let event: String?
    private let link: any Link
    /// Whether an answer was given, or waits for room.
    fileprivate var isUsed = false

    init(id: UInt64, of event: String?, link: any Link) {
        self.id = id
        self.event = event
        self.link = link
    }

    /// Whether an answer would still be given: there was none, and the link is `current`.
    func isOpen(over current: (any Link)?) -> Bool { !self.isUsed && self.link === current }

    /// Answers, unless that has been done or the link is not `current`.
    ///
    /// An answer that the link would not take may be followed by another.
    ///
    /// - Returns: what became of it; nil when there was nothing to do.
    func use(_ payload: Payload, over current: (any Link)?) -> SendAcceptance? {
        guard self.isOpen(over: current) else { return nil }
        let acceptance = self.link.reply(to: self.id, with: payload)
        self.isUsed = acceptance == .accepted || acceptance == .acceptedAndFull
        return acceptance
    }
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
        right.isUsed = true
        // What a handler sends back as it came is a slice of a read.
        self.replies.append((right, payload.detached()))
        self.byteCount = bytes
        return true
    }

    mutating func popFirst() -> (right: ReplyRight, payload: Payload)? {
        guard let first = self.replies.popFirst() else { return nil }
        self.byteCount -= first.payload.byteCount
        first.right.isUsed = false
        return first
    }

    /// Puts an answer back that the link would not take yet.
    mutating func putBack(_ payload: Payload, by right: ReplyRight) {
        right.isUsed = true
        self.replies.prepend((right, payload))
        self.byteCount += payload.byteCount
    }
}
