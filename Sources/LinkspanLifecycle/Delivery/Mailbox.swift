internal import DequeModule

/// The events that wait for one receiver, as a value.
struct Mailbox: Sendable {
    /// Told once what became of an event that somebody waits for.
    typealias Receipt = @Sendable (BarrierReport.Fate) -> Void

    struct Letter: Sendable {
        var stamped: Stamped<any LifecycleEvent>
        var retention: Retention
        var receipt: Receipt?
    }

    /// Whether letters go in and out.
    enum Mode: Sendable {
        /// The receiver is not ready; letters wait.
        case held
        case open
        /// Nothing goes in any more; what is there may still be delivered.
        case sealed
    }

    /// The state of the consumer, if there is one.
    enum Consumer: Sendable {
        case none
        case busy
    }

    let id: ServiceID
    let interest: Interest
    let capacity: Int
    let limit: Duration
    let urgency: Urgency
    let receiver: any EventReceiver
    /// The handling of the events that were taken out.
    let call = ServiceCall()
    /// Whether the receiver stays when its registration goes.
    var isKept = false
    /// Whether a timer looks after the consumer.
    var isWatched = false
    var path: String
    var mode: Mode = .held
    var consumer: Consumer = .none
    var generation: UInt64 = 0
    var task: Task<Void, Never>?
    private(set) var delivered = 0
    private(set) var lost = 0
    private var letters: Deque<Letter> = []
    private var batches = BatchQueue()
    /// Batches of families whose events are added up rather than lost.
    private var summed = BatchQueue()
    /// The sums of events that did not fit into these, by family; they come behind them.
    private var tallies: [FamilyID: any EventTally] = [:]
    private var missed: [FamilyID: Int] = [:]
    private var isOverflowing = false

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

    /// The number of events that wait; those that are added up count as one.
    var waiting: Int {
        self.letters.count + self.batches.count + self.summed.count
            + self.tallies.values.reduce(0) { $0 + $1.count }
    }

    /// The number of events of families that are added up which may wait one by one: more than of others, because all
    /// mailboxes share them.
    var summedCapacity: Int { 16 * self.capacity }

    /// Whether a consumer must be begun: there are letters, they may go out, and nobody takes them out yet.
    var wantsConsumer: Bool {
        guard case .none = self.consumer, self.waiting > 0 else { return false }
        switch self.mode {
        case .held: return false
        case .open, .sealed: return true
        }
    }
}

extension Mailbox {
    struct OnPost: Sendable {
        /// Those who wait for letters that had to go.
        var receipts: [Receipt] = []
        /// Whether this is the first loss since the mailbox was last empty.
        var beginsOverflow = false
    }

    mutating func post(_ letter: Letter) -> OnPost {
        self.letters.append(letter)
        return self.dropExcess()
    }

    /// Takes a batch in.
    ///
    /// - Parameters:
    ///   - batch: the batch.
    ///   - tally: the batch added up, asked for when there is no room for it; nil for a family whose events are not.
    /// - Returns: what had to go for it.
    mutating func post(_ batch: EventBatch, tally: (() -> (any EventTally)?)? = nil) -> OnPost {
        guard let tally else {
            self.batches.append(batch)
            return self.dropExcess()
        }
        if self.tallies[batch.family] != nil {
            if let sums = tally() { self.tallies[batch.family]?.add(sums) }
        } else if self.summed.count + batch.count > self.summedCapacity, let sums = tally() {
            self.tallies[batch.family] = sums
        } else {
            self.summed.append(batch)
        }
        return OnPost()
    }

    /// Drops the oldest events, until the rest has room.
    private mutating func dropExcess() -> OnPost {
        var result = OnPost()
        var excess = self.letters.count + self.batches.count - self.capacity
        guard excess > 0 else { return result }
        result.beginsOverflow = !self.isOverflowing
        self.isOverflowing = true
        self.lost += excess
        while excess > 0 {
            if let batch = self.batches.first, batch.seq < self.firstLetter {
                let dropped = min(excess, batch.count)
                self.batches.drop(dropped)
                self.missed[batch.family, default: 0] += dropped
                excess -= dropped
            } else {
                guard let letter = self.letters.popFirst() else { break }
                self.missed[letter.stamped.event.familyID, default: 0] += 1
                if let receipt = letter.receipt { result.receipts.append(receipt) }
                excess -= 1
            }
        }
        return result
    }

    private var firstLetter: UInt64 { self.letters.first?.stamped.seq ?? .max }

    /// The place of the oldest event.
    private enum Oldest {
        case letter
        case batch
        case summed
    }

    private mutating func findOldest() -> Oldest? {
        if !self.tallies.isEmpty, self.summed.count == 0 { self.releaseTallies() }
        let (letter, batch, summed) = (self.firstLetter, self.batches.seq, self.summed.seq)
        if letter == .max, batch == .max, summed == .max { return self.letters.isEmpty ? nil : .letter }
        return letter < min(batch, summed) ? .letter : batch < summed ? .batch : .summed
    }

    /// Makes batches of sums, when the events before them are out.
    private mutating func releaseTallies() {
        for (family, tally) in self.tallies { self.summed.append(EventBatch(family, tally.contents, first: 0)) }
        self.tallies = [:]
    }

    /// Takes the oldest event out, wherever it is.
    private mutating func popOldest() -> Letter? {
        switch self.findOldest() {
        case .letter: self.letters.popFirst()
        case .batch: self.batches.popFirst().map { Letter(stamped: $0, retention: .none, receipt: nil) }
        case .summed: self.summed.popFirst().map { Letter(stamped: $0, retention: .none, receipt: nil) }
        case nil: nil
        }
    }

    /// The number of letters that a consumer takes at once: few enough that the mailbox remains where letters wait.
    var share: Int { min(32, max(1, self.capacity / 4)) }

    /// The number of events of a batch that a consumer takes at once.
    static let run = 512

    /// The next events for a consumer: letters, or a part of a batch.
    mutating func takeShare() -> ServiceCall.Share? {
        switch self.findOldest() {
        case .batch:
            return self.batches.split(Self.run, before: min(self.firstLetter, self.summed.seq)).map { self.took($0) }
        case .summed:
            return self.summed.split(Self.run, before: min(self.firstLetter, self.batches.seq)).map { self.took($0) }
        case .letter:
            var letters: [Letter] = []
            while letters.count < self.share, case .letter = self.findOldest(), let letter = self.take() {
                letters.append(letter)
            }
            return .letters(letters)
        case nil: return nil
        }
    }

    private mutating func took(_ batch: EventBatch) -> ServiceCall.Share {
        var batch = batch
        if let missed = self.missed.removeValue(forKey: batch.family) { batch.gap = missed }
        self.delivered += batch.count
        if self.waiting == 0 { self.isOverflowing = false }
        return .run(batch)
    }

    /// Takes the next letter out.
    mutating func take() -> Letter? {
        guard var letter = self.popOldest() else { return nil }
        if self.waiting == 0 {
            self.isOverflowing = false
        }
        let family = letter.stamped.event.familyID
        if let missed = self.missed.removeValue(forKey: family) {
            letter.stamped.gap = missed
        }
        self.delivered += 1
        return letter
    }

    /// Puts back what was taken out and not handled.
    mutating func giveBack(_ share: ServiceCall.Share) {
        switch share {
        case .letters(let letters):
            self.letters.prepend(contentsOf: letters)
            self.delivered -= letters.count
        case .run(let batch):
            guard batch.count > 0 else { return }
            self.delivered -= batch.count
            if batch.isSummed { self.summed.prepend(batch) } else { self.batches.prepend(batch) }
        }
    }

    /// Releases letters.
    ///
    /// What waited is history by now: it is marked, and of a state only the latest is left.
    mutating func open() {
        guard case .held = self.mode else { return }
        self.mode = .open
        self.releaseTallies()
        self.batches.markReplayed()
        self.summed.markReplayed()
        guard !self.letters.isEmpty else { return }
        let letters = Array(self.letters)
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
            if case .keep(let subject, let aspect) = letter.retention,
                latest[RetentionKey(subject, aspect)] != letter.stamped.seq
            {
                continue
            }
            letter.stamped.replayed = true
            self.letters.append(letter)
        }
    }

    /// Empties the mailbox; what somebody waits for is returned.
    mutating func discard() -> [Receipt] {
        self.lost += self.letters.count + self.batches.total + self.summed.total
        self.lost += self.tallies.values.reduce(0) { $0 + $1.contents.total(0..<$1.count) }
        defer { (self.letters, self.batches, self.summed, self.tallies) = ([], BatchQueue(), BatchQueue(), [:]) }
        return self.letters.compactMap(\.receipt)
    }
}

extension Mailbox.Mode {
    var accepts: Bool {
        switch self {
        case .held, .open: true
        case .sealed: false
        }
    }

    var isOpen: Bool {
        switch self {
        case .open: true
        case .held, .sealed: false
        }
    }
}
