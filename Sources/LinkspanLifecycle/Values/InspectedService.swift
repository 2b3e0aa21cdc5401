/// A service as one that shows services to developers sees it.
package struct InspectedService: Sendable, Hashable {
    /// The path in the outermost registry.
    package var path: String
    /// The phase; nil for the phase of the enclosing registry.
    package var phase: Int?
    /// The rank among services of the same phase.
    package var priority: Int
    /// The state.
    package var state: ServiceState
    /// The place of its registration: `code`, or a place in the configuration.
    package var origin: String
    /// Its mailbox.
    package var mailbox = InspectedMailbox()
}

/// The mailbox of a service.
package struct InspectedMailbox: Sendable, Hashable, Encodable {
    /// The number of events that wait.
    package var waiting = 0
    /// The most events that may wait.
    package var capacity = 0
    /// The number of events that the service was given.
    package var delivered = 0
    /// The number of events that were dropped because too many waited.
    package var lost = 0
}
