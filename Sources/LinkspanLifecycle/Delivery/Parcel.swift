/// Events of messages that are handed to all receivers at once, and shared by them.
///
/// There may be very many of them, made on the path of sending: to hand each over to each receiver would take that path as
/// long as there are receivers.
struct Parcel: Sendable {
    private let events: [Stamped<LifecycleEvent>]
    private var next = 0

    init(_ events: [Stamped<LifecycleEvent>]) { self.events = events }

    var count: Int { self.events.count - self.next }
    /// The number of the oldest event that is left.
    var seq: UInt64 { self.next < self.events.count ? self.events[self.next].seq : .max }

    mutating func popFirst() -> Stamped<LifecycleEvent>? {
        guard self.next < self.events.count else { return nil }
        defer { self.next += 1 }
        return self.events[self.next]
    }

    /// Drops the oldest events.
    mutating func drop(_ count: Int) { self.next = min(self.events.count, self.next + count) }
}
