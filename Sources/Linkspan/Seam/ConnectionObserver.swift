/// Observes the connections of a manager.
package protocol ConnectionObserver: AnyObject, Sendable {
    /// Called when a connection is made.
    ///
    /// - Parameter connection: its identity.
    /// - Returns: the probe that hears it, on the connection's executor.
    func observe(_ connection: ObservedConnection) -> any ConnectionProbe
}

/// A connection as its observer knows it.
package struct ObservedConnection: Sendable, Hashable {
    /// Identifies the connection in its process.
    package let id: UInt64
    /// The endpoint without its query.
    package let endpoint: String
    /// The name of the transport.
    package let transport: String
    /// Whether a store keeps its deliveries.
    var hasStore = false

    /// Whether a delivery that ended with an error waits in the store for the account's next connection.
    package func keeps(after error: LinkspanError) -> Bool { self.hasStore && error.leavesDeliveries }
}

/// An observer of one connection.
///
/// All calls come on the connection's executor, one at a time, so a probe needs no lock. They are on the path of every
/// message: a probe must not block, and must not call the connection. By default every call is ignored.
package protocol ConnectionProbe: AnyObject {
    /// The connection has moved to another endpoint or transport.
    func moved(to connection: ObservedConnection)
    /// An attempt to open a link begins; counted from 1 since the connection was last up.
    func attempting(_ attempt: Int)
    /// The state has changed.
    func changed(_ change: StateChange)
    /// The number of commands that wait has changed.
    func queueChanged(depth: Int, limit: Int)
    /// A command that wants a reply is about to be given to a link.
    func leaving(_ command: Command)
    /// A link has taken a command.
    func sent(_ command: Command)
    /// The round trip over the open link has been measured.
    func measured(roundTrip: Duration)
    /// A message has arrived.
    func received(_ event: String, _ payload: Payload)
    /// A command has its outcome; a send that a link took has none unless somebody asks for it.
    func finished(_ command: Command, _ outcome: Result<Payload, LinkspanError>)
    /// The connection has obtained or renewed its credentials, or failed to.
    func credentials(_ event: CredentialEvent)
}

/// A step in the life of the credentials that a provider supplies; it holds none of them.
@nonexhaustive
package enum CredentialEvent: Sendable {
    /// The provider gave credentials for an attempt; they are good for this long if known.
    case obtained(CredentialRequest.Reason, validFor: Duration?)
    /// The provider renewed the credentials of an open connection, which are good for this long if known; `isShown`
    /// when the server was notified at once.
    case renewed(validFor: Duration?, isShown: Bool)
    /// The provider failed; a renewal is tried again after `retryAfter`, if at all.
    case failed(CredentialRequest.Reason, LinkspanError, retryAfter: Duration?)
}
