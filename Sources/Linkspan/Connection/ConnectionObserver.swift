/// Observes the connections of a manager.
///
/// The observer is asked once for each connection, for the probe that hears of it.
public protocol ConnectionObserver: AnyObject, Sendable {
    /// Makes the probe of a connection that has just been made.
    func observe(_ connection: ObservedConnection) -> any ConnectionProbe
}

/// Hears what one connection does.
///
/// All calls come on the connection's executor, one at a time, so a probe needs no lock. They are on the path of every
/// message: a probe must not block, and must not call the connection.
public protocol ConnectionProbe: AnyObject {
    /// The connection leads to another endpoint from now on, or over another transport.
    func moved(to connection: ObservedConnection)
    /// An attempt to open begins; the first is 1.
    func attempting(_ attempt: Int)
    /// The state changed.
    func changed(_ change: StateChange)
    /// The number of commands that wait changed; `limit` is how many may.
    func queueChanged(depth: Int, limit: Int)
    /// A command is about to be given to a link, which may bring the reply before it returns.
    func leaving(_ command: Command)
    /// A link has taken a command.
    func sent(_ command: Command)
    /// A message has come.
    func received(_ event: String, bytes: Int)
    /// A command has its outcome.
    func finished(_ command: Command, _ outcome: Result<Payload, LinkspanError>)
    /// Something happened to the credentials that a provider supplies.
    func credentials(_ event: CredentialEvent)
}

extension ConnectionProbe {
    /// Nothing.
    public func moved(to connection: ObservedConnection) {}
    /// Nothing.
    public func attempting(_ attempt: Int) {}
    /// Nothing.
    public func changed(_ change: StateChange) {}
    /// Nothing.
    public func queueChanged(depth: Int, limit: Int) {}
    /// Nothing.
    public func leaving(_ command: Command) {}
    /// Nothing.
    public func sent(_ command: Command) {}
    /// Nothing.
    public func received(_ event: String, bytes: Int) {}
    /// Nothing.
    public func finished(_ command: Command, _ outcome: Result<Payload, LinkspanError>) {}
    /// Nothing.
    public func credentials(_ event: CredentialEvent) {}
}

/// A connection as its probe knows it.
public struct ObservedConnection: Sendable, Hashable {
    /// Its number, unique in the process.
    public var id: UInt64
    /// Where it leads, without query and credentials.
    public var endpoint: String
    /// The name of its transport.
    public var transport: String

    /// Describes a connection.
    public init(id: UInt64, endpoint: String, transport: String) {
        self.id = id
        self.endpoint = endpoint
        self.transport = transport
    }
}

/// What happens to the credentials of a connection that has a provider; it holds none of them.
@nonexhaustive
public enum CredentialEvent: Sendable, Hashable {
    /// There are credentials for an attempt; they are good for this long if known.
    case obtained(validFor: Duration?)
    /// The credentials of a connection that is up were renewed ahead of their expiry.
    case renewed(validFor: Duration?)
    /// There are none for an attempt, or they were not renewed; a renewal is tried again after `retryAfter`, if at all.
    case failed(LinkspanError.Code, retryAfter: Duration?)
}
