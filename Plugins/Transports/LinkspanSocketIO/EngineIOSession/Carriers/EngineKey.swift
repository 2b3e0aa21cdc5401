internal import Linkspan
internal import LinkspanNetwork
internal import LinkspanRuntime
internal import LinkspanWebSocketProtocol

/// The values that links must agree on to share an engine.
///
/// The owner is one of them: users of one process never share a socket, cookies or what was learned about the server.
struct EngineKey: Sendable, Hashable {
    /// The request of the first link with these values.
    private let boxedRequest: Boxed<LinkRequest>
    private let settings: Boxed<SocketIOSettings>

    init(_ request: Boxed<LinkRequest>, _ settings: Boxed<SocketIOSettings>) {
        self.boxedRequest = request
        self.settings = settings
    }

    var request: LinkRequest { self.boxedRequest.value }

    var configuration: SocketIOConfiguration { self.settings.value.configuration }

    /// The version of Engine.IO.
    var version: EngineIOVersion { self.configuration.protocol.engineIO }

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
            && left.settings == right.settings
    }

    func hash(into hasher: inout Hasher) {
        let request = self.request
        hasher.combine(request.url.host)
        hasher.combine(request.url.port)
        hasher.combine(request.url.query)
        hasher.combine(request.identity)
    }
}

// MARK: - Requests of carriers

extension EngineKey {
    /// The request for one carrier.
    ///
    /// - Parameters:
    ///   - transport: the carrier's name in the query.
    ///   - sid: the session to join; nil for a new one.
    ///   - query: further items.
    ///   - cookie: the server's cookies, which join those of the credentials; left out where they do not fit, because no
    ///     server may make requests impossible.
    ///   - headers: headers in front of those of the credentials.
    /// - Returns: the request, whose deadline is the link's.
    func upgrade(
        transport: String, sid: String?, query: [(name: String, value: String)] = [], cookie: String? = nil,
        headers: [(name: String, value: String)] = []
    ) -> StreamRequest {
        if let cookie {
            var request = self.upgrade(transport: transport, sid: sid, query: query, headers: headers)
            request.headers = Self.headers(request.headers, with: cookie)
            if (try? request.validated()) != nil { return request }
        }
        var items = [(name: "EIO", value: self.version.rawValue), (name: "transport", value: transport)] + query
        if let sid { items.append((name: "sid", value: sid)) }
        return StreamRequest(
            self.request, path: self.configuration.path, query: items, headers: headers, tls: self.configuration.tls,
            proxy: self.configuration.proxy, socketPath: self.configuration.socketPath)
    }

    /// Adds the server's cookies to headers, as a request has one `Cookie` field at most (RFC 6265 section 5.4).
    ///
    /// Of two cookies with one name the server's is sent: it is the newer.
    private static func headers(
        _ headers: [StreamRequest.Header], with cookie: String
    ) -> [StreamRequest.Header] {
        let isCookie = { (header: StreamRequest.Header) in header.name.lowercased() == "cookie" }
        let new = Self.pairs(cookie)
        let names = Set(new.map(Self.name))
        let former = headers.filter(isCookie).flatMap { Self.pairs($0.value) }
        let pairs = new + former.filter { !names.contains(Self.name($0)) }
        return [(name: "Cookie", value: pairs.joined(separator: "; "))] + headers.filter { !isCookie($0) }
    }

    /// The cookies of a `Cookie` field, each with its name.
    private static func pairs(_ field: String) -> [Substring] {
        field.split(separator: ";").map(\.trimmed).filter { !$0.isEmpty }
    }

    private static func name(_ pair: Substring) -> Substring { pair.prefix { $0 != "=" }.trimmed }

    /// The request for a WebSocket.
    func webSocket(sid: String?, cookie: String?, deadline: Duration) -> StreamRequest {
        var request = self.upgrade(transport: "websocket", sid: sid, cookie: cookie)
        request.deadline = deadline
        return request
    }

    /// The terms of a WebSocket.
    var terms: WebSocketTerms { self.settings.value.terms }
}

/// The configuration of a transport and what follows from it, which all its links share.
struct SocketIOSettings: Sendable, Equatable {
    let configuration: SocketIOConfiguration
    /// The heartbeat is Engine.IO's.
    let terms: WebSocketTerms

    init(_ configuration: SocketIOConfiguration) {
        self.configuration = configuration
        self.terms = WebSocketTerms(
            limits: WebSocketLimits { $0.maxMessageBytes = configuration.maximumMessageBytes },
            highWaterMark: configuration.highWaterMark)
    }

    static func == (left: Self, right: Self) -> Bool { left.configuration == right.configuration }
}
