internal import DequeModule

/// A receiver of events, and what it may get.
struct Recipient: Sendable {
    let id: ServiceID
    var path: String
    let capacity: Int
    let limit: Duration
    let urgency: Urgency
    let receiver: Receiver

    init(
        id: ServiceID, path: String, capacity: Int, limit: Duration, urgency: Urgency = .normal, receiver: Receiver
    ) {
        self.id = id
        self.path = path
        self.capacity = max(1, capacity)
        // None at all would keep the timer that looks after it busy.
        self.limit = max(limit, .milliseconds(1))
        self.urgency = urgency
        self.receiver = receiver
    }
}

/// The events that wait for one recipient, as a value.
struct Mailbox: Sendable {
    /// Whether letters go in and out.
    enum Mode: Sendable {
        /// The receiver is not ready; letters wait.
        case held
        case open
        /// Nothing goes in any more; what is there may still be delivered.
        case sealed
    }

    var recipient: Recipient
    var mode: Mode
    /// The task that handles letters, if there is one.
    var consumer = Consumer()
    private(set) var delivered = 0
    private(set) var lost = 0
    private var letters: Deque<Letter> = []
    private var totals = WaitingTotals()
    private var missed: [FamilyID: Int] = [:]
    private var isOverflowing = false

    init(_ recipient: Recipient, mode: Mode = .held) {
        self.recipient = recipient
        self.mode = mode
    }

    /// The task that takes letters out and handles them.
    struct Consumer: Sendable {
        var isBusy = false
        /// The instant at which the handling of the present letter began, and its family.
        var present: (since: ContinuousClock.Instant, family: FamilyID)?
        /// Whether the task was cancelled because the present letter takes too long.
        var isLate = false
        /// Whether a timer limits the handling of each letter.
        var isWatched = false
        /// The number of tasks that were begun.
        var generation: UInt64 = 0
        var task: Task<Void, Never>?
        /// The state of its calls, which their scopes share.
        let call = ServiceCall()

        mutating func begin() {
            self.generation += 1
            (self.isBusy, self.isWatched) = (true, true)
        }

        mutating func end() { (self.isBusy, self.present, self.isLate, self.task) = (false, nil, false, nil) }
    }

    /// The number of events that wait.
    var waiting: Int { self.letters.count + self.totals.count }

    /// Whether a consumer must be begun: there are letters, they may go out, and nobody takes them out yet.
    var wantsConsumer: Bool { !self.consumer.isBusy && self.waiting > 0 && self.mode != .held }
}

extension Mailbox {
    /// Adds a letter: a running total in place of the last one, any other at the cost of the oldest if there is no room.
    ///
    /// - Returns: whether this is the first loss since the mailbox was last empty.
    @discardableResult
    mutating func post(_ letter: Letter) -> Bool {
        if let place = letter.total {
            self.totals.add(letter, place)
            return false
        }
        self.letters.append(letter)
        guard self.letters.count > self.recipient.capacity, let oldest = self.letters.popFirst() else { return false }
        defer { self.isOverflowing = true }
        self.lost += 1
        self.missed[oldest.family, default: 0] += 1
        return !self.isOverflowing
    }

    /// Takes the next letter out for the consumer, which has handled the last one; nil when the consumer ends.
    mutating func handOut(now: ContinuousClock.Instant) -> Letter? {
        guard !self.consumer.isLate, let letter = self.take() else {
            self.consumer.end()
            return nil
        }
        self.consumer.present = (now, letter.family)
        return letter
    }

    /// Takes the next letter out.
    mutating func take() -> Letter? {
        let isTotalFirst = (self.totals.firstSeq ?? .max) < (self.letters.first?.stamped.seq ?? .max)
        guard var letter = isTotalFirst ? self.totals.popFirst() : self.letters.popFirst() else { return nil }
        if self.waiting == 0 { self.isOverflowing = false }
        if let missed = self.missed.removeValue(forKey: letter.family) { letter.stamped.gap = missed }
        self.delivered += 1
        return letter
    }

    /// Releases letters.
    ///
    /// What waited is history by now: it is marked, and of a state only the latest is left.
    mutating func open() {
        guard case .held = self.mode else { return }
        self.mode = .open
        let letters = (self.letters + self.totals.removeAll()).sorted { $0.stamped.seq < $1.stamped.seq }
        self.letters = []
        var latest: [Retention: UInt64] = [:]
        for letter in letters {
            switch letter.retention {
            case .keep: latest[letter.retention] = letter.stamped.seq
            case .forget(let subject, let aspect): latest[.keep(subject: subject, aspect: aspect)] = nil
            case .forgetAll(let subject): latest = latest.filter { $0.key.keptSubject != subject }
            case .none: ()
            }
        }
        for var letter in letters {
            if letter.retention.keptSubject != nil, latest[letter.retention] != letter.stamped.seq { continue }
            letter.stamped.replayed = true
            self.post(letter)
        }
    }

    /// Empties the mailbox, and counts its letters as lost.
    mutating func discard() {
        self.lost += self.waiting
        (self.letters, self.totals) = ([], WaitingTotals())
    }
}
