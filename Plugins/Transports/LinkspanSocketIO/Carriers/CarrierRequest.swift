internal import Linkspan
internal import LinkspanNetwork
internal import LinkspanWebSocketProtocol

/// The settings that all carriers of one engine have in common.
struct CarrierRequest: Sendable {
    /// The endpoint, the credentials and the deadline.
    var link: LinkRequest
    /// The configuration of the transport.
    var configuration: SocketIOTransport.Configuration

    var version: EngineIOVersion { self.configuration.protocol.engineIO }

    /// The request for one carrier.
    ///
    /// - Parameters:
    ///   - transport: the carrier's name in the query.
    ///   - sid: the session to join; nil for a new one.
    ///   - query: further items.
    ///   - cookie: the server's cookies; left out where they do not fit, because no server may make requests impossible.
    ///   - headers: headers in front of those of the credentials.
    /// - Returns: the request, whose deadline is the link's.
    func upgrade(
        transport: String, sid: String?, query: [(name: String, value: String)] = [], cookie: String? = nil,
        headers: [(name: String, value: String)] = []
    ) -> UpgradeRequest {
        if let cookie {
            let headers = [(name: "Cookie", value: cookie)] + headers
            let request = self.upgrade(transport: transport, sid: sid, query: query, headers: headers)
            if (try? request.validated()) != nil { return request }
        }
        var items = [(name: "EIO", value: self.version.parameter), (name: "transport", value: transport)] + query
        if let sid { items.append((name: "sid", value: sid)) }
        return UpgradeRequest(
            self.link, path: self.configuration.path, query: items, headers: headers, tls: self.configuration.tls,
            proxy: self.configuration.proxy, socketPath: self.configuration.socketPath)
    }

    /// The same as a WebSocket's.
    func webSocket(sid: String?, cookie: String?, deadline: Duration) -> WebSocketRequest {
        var upgrade = self.upgrade(transport: "websocket", sid: sid, cookie: cookie)
        upgrade.deadline = deadline
        return WebSocketRequest(
            upgrade: upgrade, limits: .init { $0.maxMessageBytes = self.configuration.maximumMessageBytes },
            compression: self.configuration.compression,
            highWaterMark: self.configuration.highWaterMark)
    }
}
