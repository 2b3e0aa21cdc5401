internal import Linkspan
internal import LinkspanNetwork
internal import LinkspanWebSocketProtocol

/// The parameters that all carriers of one engine share.
struct CarrierRequest: Sendable {
    /// The endpoint, the credentials and the deadline.
    var link: LinkRequest
    /// The version of Engine.IO.
    let version: EngineIOVersion
    /// The path of the Engine.IO endpoint.
    let path: String
    let tls: TLSPolicy
    let proxy: NetworkProxy?
    let socketPath: String?
    let compression: WebSocketCompression?
    let maximumMessageBytes: Int
    let highWaterMark: Int

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
        var items = [(name: "EIO", value: self.version.parameter), (name: "transport", value: transport)] + query
        if let sid { items.append((name: "sid", value: sid)) }
        return StreamRequest(
            self.link, path: self.path, query: items, headers: headers, tls: self.tls,
            proxy: self.proxy, socketPath: self.socketPath)
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

    /// The terms of a WebSocket; the heartbeat is Engine.IO's.
    var terms: WebSocketTerms {
        WebSocketTerms { terms in
            terms.limits.maxMessageBytes = self.maximumMessageBytes
            terms.highWaterMark = self.highWaterMark
        }
    }
}
