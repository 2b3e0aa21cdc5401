internal import LinkspanRuntime

/// The place of a connection in its list of endpoints, for its status.
///
/// A reference, because few connections have one.
final class EndpointPlace: Sendable {
    let url: ConnectionURL
    /// The number in the list, from 1.
    let number: Int
    let count: Int
    /// The name of the policy by which the endpoints are used.
    let policy: String
    /// The URL that the connection returns to.
    let first: ConnectionURL
    /// The moment at which it returns there.
    let returns: Moment?

    init(url: ConnectionURL, number: Int, count: Int, policy: String, first: ConnectionURL, returns: Moment?) {
        (self.url, self.number, self.count, self.policy) = (url, number, count, policy)
        (self.first, self.returns) = (first, returns)
    }
}
