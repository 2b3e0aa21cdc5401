/// Events of one family that are handed to all receivers at once, and shared by them.
///
/// There may be very many of them, made on the path of every message: handing each over to each receiver would take
/// that path as long as there are receivers.
struct EventBatch: Sendable {
    let family: FamilyID
    /// Whether the family's events are added up rather than lost.
    let isSummed: Bool
    let contents: any BatchContents
    private let first: UInt64
    private var next = 0
    private var end: Int
    /// The number of events of the family that were lost before the next one.
    var gap = 0
    /// Whether the events happened before the receiver was ready.
    var isReplayed = false

    /// Makes a batch whose first event has the number `first`.
    init(_ family: FamilyID, _ contents: any BatchContents, first: UInt64) {
        self.family = family
        self.isSummed = contents.isSummed
        self.contents = contents
        self.first = first
        self.end = contents.count
    }

    /// The number of events that are left.
    var count: Int { self.end - self.next }
    /// The number of events that happened, of which some may be added up.
    var total: Int { self.contents.total(self.next..<self.end) }
    /// The number of the oldest event that is left.
    var seq: UInt64 { self.count > 0 ? self.contents.seq(at: self.next, first: self.first) : .max }

    /// Takes the oldest event out.
    mutating func popFirst() -> Stamped<any LifecycleEvent>? {
        guard let place = self.advance() else { return nil }
        return self.contents.stamped(at: place)
    }

    /// Takes the place of the oldest event out, for those who know the type of the events.
    mutating func advance() -> BatchPlace? {
        guard self.count > 0 else { return nil }
        defer { (self.next, self.gap) = (self.next + 1, 0) }
        return BatchPlace(index: self.next, seq: self.seq, gap: self.gap, isReplayed: self.isReplayed)
    }

    /// Drops the oldest events.
    mutating func drop(_ count: Int) { self.next = min(self.end, self.next + count) }

    /// Splits off the oldest events: `count` at most, and none behind the number `limit`.
    mutating func split(_ count: Int, before limit: UInt64) -> Self {
        var run = self
        run.end = min(self.end, self.next + count)
        while run.end > run.next + 1, self.contents.seq(at: run.end - 1, first: self.first) > limit { run.end -= 1 }
        (self.next, self.gap) = (run.end, 0)
        return run
    }

    /// All of it added up; nil for a family whose events are not.
    func tally() -> (any EventTally)? { self.contents.tally(first: self.first) }
}

/// An event of a batch, and what its envelope says.
@usableFromInline
struct BatchPlace: Sendable {
    @usableFromInline let index: Int
    @usableFromInline let seq: UInt64
    @usableFromInline let gap: Int
    @usableFromInline let isReplayed: Bool
}

/// The events of a batch, which only their collector knows by type.
protocol BatchContents: Sendable {
    var count: Int { get }

    /// Whether the family's events are added up rather than lost.
    var isSummed: Bool { get }

    func seq(at index: Int, first: UInt64) -> UInt64

    func stamped(at place: BatchPlace) -> Stamped<any LifecycleEvent>

    /// The number of events that happened and are in this part.
    func total(_ range: Range<Int>) -> Int

    /// All of it added up; nil for a family whose events are not, and for sums.
    func tally(first: UInt64) -> (any EventTally)?

    /// Hands the events of a call to a receiver until the call has none, or the receiver is gone.
    ///
    /// - Parameters:
    ///   - receiver: gets the events.
    ///   - scope: the receiver's.
    ///   - call: has the events, whose contents these are.
    ///   - failed: called with what the receiver has thrown, and the number of the event.
    /// - Returns: whether the receiver is still there.
    func deliver(
        to receiver: any EventReceiver, _ scope: ServiceScope, _ call: ServiceCall,
        failed: @escaping (any Error, UInt64) -> Void
    ) async -> Bool
}
