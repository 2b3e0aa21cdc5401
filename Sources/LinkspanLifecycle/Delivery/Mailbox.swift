internal import DequeModule

/// A receiver of events, and what it may get.
struct Recipient: Sendable {
    let id: ServiceID
    var path: String
    let interest: Interest
    let capacity: Int
    let limit: Duration
    let urgency: Urgency
    let receiver: any EventReceiver
    /// Whether the receiver stays when its registration goes.
    var isKept = false

    init(
        id: ServiceID, path: String, interest: Interest, capacity: Int, limit: Duration,
        urgency: Urgency = .normal, receiver: any EventReceiver
    ) {
        self.id = id
        self.path = path
        self.interest = interest
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
    /// The handling of the letters that were taken out.
    let handling = LetterHandling()
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
        /// Whether a timer limits the handling of each letter.
        var isWatched = false
        /// The number of tasks that were begun.
        var generation: UInt64 = 0
        var task: Task<Void, Never>?
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
        if let key = letter.totalKey {
            self.totals.add(letter, key)
            return false
        }
        self.letters.append(letter)
        guard self.letters.count > self.recipient.capacity, let oldest = self.letters.popFirst() else { return false }
        defer { self.isOverflowing = true }
        self.lost += 1
        self.missed[oldest.stamped.event.familyID, default: 0] += 1
        return !self.isOverflowing
    }

    /// The number of letters that a consumer takes at once: few enough that the mailbox remains where letters wait.
    var share: Int { min(32, max(1, self.recipient.capacity / 4)) }

    /// Takes the next letters out, for a consumer.
    mutating func takeShare() -> [Letter] {
        var letters: [Letter] = []
        while letters.count < self.share, let letter = self.take() { letters.append(letter) }
        return letters
    }

    /// Takes the next letter out.
    mutating func take() -> Letter? {
        let isTotalFirst = (self.totals.firstSeq ?? .max) < (self.letters.first?.stamped.seq ?? .max)
        guard var letter = isTotalFirst ? self.totals.popFirst() : self.letters.popFirst() else { return nil }
        if self.waiting == 0 { self.isOverflowing = false }
        let family = letter.stamped.event.familyID
        if let missed = self.missed.removeValue(forKey: family) {
            letter.stamped.gap = missed
        }
        self.delivered += 1
        return letter
    }

    /// Puts back letters that were taken out and not handled.
    mutating func giveBack(_ letters: [Letter]) {
        self.delivered -= letters.count
        for letter in letters.reversed() {
            if let key = letter.totalKey { self.totals.putBack(letter, key) } else { self.letters.prepend(letter) }
        }
    }

    /// Releases letters.
    ///
    /// What waited is history by now: it is marked, and of a state only the latest is left.
    mutating func open() {
        guard case .held = self.mode else { return }
        self.mode = .open
        let letters = (self.letters + self.totals.removeAll()).sorted { $0.stamped.seq < $1.stamped.seq }
        self.letters = []
        var latest: [RetentionKey: UInt64] = [:]
        for letter in letters {
            switch letter.retention {
            case .keep(let subject, let aspect): latest[RetentionKey(subject, aspect)] = letter.stamped.seq
            case .forget(let subject, let aspect): latest[RetentionKey(subject, aspect)] = nil
            case .forgetAll(let subject): latest = latest.filter { $0.key.subject != subject }
            case .none: ()
            }
        }
        for var letter in letters {
            if let key = letter.retention.keptKey, latest[key] != letter.stamped.seq { continue }
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
