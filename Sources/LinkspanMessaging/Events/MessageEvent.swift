public import LinkspanLifecycle

/// A step in the life of one message.
public struct MessageEvent: Sendable, Hashable {
    /// The kind of a message event.
    @nonexhaustive
    public enum Kind: Sendable, Hashable {
        /// The transport took it.
        case sent
        /// Received from the server.
        case received
        /// The server confirmed it.
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
    /// The name of the event it carries.
    public var event: String
    /// Its size in bytes, 0 if unknown.
    public var bytes: Int
    /// The kind of the event.
    public var kind: Kind

    /// Makes an event.
    public init(connection: UInt64, event: String, bytes: Int, kind: Kind) {
        self.connection = connection
        self.event = event
        self.bytes = bytes
        self.kind = kind
    }
}

extension MessageEvent: LifecycleEvent {
    /// Family `message`, collected, because there is one for every message.
    public static var family: EventFamily<Self, any MessageObserving> {
        .batches("message") { try await $0.on($1, $2) }
    }
}
