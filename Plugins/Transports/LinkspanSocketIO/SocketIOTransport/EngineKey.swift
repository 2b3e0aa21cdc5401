internal import Linkspan
internal import LinkspanNetwork
internal import LinkspanRuntime

/// The values that links must agree on to share an engine.
///
/// The owner is one of them: users of one process never share a socket, cookies or what was learned about the server.
struct EngineKey: Sendable, Hashable {
    /// The request of the first link with these values.
    private let boxedRequest: Boxed<LinkRequest>
    private let boxedConfiguration: Boxed<SocketIOConfiguration>

    init(_ request: Boxed<LinkRequest>, _ configuration: Boxed<SocketIOConfiguration>) {
        self.boxedRequest = request
        self.boxedConfiguration = configuration
    }

    var request: LinkRequest { self.boxedRequest.value }

    var configuration: SocketIOConfiguration { self.boxedConfiguration.value }

    var place: CarrierMemory.Place {
        let request = self.request
        return CarrierMemory.Place(
            host: request.url.host, port: request.url.port, isSecure: request.url.isSecure,
            path: self.configuration.endpoint, identity: request.identity.hashValue)
    }

    static func == (left: Self, right: Self) -> Bool {
        let (one, other) = (left.request, right.request)
        return one.url.host == other.url.host && one.url.port == other.url.port
            && one.url.isSecure == other.url.isSecure && one.url.query == other.url.query
            && one.credentials.headers == other.credentials.headers
            && one.credentials.query == other.credentials.query && one.identity == other.identity
            && left.boxedConfiguration == right.boxedConfiguration
    }

    func hash(into hasher: inout Hasher) {
        let request = self.request
        hasher.combine(request.url.host)
        hasher.combine(request.url.port)
        hasher.combine(request.url.query)
        hasher.combine(request.identity)
    }
}
