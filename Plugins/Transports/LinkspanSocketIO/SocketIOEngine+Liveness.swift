internal import Linkspan
internal import LinkspanNetwork
internal import LinkspanRuntime

extension SocketIOEngine {
    /// Whether the server has been silent for too long, as far as is known.
    func isOverdue() -> Bool {
        if let heard = self.carrier?.lastHeard { self.owned?.session.heard(at: heard) }
        self.heartbeatDeadline = self.owned?.look(\.heartbeatDeadline) ?? nil
        return self.heartbeatDeadline.map { $0 <= self.now } ?? false
    }

    /// Whether the next attachment of a packet is overdue, and no part of it comes.
    func isAttachmentOverdue() -> Bool {
        guard self.owned?.look({ $0.isAttachmentOverdue(now: self.now) }) == true else { return false }
        guard self.carrier?.isReceiving == true else { return true }
        self.owned?.session.putOffAttachment(now: self.now)
        return false
    }

    /// Whether the server has sent a part of a frame, as far as anything is read.
    var isReceiving: Bool { self.pausing.isEmpty && self.carrier?.isReceiving == true }

    /// The reason for the end of a namespace's link: that of a socket from which a link had nothing read is the other
    /// links', too, and that of a message which the server has refused is not.
    func causeOfEnd(_ error: LinkspanError, of namespace: Int) -> LinkspanError {
        if error.code == .messageRefused, namespace != self.refusedNamespace {
            return LinkspanError(.connectionLost, "the socket ended with a message of another namespace", cause: error)
        }
        guard !self.pausing.isEmpty, error.code == .heartbeatMissed else { return error }
        return LinkspanError(.slowConsumer, "a full sequence had paused reading when the link ended", cause: error)
    }
}
