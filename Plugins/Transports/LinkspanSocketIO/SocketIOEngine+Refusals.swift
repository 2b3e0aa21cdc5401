internal import Linkspan

// MARK: - Whose message the server refuses

extension SocketIOEngine {
    /// Notes that a link is about to send.
    ///
    /// - Parameters:
    ///   - link: the link.
    ///   - request: the number of its request; nil for other messages, and for one that is sent once more.
    @inline(__always)
    func noteSend(of link: SocketIOLink, request: UInt64? = nil) {
        if !self.turns.isLatest(link.turn) { self.beginTurn(of: link) }
        link.turn.note(request: request)
    }

    private func beginTurn(of link: SocketIOLink) {
        // Over polling, by the answers to its POSTs.
        let hasAll = self.carrier.map { $0.tellsServerOfAbort && !$0.hasPendingBytes } ?? false
        if hasAll, self.takesMessages { self.turns.acceptedAll() }
        link.turn = self.turns.begin()
    }

    /// Finds the link whose message the server has refused: the only one that may have sent it.
    ///
    /// When there are several, or one that has left, the next links have a socket each.
    func judgeRefusal() {
        var senders = self.links.indices.filter { self.links[$0] != nil }
        if senders.count > 1 {
            senders = senders.filter { self.links[$0].map { self.turns.isOpen($0.turn) } ?? false }
        }
        guard senders.count == 1, !self.turns.isDepartedOpen else { return self.engines.separate(self.key) }
        self.refusedNamespace = senders[0]
    }
}
