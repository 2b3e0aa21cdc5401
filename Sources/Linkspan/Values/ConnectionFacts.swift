/// What the attempts publish of a connection, for readers on other threads and for its status.
struct ConnectionFacts: Sendable {
    var state = ConnectionState.created
    var progress = ConnectionProgress.idle
    var lastError: LinkspanError?
    /// The reason why there is no link until the app asks for one; nil while it is up to the connection.
    var failure: LinkspanError?
    /// The number of times the server has refused a provider's credentials since it last accepted some; after the
    /// second time they are not renewed any more.
    var refusals = 0
    /// The place among several endpoints.
    var place: EndpointPlace?
}
