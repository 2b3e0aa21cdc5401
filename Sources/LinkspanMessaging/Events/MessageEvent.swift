public import LinkspanLifecycle

/// A step in the life of one message, or of several that are added up.
///
/// A service that does not keep up with the messages gets sums instead of single events once some 16,000 wait for it; see
/// ``count``. The totals are exact.
public struct MessageEvent: Sendable, Hashable {
    /// The kind of a message event.
    @nonexhaustive
    public enum Kind: Sendable, Hashable {
        /// The transport took it.
        case sent
        /// Received from the server.
        case received
        /// The server confirmed it; of several, after `roundTrip` on average.
        case acknowledged(roundTrip: Duration)
        /// Its answer did not come within `limit`.
        case timedOut(limit: Duration)
        /// Expired before it could be sent.
        case expired
        /// Dropped; the text names the rule.
        case dropped(reason: String)
    }

    /// The connection's number.
    public var connection: UInt64
    /// The name of the event it carries; empty for several messages with too many names to tell apart.
    public var event: String
    /// Its size in bytes, 0 if unknown; of several messages, their sizes together.
    public var bytes: Int
    /// The kind of the event.
    public var kind: Kind
    /// The number of messages: 1, or more when they are added up.
    public var count = 1

    /// Makes an event about one message.
    public init(connection: UInt64, event: String, bytes: Int, kind: Kind) {
        self.connection = connection
        self.event = event
        self.bytes = bytes
        self.kind = kind
    }
}

extension MessageEvent: LifecycleEvent {
    /// Family `message`, collected, because there is one for every message, and added up rather than lost.
    public static var family: EventFamily<Self, any MessageObserving> {
        .sums("message") { try await $0.on($1, $2) }
    }
}

extension MessageEvent: SummableEvent {
    /// The common properties of messages that are added up.
    package struct SumKey: Sendable, Hashable {
        var connection: UInt64
        var event: String
        var kind: Kind
    }

    /// The connection, the name and the kind, without what is added up.
    package func sumKey(isCoarse: Bool) -> SumKey {
        let kind: Kind =
            switch self.kind {
            case .acknowledged: .acknowledged(roundTrip: .zero)
            case .timedOut where isCoarse: .timedOut(limit: .zero)
            case .sent, .received, .timedOut, .expired, .dropped: self.kind
            }
        return SumKey(connection: self.connection, event: isCoarse ? "" : self.event, kind: kind)
    }

    /// Adds messages; a round trip is the sum of all until ``summed``.
    package mutating func add(_ other: Self) {
        if self.event != other.event { self.event = "" }
        self.bytes += other.bytes
        self.count += other.count
        switch (self.kind, other.kind) {
        case (.acknowledged(let one), .acknowledged(let another)): self.kind = .acknowledged(roundTrip: one + another)
        case (.timedOut(let one), .timedOut(let another)): self.kind = .timedOut(limit: max(one, another))
        default: ()
        }
    }

    /// The sum, with the mean round trip.
    package var summed: Self {
        guard case .acknowledged(let total) = self.kind else { return self }
        var summed = self
        summed.kind = .acknowledged(roundTrip: total / self.count)
        return summed
    }
}
