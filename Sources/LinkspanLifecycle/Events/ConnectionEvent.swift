/// What happens to one connection.
///
/// Per connection the kinds form a legal walk over the five states; `released` is the last.
public struct ConnectionEvent: Sendable, Hashable {
    /// What happened.
    @nonexhaustive
    public enum Kind: Sendable, Hashable {
        /// The connection exists and has not been opened.
        case created
        /// An attempt to open has begun; the first is 1.
        case connecting(attempt: Int)
        /// The connection is open, after `handshake`; `resumed` if the server kept the session.
        case connected(attempt: Int, handshake: Duration, resumed: Bool, transport: String)
        /// The connection is closed; the texts say why and never hold secrets.
        case disconnected(reason: String, code: String?, willRetry: Bool)
        /// The next attempt waits for `delay`.
        case reconnecting(attempt: Int, delay: Duration)
        /// The number of holders changed.
        case occupancyChanged(from: Int, to: Int)
        /// The connection has left the pool; nothing follows for its id.
        case released
    }

    /// The connection's number, unique in the process.
    public var connection: UInt64
    /// Where it leads, already without query and credentials.
    public var endpoint: String
    /// What happened.
    public var kind: Kind

    /// Makes an event.
    public init(connection: UInt64, endpoint: String, kind: Kind) {
        self.connection = connection
        self.endpoint = endpoint
        self.kind = kind
    }

    var retention: Retention {
        switch self.kind {
        case .created, .connecting, .connected, .disconnected, .reconnecting: .keep(.connection(self.connection))
        case .occupancyChanged: .keep(.occupancy(self.connection))
        case .released: .forget(.connection(self.connection))
        }
    }
}

extension ConnectionEvent: FamilyEvent {
    /// The family of these events.
    public static var family: EventFamily { .connection }

    /// The event among those of all families.
    public var erased: LifecycleEvent { .connection(self) }

    /// Picks the event out of those of all families; `nil` if it belongs to another.
    public init?(_ event: LifecycleEvent) {
        guard case .connection(let own) = event else {
            return nil
        }
        self = own
    }
}
