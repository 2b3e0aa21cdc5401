/// Finds a poison message: the delivery that ends each link which carries it.
///
/// The deliveries under way when a link ended because of a message are candidates. Over the next link they are sent before all
/// else, with a window of one: each follows the answer to the one before, until there is no candidate left, until the time of
/// the window is over, or until the end of the link would prove nothing any more.
struct PoisonDetector {
    private struct Candidate {
        let id: Command.ID
        /// The number of links that ended while it was under way alone, but beside a reply.
        var doubts = 0
    }

    /// The number of doubts that clear a candidate once more.
    ///
    /// Without a bound, a server that asks for a reply over each link would hide the delivery that ends them.
    private static let maximumDoubts = 2

    /// In the order in which they are sent.
    private var candidates: [Candidate] = []
    /// Whether everything else waits for the candidates.
    private(set) var isActive = false
    /// The candidate that is under way alone.
    private(set) var isolated: Command.ID?
    /// Whether no candidate has been answered over this link: then the present one has had all the time there was.
    private var isFirst = false
    /// Whether a reply was sent over this link: if the link ends, the reply may be the cause.
    private var hasReplied = false

    /// The candidates, in the order in which they are sent.
    var ids: [Command.ID] { self.candidates.map(\.id) }

    /// A new link is up.
    mutating func linkOpened() {
        (self.isActive, self.isFirst, self.hasReplied) = (!self.candidates.isEmpty, true, false)
    }

    /// A candidate is given to the link.
    mutating func isolate(_ id: Command.ID) { self.isolated = id }

    /// The link has not taken a delivery.
    mutating func giveBack(_ id: Command.ID) { if self.isolated == id { self.isolated = nil } }

    /// A reply was given to the link.
    mutating func noteReply() { if self.isActive { self.hasReplied = true } }

    /// The link has ended because of a message, while these deliveries were under way.
    ///
    /// - Returns: the poison message, if it is known by now.
    mutating func linkEnded(_ underWay: [Command.ID]) -> Command.ID? {
        defer { self.stop() }
        if let isolated = self.isolated {
            let index = self.candidates.firstIndex { $0.id == isolated }
            guard self.hasReplied, let index, self.candidates[index].doubts < Self.maximumDoubts else {
                return isolated
            }
            self.candidates[index].doubts += 1
        }
        let known = Set(self.ids)
        self.candidates += underWay.filter { !known.contains($0) }.map { Candidate(id: $0) }
        return nil
    }

    /// The server has answered a delivery, or no link can carry it.
    mutating func clear(_ id: Command.ID) {
        self.forget(id)
        if self.isolated == id { (self.isolated, self.isFirst) = (nil, false) }
    }

    /// A delivery is gone without an answer.
    ///
    /// It may still end this link, which then would prove nothing about the next candidate.
    mutating func remove(_ id: Command.ID) {
        self.forget(id)
        if self.isolated == id { self.stop() }
    }

    private mutating func forget(_ id: Command.ID) {
        if !self.candidates.isEmpty { self.candidates.removeAll { $0.id == id } }
    }

    /// The time of the window is over: everything is sent.
    ///
    /// A candidate that has had all of it is cleared. If a link ends once more, it comes after those that still wait.
    mutating func timeIsOver() {
        if let isolated = self.isolated, self.isFirst { self.forget(isolated) }
        self.stop()
    }

    /// Nothing waits for the candidates any longer.
    mutating func stop() { (self.isActive, self.isolated) = (false, nil) }
}
