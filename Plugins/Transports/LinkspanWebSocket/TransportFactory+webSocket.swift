public import Linkspan
internal import LinkspanNetwork

extension TransportFactory {
    /// The raw WebSocket transport for a catalog: options `codec`, `subprotocols`, `headers`, `closeCodes`,
    /// `pingInterval`, `pingTimeout`, `compression`, `renewalEvent`, `maximumMessageBytes`, and those of TLS (`ca`, `systemRoots`,
    /// `pins`, `revokedPins`, `certificate`, `key`, `minimumTLS`) and of an HTTP proxy (`proxy`, `proxyUser`,
    /// `proxyPassword`).
    public static var webSocket: Self {
        Self(
            "websocket", schemes: ["ws", "wss", "http", "https"],
            options: [
                PluginOption("subprotocols", .list, fallback: "none", "Sub-protocols to offer, the preferred first."),
                PluginOption(
                    "codec", .choice(["json", "text", "binary"]), fallback: "json",
                    "The message format: JSON envelopes, plain texts or plain bytes."),
                PluginOption(
                    "headers", .list, fallback: "none", isSecret: true,
                    "Header fields of the request, such as `X-Client: 7`."),
                PluginOption(
                    "closeCodes", .list, fallback: "as usual",
                    "Meanings of close codes (retry, later, stop, refused, credentials), such as `4000-4099=stop`."),
                PluginOption("pingInterval", .seconds(0.1...3_600), fallback: "15", "The interval between pings."),
                PluginOption(
                    "pingTimeout", .seconds(0.1...3_600), fallback: "10", "The time limit for the answer to a ping."),
            ] + WebSocketTransport.Configuration.networkOptions
        ) { values throws(LinkspanError) in
            var configuration = WebSocketTransport.Configuration()
            try configuration.take(values)
            configuration.headers = try WebSocketOptions.headers(values["headers"] ?? [])
            configuration.closeMeanings = try WebSocketOptions.closeMeanings(values["closeCodes"] ?? [])
            configuration.codec = WebSocketOptions.codec(values["codec"] as String?)
            if let names: [String] = values["subprotocols"] { configuration.subprotocols = names }
            if let interval: Duration = values["pingInterval"] { configuration.keepAlive?.interval = interval }
            if let timeout: Duration = values["pingTimeout"] { configuration.keepAlive?.timeout = timeout }
            return WebSocketTransport(configuration)
        }
    }
}
