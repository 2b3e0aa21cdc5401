/// Events of one family that are handed to all receivers at once, and shared by them.
///
/// There may be very many of them, made on the path of every message: handing each over to each receiver would take
/// that path as long as there are receivers.
struct EventBatch: Sendable {
    let family: FamilyID
    private let contents: any BatchContents
    private let first: UInt64
    private var next = 0

    /// Makes a batch whose first event has the number `first`.
    init(_ family: FamilyID, _ contents: any BatchContents, first: UInt64) {
        self.family = family
        self.contents = contents
        self.first = first
    }

    /// The number of events that are left.
    var count: Int { self.contents.count - self.next }
    /// The number of the oldest event that is left.
    var seq: UInt64 { self.count > 0 ? self.first + UInt64(self.next) : .max }

    mutating func popFirst() -> Stamped<any LifecycleEvent>? {
        guard self.count > 0 else { return nil }
        defer { self.next += 1 }
        return self.contents.stamped(at: self.next, seq: self.seq)
    }

    /// Drops the oldest events.
    mutating func drop(_ count: Int) { self.next = min(self.contents.count, self.next + count) }
}

/// The events of a batch, which only their collector knows by type.
protocol BatchContents: Sendable {
    var count: Int { get }

    func stamped(at index: Int, seq: UInt64) -> Stamped<any LifecycleEvent>
}
