public import Linkspan
internal import LinkspanNetwork

extension TransportFactory {
    /// The raw WebSocket transport for a catalog: options `codec`, `subprotocols`, `headers`, `closeCodes`,
    /// `pingInterval`, `pingTimeout`, `compression`, `renewalEvent`, `maximumMessageBytes`, and those of TLS (`ca`, `systemRoots`,
    /// `pins`, `revokedPins`, `certificate`, `key`, `minimumTLS`), of a proxy (`proxy`, `proxyUser`, `proxyPassword`), and
    /// `socket` for a Unix-domain socket.
    public static var webSocket: Self { .webSocket(codecs: [:]) }

    /// The same with codecs of your own, which a file names by the option `codec`.
    ///
    /// ```swift
    /// catalog.add(.webSocket(codecs: ["ticker": TickerCodec(symbols: ["BTC", "ETH"])]))
    /// ```
    ///
    /// - Parameter codecs: by their names in the file; one that is called `json`, `text` or `binary` takes that one's place.
    /// - Returns: the transport for a catalog.
    public static func webSocket(codecs: [String: any EnvelopeCodec]) -> Self {
        let names = WebSocketOptions.codecs + codecs.keys.filter { !WebSocketOptions.codecs.contains($0) }.sorted()
        return Self(
            "websocket", schemes: ["ws", "wss", "http", "https"],
            options: [
                PluginOption("subprotocols", .list, fallback: "none", "Sub-protocols to offer, the preferred first."),
                PluginOption(
                    "codec", .choice(names), fallback: "json",
                    "The message format: JSON envelopes, plain texts, plain bytes or a codec of the app's own."),
                PluginOption(
                    "headers", .list, fallback: "none", isSecret: true,
                    "Header fields of the request, such as `X-Client: 7`."),
                PluginOption(
                    "closeCodes", .list, fallback: "as usual",
                    "Meanings of close codes (retry, later, stop, refused, credentials), such as `4000-4099=stop`."),
                PluginOption("pingInterval", .seconds(0.1...3_600), fallback: "15", "The interval between pings."),
                PluginOption(
                    "pingTimeout", .seconds(0.1...3_600), fallback: "10", "The time limit for the answer to a ping."),
            ] + WebSocketConfiguration.networkOptions
        ) { values throws(LinkspanError) in
            var configuration = WebSocketConfiguration()
            try configuration.take(values)
            configuration.headers = try WebSocketOptions.headers(values["headers"] ?? [])
            configuration.closeMeanings = try WebSocketOptions.closeMeanings(values["closeCodes"] ?? [])
            configuration.codec = WebSocketOptions.codec(values["codec"] as String?, of: codecs)
            if let names: [String] = values["subprotocols"] { configuration.subprotocols = names }
            if let interval: Duration = values["pingInterval"] { configuration.keepAlive?.interval = interval }
            if let timeout: Duration = values["pingTimeout"] { configuration.keepAlive?.timeout = timeout }
            return WebSocketTransport(configuration)
        }
    }
}
