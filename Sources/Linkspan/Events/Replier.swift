internal import LinkspanRuntime
internal import Logging

/// The right to answer one message once, while the link it came over is up.
final class Replier: Sendable {
    private let answer: @Sendable (Payload) -> Void

    /// Answers through a third party's connection.
    init(_ answer: @escaping @Sendable (Payload) -> Void) {
        let isOpen = Lock(true)
        self.answer = { payload in
            let isFirst = isOpen.withLock { isOpen in
                defer { isOpen = false }
                return isOpen
            }
            if isFirst { answer(payload) }
        }
    }

    /// Answers over a link of ours.
    ///
    /// - Parameters:
    ///   - id: the number of the message.
    ///   - event: its name, where interceptors want to know.
    ///   - link: the link it came over.
    ///   - core: the connection.
    init(id: UInt64, of event: String?, link: any Link, core: ConnectionCore) {
        let (inbox, reference) = (core.inbox, core.reference)
        let right = ReplyRight(id: id, of: event, link: link)
        self.answer = { payload in
            if let core = reference.inTurn {
                core.answer(right, payload)
            } else {
                inbox.post({ $0.answer(right, payload) }, to: reference)
            }
        }
    }

    func reply(_ payload: Payload) { self.answer(payload) }
}

/// An answer that is still owed; touched on the connection's executor.
// Unchecked because the compiler cannot see that it is; the core alone touches it.
final class ReplyRight: @unchecked Sendable {
    private let id: UInt64
    /// The name of the message that is answered, where interceptors want to know.
    let event: String?
    private let link: any Link
    private var isUsed = false

    init(id: UInt64, of event: String?, link: any Link) {
        self.id = id
        self.event = event
        self.link = link
    }

    /// Answers, unless that has been done or the link is not `current`.
    ///
    /// An answer that the link would not take may be followed by another.
    ///
    /// - Returns: what became of it; nil when there was nothing to do.
    func use(_ payload: Payload, over current: (any Link)?) -> SendAcceptance? {
        guard !self.isUsed, self.link === current else { return nil }
        let acceptance = self.link.reply(to: self.id, with: payload)
        self.isUsed = acceptance == .accepted || acceptance == .acceptedAndFull
        return acceptance
    }
}

extension ConnectionCore {
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
        switch self.calling({ right.use(payload, over: self.link) }) {
        case .accepted, nil: ()
        case .acceptedAndFull: self.commands.linkIsFull()
        case .refused: self.warn(ofReply: LinkspanError(.disconnected, "the link is full"))
        case .rejected(let error): self.warn(ofReply: error)
        }
    }

    /// Nobody waits for the outcome of a reply, so that the log alone can tell.
    private func warn(ofReply error: LinkspanError) {
        self.environment.logger.warning(
            "A reply was not sent", metadata: ["url": "\(self.destination.url)", "error": "\(error)"])
    }
}
