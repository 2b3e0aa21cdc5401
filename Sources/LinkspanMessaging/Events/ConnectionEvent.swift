public import LinkspanLifecycle

/// A change of one connection.
///
/// Per connection the kinds form a legal walk over the five states, besides `measured`; `released` is the last.
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
        /// The round trip over the open link was measured, by the wire's ping or by the probe; the state is the same.
        case measured(roundTrip: Duration)
        /// The connection has left the pool; nothing follows for its id.
        case released
    }

    /// The connection's number, unique in the process.
    public var connection: UInt64
    /// The endpoint, already without query and credentials.
    public var endpoint: String
    /// The kind of the event.
    public var kind: Kind

    /// Makes an event.
    public init(connection: UInt64, endpoint: String, kind: Kind) {
        self.connection = connection
        self.endpoint = endpoint
        self.kind = kind
    }

    /// The connection's state, until it is released.
    var retention: Retention {
        switch self.kind {
        case .created, .connecting, .connected, .disconnected, .reconnecting:
            .keep(subject: Self.subject(self.connection))
        case .measured: .none
        case .released: .forgetAll(subject: Self.subject(self.connection))
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

/// A service that follows the states of connections.
public protocol ConnectionObserving: LifecycleService {
    /// Handles one event; an error becomes a fault and does not affect other services.
    func on(_ event: Stamped<ConnectionEvent>, _ scope: ServiceScope) async throws
}
