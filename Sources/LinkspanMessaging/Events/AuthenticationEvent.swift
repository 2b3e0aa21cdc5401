public import LinkspanLifecycle

/// A change of credentials; no event holds a credential or a user's name.
public struct AuthenticationEvent: Sendable, Hashable {
    /// The kind of an authentication event.
    @nonexhaustive
    public enum Kind: Sendable, Hashable {
        /// A provider gave credentials for an attempt to connect; they are good for this long if known.
        case obtained(validFor: Duration?)
        /// Credentials were renewed ahead of their expiry; they are good for this long if known.
        case refreshed(validFor: Duration?, attempt: Int)
        /// Credentials could not be obtained or renewed; the next try is after `retryAfter` if known.
        case refreshFailed(attempt: Int, reason: String, retryAfter: Duration?)
        /// The server no longer accepts the user.
        case revoked
    }

    /// The connection's number; nil for credentials that are kept apart from any connection.
    public var connection: UInt64?
    /// The kind of the event.
    public var kind: Kind

    /// Makes an event.
    public init(connection: UInt64? = nil, kind: Kind) {
        self.connection = connection
        self.kind = kind
    }

    /// The retention of the event: the state of the credentials.
    var retention: Retention {
        .keep(subject: self.connection.map(ConnectionEvent.subject) ?? "credentials", aspect: "credentials")
    }
}

extension AuthenticationEvent: LifecycleEvent {
    /// Family `authentication`; the latest of each state is kept.
    public static var family: EventFamily<Self, any AuthenticationObserving> {
        .states("authentication", retention: { $0.retention }) { try await $0.on($1, $2) }
    }
}

/// A service that follows credentials and users.
public protocol AuthenticationObserving: LifecycleService {
    /// Handles one event; an error becomes a fault and does not affect other services.
    func on(_ event: Stamped<AuthenticationEvent>, _ scope: ServiceScope) async throws
}
