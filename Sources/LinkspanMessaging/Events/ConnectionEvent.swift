public import LinkspanLifecycle

/// A change of one connection, of the queue in which its commands wait, or of its credentials.
///
/// Per connection the kinds from `created` to `released` form a legal walk over the five states; `released` is the last. No
/// event holds a credential or a user's name.
public struct ConnectionEvent: Sendable, Hashable {
    /// The kind of a connection event.
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
        /// The connection has left the pool; nothing follows for its id.
        case released
        /// The round trip over the open link was measured, by the wire's ping or by the probe.
        case measured(roundTrip: Duration)
        /// The queue has about doubled or halved since its last report; it holds `depth` of `limit` commands.
        case queueChanged(depth: Int, limit: Int)
        /// The queue grew past its upper mark.
        case queueNearlyFull(depth: Int, limit: Int)
        /// The queue, which was nearly full, fell below its lower mark.
        case queueHasRoom(depth: Int, limit: Int)
        /// This many commands left the queue in this time, and it is empty.
        case queueFlushed(count: Int, time: Duration)
        /// A provider gave credentials for an attempt to connect; they are good for this long if known.
        case credentialsObtained(validFor: Duration?)
        /// Credentials were renewed ahead of their expiry; they are good for this long if known.
        case credentialsRefreshed(validFor: Duration?, attempt: Int)
        /// Credentials could not be obtained or renewed; the next try is after `retryAfter` if known.
        case credentialsFailed(attempt: Int, reason: String, retryAfter: Duration?)
        /// The server no longer accepts the user.
        case credentialsRevoked
    }

    /// The connection's number, unique in the process; 0 for credentials that are kept apart from any connection.
    public var connection: UInt64
    /// The endpoint, already without query and credentials; empty without a connection.
    public var endpoint: String
    /// The kind of the event.
    public var kind: Kind

    /// Makes an event.
    public init(connection: UInt64, endpoint: String, kind: Kind) {
        self.connection = connection
        self.endpoint = endpoint
        self.kind = kind
    }

    /// The states of the connection, its queue and its credentials, until it is released.
    var retention: Retention {
        let subject = Self.subject(self.connection)
        return switch self.kind {
        case .created, .connecting, .connected, .disconnected, .reconnecting: .keep(subject: subject)
        case .released: .forgetAll(subject: subject)
        case .queueNearlyFull: .keep(subject: subject, aspect: "queue")
        case .queueHasRoom: .forget(subject: subject, aspect: "queue")
        case .measured, .queueChanged, .queueFlushed: .none
        case .credentialsObtained, .credentialsRefreshed, .credentialsFailed, .credentialsRevoked:
            .keep(subject: subject, aspect: "credentials")
        }
    }

    /// The subject of all that is kept about a connection.
    static func subject(_ connection: UInt64) -> String { "connection \(connection)" }
}

extension ConnectionEvent: LifecycleEvent {
    /// Family `connection`; the latest of each state is kept.
    public static var family: EventFamily<Self, any ConnectionObserving> {
        .states("connection", retention: { $0.retention }) { try await $0.on($1, $2) }
    }
}

/// A service that follows connections.
public protocol ConnectionObserving: LifecycleService {
    /// Handles one event; an error becomes a fault and does not affect other services.
    func on(_ event: Stamped<ConnectionEvent>, _ scope: ServiceScope) async throws
}
