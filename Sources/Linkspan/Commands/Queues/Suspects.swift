/// The heads that were under way when a link ended because of a message, and the trials that find the one it was.
///
/// A trial is a suspect that is sent over a new link before all else and alone. Trials follow one another until there is
/// no suspect left, until their time is over, or until one of them proves nothing any more.
struct Suspects {
    /// The suspects, with the order of their trials.
    private var order: [Command.ID: UInt64] = [:]
    private var lastOrder: UInt64 = 0
    /// Whether everything else waits for trials.
    private(set) var isTrying = false
    /// The suspect that is under way alone.
    private(set) var tried: Command.ID?
    /// Whether no trial over this link has ended yet: then the present one has had all the time there was.
    private var isFirst = false

    var isEmpty: Bool { self.order.isEmpty }

    /// The suspects, in the order of their trials.
    var all: [Command.ID] { self.order.sorted { $0.value < $1.value }.map(\.key) }

    /// Adds a suspect behind all others, unless it is one already.
    mutating func add(_ id: Command.ID) {
        guard self.order[id] == nil else { return }
        self.lastOrder += 1
        self.order[id] = self.lastOrder
    }

    /// A new link is up.
    mutating func beginTrials() { (self.isTrying, self.isFirst) = (!self.isEmpty, true) }

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
        if !self.isEmpty, self.order.removeValue(forKey: id) != nil, self.isEmpty { self.order = [:] }
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
