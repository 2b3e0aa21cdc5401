/// The end of a connection that a value speaks for (RFC 6455 section 5.1).
///
/// It decides who masks: a client masks every frame it sends, a server none, and each refuses the opposite.
package enum WebSocketRole: Sendable, Hashable, CaseIterable {
    /// The end that made the connection.
    case client

    /// The end that accepted the connection.
    case server
}
