internal import Linkspan
internal import LinkspanLWS
internal import LinkspanWebSocketClient
internal import LinkspanWebSocketProtocol

/// What all carriers of one engine have in common.
struct CarrierRequest: Sendable {
    /// Where to, as whom, for how long.
    var link: LinkRequest
    /// How.
    var configuration: SocketIOTransport.Configuration

    var version: EngineIOVersion { self.configuration.protocol.engineIO }

    /// The request for one carrier.
    ///
    /// - Parameters:
    ///   - transport: the carrier's name in the query.
    ///   - sid: the session to join; nil for a new one.
    ///   - query: further items.
    ///   - headers: headers in front of those of the credentials.
    /// - Returns: the request, whose deadline is the link's.
    func upgrade(
        transport: String, sid: String?, query: [(name: String, value: String)] = [],
        headers: [(name: String, value: String)] = []
    ) -> UpgradeRequest {
        var items = [(name: "EIO", value: self.version.parameter), (name: "transport", value: transport)] + query
        if let sid { items.append((name: "sid", value: sid)) }
        return UpgradeRequest(
            self.link, path: self.configuration.path, query: items, headers: headers, tls: self.configuration.tls,
            proxy: self.configuration.proxy)
    }

    /// The same as a WebSocket's.
    func webSocket(sid: String?, cookie: String?, deadline: Duration) -> WebSocketRequest {
        let headers = cookie.map { [(name: "Cookie", value: $0)] } ?? []
        var upgrade = self.upgrade(transport: "websocket", sid: sid, headers: headers)
        upgrade.deadline = deadline
        return WebSocketRequest(
            upgrade: upgrade, limits: .defaults { $0.maxMessageBytes = self.configuration.maximumMessageBytes },
            compression: self.configuration.compression.map { WebSocketCompression($0) },
            highWaterMark: self.configuration.highWaterMark)
    }
}
