/// The heads that were under way when a link ended because of a message, and the trials that find the one it was.
///
/// A trial is a suspect that is sent over a new link before all else and alone. Trials follow one another until there is
/// no suspect left, until their time is over, or until one of them proves nothing any more.
struct Suspects {
    private struct Suspect {
        /// The order of its trial.
        let order: UInt64
        /// The number of its trials that proved nothing, because a reply was sent beside them.
        var doubtfulTrials = 0
    }

    /// The number of trials of one suspect that may prove nothing.
    ///
    /// Without a bound, a server that asks for a reply over each link would hide the delivery that ends them.
    private static let maximumDoubtfulTrials = 2

    private var suspects: [Command.ID: Suspect] = [:]
    private var lastOrder: UInt64 = 0
    /// Whether everything else waits for trials.
    private(set) var isTrying = false
    /// The suspect that is under way alone.
    private(set) var tried: Command.ID?
    /// Whether no trial over this link has ended yet: then the present one has had all the time there was.
    private var isFirst = false
    /// Whether a reply was sent while a suspect was on trial over this link: if the link ends, the reply may be the cause.
    private var hasReplied = false

    var isEmpty: Bool { self.suspects.isEmpty }

    /// The suspects, in the order of their trials.
    var all: [Command.ID] { self.suspects.sorted { $0.value.order < $1.value.order }.map(\.key) }

    /// Adds a suspect behind all others, unless it is one already.
    mutating func add(_ id: Command.ID) {
        guard self.suspects[id] == nil else { return }
        self.lastOrder += 1
        self.suspects[id] = Suspect(order: self.lastOrder)
    }

    /// A new link is up.
    mutating func beginTrials() { (self.isTrying, self.isFirst, self.hasReplied) = (!self.isEmpty, true, false) }

    /// A reply was given to the link.
    mutating func noteReply() { if self.isTrying { self.hasReplied = true } }

    /// The link has ended because of a message.
    ///
    /// - Returns: the suspect that is known to have ended it.
    mutating func convict() -> Command.ID? {
        defer { self.stop() }
        guard let tried = self.tried else { return nil }
        guard self.hasReplied, let suspect = self.suspects[tried],
            suspect.doubtfulTrials < Self.maximumDoubtfulTrials
        else { return tried }
        self.suspects[tried]?.doubtfulTrials += 1
        return nil
    }

    /// A suspect is given to the link.
    mutating func beginTrial(of id: Command.ID) { self.tried = id }

    /// The link has not taken the suspect.
    mutating func giveBack(_ id: Command.ID) { if self.tried == id { self.tried = nil } }

    /// The server has answered a head, or no link can carry it: it is under suspicion no longer.
    mutating func acquit(_ id: Command.ID) {
        self.forget(id)
        if self.tried == id { (self.tried, self.isFirst) = (nil, false) }
    }

    /// A head is gone without an answer.
    ///
    /// It may still end this link, which then would say nothing about the next suspect.
    mutating func remove(_ id: Command.ID) {
        self.forget(id)
        if self.tried == id { self.stop() }
    }

    private mutating func forget(_ id: Command.ID) {
        if !self.isEmpty, self.suspects.removeValue(forKey: id) != nil, self.isEmpty { self.suspects = [:] }
    }

    /// The time of the trials is over: everything is sent.
    ///
    /// A suspect that has had all of it is released. If a link ends once more, it comes behind those that wait for a trial.
    mutating func endTrials() {
        if let tried = self.tried, self.isFirst { self.forget(tried) }
        self.stop()
    }

    /// Nothing waits for trials any longer.
    mutating func stop() { (self.isTrying, self.tried) = (false, nil) }
}
