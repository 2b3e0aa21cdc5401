/// The turns in which the links of an engine send, which tell whose message a server may have refused.
///
/// A turn is what one link sends until another one does. A server reads in order: by the answer to a request it proves that
/// it has accepted all turns before that of the request, and its own up to there.
struct SendTurns: Sendable {
    /// The latest turn of a link.
    struct Turn: Sendable {
        fileprivate var number = 0
        /// The first request that was sent in it.
        fileprivate var first: UInt64?
        /// The latest message, when it was a request.
        fileprivate var last: UInt64?

        /// Notes a message.
        ///
        /// - Parameter request: its number; nil when it is none, or is sent once more, so that the answer may be to the
        ///   former time.
        mutating func note(request: UInt64?) {
            self.first = self.first ?? request
            self.last = request
        }
    }

    private var latest = 1
    /// The first turn that is not known to be accepted.
    private var firstOpen = 1
    /// The latest turn of a link that has left.
    private var departed = 0

    /// Whether the link's next message extends this turn instead of beginning a new one.
    ///
    /// A turn ends when another link sends, or when the server has accepted all of it.
    func isLatest(_ turn: Turn) -> Bool { turn.number == self.latest }

    /// Whether the server has not proved that it has accepted all of a turn.
    func isOpen(_ turn: Turn) -> Bool { turn.number >= self.firstOpen }

    /// Finds the link whose message the server has refused.
    ///
    /// - Parameter links: the latest turns of the links; nil where a link has ended.
    /// - Returns: the index of the only link that may have sent it; nil when there are several, or one that has left.
    func refused(among links: [Turn?]) -> Int? {
        var senders = links.indices.filter { links[$0] != nil }
        if senders.count > 1 {
            senders = senders.filter { links[$0].map(self.isOpen) ?? false }
        }
        let mayHaveLeft = self.departed >= self.firstOpen
        return senders.count == 1 && !mayHaveLeft ? senders[0] : nil
    }

    /// The turn of a link that begins to send.
    mutating func begin() -> Turn {
        self.latest += 1
        return Turn(number: self.latest)
    }

    /// The server has answered a request of a link.
    mutating func answered(_ request: UInt64, in turn: Turn) {
        if request == turn.last {
            self.accepted(turn)
        } else if let first = turn.first, request >= first {
            self.firstOpen = max(self.firstOpen, turn.number)
        }
    }

    /// The server has accepted all of a turn.
    mutating func accepted(_ turn: Turn) { self.accept(upTo: turn.number) }

    /// The server has accepted everything.
    mutating func acceptedAll() { self.accept(upTo: self.latest) }

    /// A link leaves.
    mutating func left(_ turn: Turn) { self.departed = max(self.departed, turn.number) }

    private mutating func accept(upTo number: Int) {
        self.firstOpen = max(self.firstOpen, number + 1)
        // The link's next message begins another turn.
        self.latest = max(self.latest, number + 1)
    }
}
