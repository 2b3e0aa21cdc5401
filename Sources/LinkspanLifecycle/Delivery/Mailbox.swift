internal import DequeModule

/// The events that wait for one receiver, as a value.
struct Mailbox: Sendable {
    /// Told once what became of an event that somebody waits for.
    typealias Receipt = @Sendable (BarrierReport.Fate) -> Void

    /// Hands one event to the receiver; `false` if there is nobody any more.
    typealias Deliver = @Sendable (Stamped<any LifecycleEvent>, ServiceScope) async throws -> Bool

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
    let deliver: Deliver
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
    private var batches: Deque<EventBatch> = []
    /// The number of events that are left in the batches.
    private var batched = 0
    private var missed: [FamilyID: Int] = [:]
    private var isOverflowing = false

    init(
        id: ServiceID, path: String, interest: Interest, capacity: Int, limit: Duration,
        urgency: Urgency = .normal, deliver: @escaping Deliver
    ) {
        self.id = id
        self.path = path
        self.interest = interest
        self.capacity = max(1, capacity)
        // None at all would keep the timer that looks after it busy.
        self.limit = max(limit, .milliseconds(1))
        self.urgency = urgency
        self.deliver = deliver
    }

    var waiting: Int { self.letters.count + self.batched }

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
    mutating func post(_ batch: EventBatch) -> OnPost {
        self.batches.append(batch)
        self.batched += batch.count
        return self.dropExcess()
    }

    /// Drops the oldest events, until the rest has room.
    private mutating func dropExcess() -> OnPost {
        var result = OnPost()
        var excess = self.waiting - self.capacity
        guard excess > 0 else { return result }
        result.beginsOverflow = !self.isOverflowing
        self.isOverflowing = true
        self.lost += excess
        while excess > 0 {
            if let batch = self.nextBatch {
                let dropped = min(excess, batch.count)
                self.batches[0].drop(dropped)
                self.took(dropped, from: batch)
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

    /// The batch that has the oldest event of all, unless that is a letter.
    private var nextBatch: EventBatch? {
        self.batches.first.flatMap { $0.seq < self.letters.first?.stamped.seq ?? .max ? $0 : nil }
    }

    /// Some events of the first batch, which was as given before, are out of it.
    private mutating func took(_ count: Int, from batch: EventBatch) {
        if count == batch.count { _ = self.batches.popFirst() }
        self.batched -= count
    }

    /// Takes the oldest event out, wherever it is.
    private mutating func popOldest() -> Letter? {
        guard let batch = self.nextBatch else { return self.letters.popFirst() }
        guard let stamped = self.batches[0].popFirst() else { return nil }
        self.took(1, from: batch)
        return Letter(stamped: stamped, retention: .none, receipt: nil)
    }

    private mutating func popAll() -> [Letter] {
        var letters: [Letter] = []
        letters.reserveCapacity(self.waiting)
        while let letter = self.popOldest() { letters.append(letter) }
        return letters
    }

    /// The number of letters that a consumer takes at once: few enough that the mailbox remains where letters wait.
    var share: Int { min(32, max(1, self.capacity / 4)) }

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

    /// Puts letters back that were taken out.
    mutating func giveBack(_ letters: [Letter]) {
        self.letters.prepend(contentsOf: letters)
        self.delivered -= letters.count
    }

    /// Releases letters.
    ///
    /// What waited is history by now: it is marked, and of a state only the latest is left.
    mutating func open() {
        guard case .held = self.mode else { return }
        self.mode = .open
        let letters = self.popAll()
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
        let letters = self.popAll()
        for letter in letters {
            self.missed[letter.stamped.event.familyID, default: 0] += 1
        }
        self.lost += letters.count
        return letters.compactMap { $0.receipt }
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
