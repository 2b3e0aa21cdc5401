internal import LinkspanRuntime

/// The place of a connection in its list of endpoints, for its status.
struct EndpointPlace: Sendable, Hashable {
    var url: ConnectionURL
    /// The number in the list, from 1.
    var number: Int
    var count: Int
    /// The name of the policy by which the endpoints are used.
    var policy: String
    /// The URL that the connection returns to.
    var first: ConnectionURL
    /// The moment at which it returns there.
    var returns: Moment?
}
