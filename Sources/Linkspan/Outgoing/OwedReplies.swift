internal import DequeModule
internal import Logging

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
    fileprivate func isOpen(over current: (any Link)?) -> Bool { !self.isUsed && self.link === current }

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
    fileprivate mutating func append(_ payload: Payload, by right: ReplyRight, within limits: BufferLimits) -> Bool {
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

    fileprivate mutating func popFirst() -> (right: ReplyRight, payload: Payload)? {
        guard let first = self.replies.popFirst() else { return nil }
        self.byteCount -= first.payload.byteCount
        first.right.isUsed = false
        return first
    }

    /// Puts an answer back that the link would not take yet.
    fileprivate mutating func putBack(_ payload: Payload, by right: ReplyRight) {
        right.isUsed = true
        self.replies.prepend((right, payload))
        self.byteCount += payload.byteCount
    }
}

extension ConnectionCore {
    /// Gives an answer to the link; while the link takes none, the answer waits.
    func answer(_ right: ReplyRight, _ payload: Payload) {
        var payload = payload
        if let chain = self.chain, let event = right.event {
            do throws(LinkspanError) {
                payload = try self.intercept(replyTo: event, payload, chain)
            } catch {
                self.noteDrop(error)
                return self.warn(ofReply: error)
            }
        }
        if self.waitingReplies != nil || !self.give(payload, right) { self.keep(payload, right) }
    }

    /// The link has room: first for the answers that wait, then for commands.
    func linkIsWritable() {
        if var waiting = self.waitingReplies.take() {
            while self.waitingReplies == nil, let (right, payload) = waiting.popFirst() {
                if !self.give(payload, right) { waiting.putBack(payload, by: right) }
            }
            // It takes no more.
            guard self.waitingReplies == nil else { return self.waitingReplies = waiting }
        }
        self.commands.linkIsWritable(effects: &self.effects)
    }

    /// Gives an answer to the link.
    ///
    /// - Returns: false when the link takes it later, if it does not end first.
    private func give(_ payload: Payload, _ right: ReplyRight) -> Bool {
        guard let acceptance = self.calling({ right.use(payload, over: self.link) }) else { return true }
        switch acceptance {
        case .accepted:
            self.commands.noteReply()
            return true
        case .acceptedAndFull:
            self.commands.noteReply()
            self.stopReplying()
            return true
        case .refused:
            self.stopReplying()
            return false
        case .rejected(let error):
            self.warn(ofReply: error)
            return true
        }
    }

    /// The link takes no more for now.
    private func stopReplying() {
        self.commands.linkIsFull()
        self.waitingReplies = WaitingReplies()
    }

    private func keep(_ payload: Payload, _ right: ReplyRight) {
        guard right.isOpen(over: self.link), var waiting = self.waitingReplies.take() else { return }
        let isKept = waiting.append(payload, by: right, within: self.destination.options.buffer)
        self.waitingReplies = waiting
        guard !isKept else { return }
        self.warn(ofReply: LinkspanError(.bufferFull, "the link is full, and \(waiting.count) replies wait for it"))
    }

    /// Nobody waits for the outcome of a reply, so that the log alone can tell.
    private func warn(ofReply error: LinkspanError) {
        self.environment.logger.warning(
            "A reply was not sent", metadata: ["url": "\(self.destination.url)", "error": "\(error)"])
    }
}

extension Replier {
    /// Answers over a link of ours.
    ///
    /// - Parameters:
    ///   - id: the number of the message.
    ///   - event: its name, where interceptors want to know.
    ///   - link: the link it came over.
    ///   - core: the connection.
    convenience init(id: UInt64, of event: String?, link: any Link, core: ConnectionCore) {
        let (inbox, reference) = (core.inbox, core.reference)
        let right = ReplyRight(id: id, of: event, link: link)
        self.init { payload in
            if let core = reference.inTurn {
                core.answer(right, payload)
            } else {
                inbox.post({ $0.answer(right, payload) }, to: reference)
            }
        }
    }
}
