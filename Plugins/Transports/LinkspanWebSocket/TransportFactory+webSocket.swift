public import Linkspan
internal import LinkspanNetwork
internal import LinkspanWebSocketProtocol

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
                    "What messages look like: JSON envelopes, or nothing but a text or bytes."),
                PluginOption(
                    "headers", .list, fallback: "none", isSecret: true,
                    "Header fields of the request, such as `X-Client: 7`."),
                PluginOption(
                    "closeCodes", .list, fallback: "as usual",
                    "What close codes mean (retry, later, stop, refused, credentials), such as `4000-4099=stop`."),
                PluginOption("pingInterval", .seconds(0.1...3_600), fallback: "15", "How often a ping is sent."),
                PluginOption(
                    "pingTimeout", .seconds(0.1...3_600), fallback: "10", "How long the server may take to answer."),
                PluginOption(
                    "compression", .flag, fallback: "false", "Whether messages are compressed if the server takes part."
                ),
                .renewalEvent,
                PluginOption(
                    "maximumMessageBytes", .number(1...(1 << 30)), fallback: "16777216",
                    "The most bytes of a received message."),
            ] + TLSPolicy.options + HTTPProxy.options
        ) { values throws(LinkspanError) in
            let tls = try TLSPolicy(values)
            let proxy = try HTTPProxy.make(values)
            let headers = try WebSocketOptions.headers(values.list("headers") ?? [])
            let closeMeanings = try WebSocketOptions.closeMeanings(values.list("closeCodes") ?? [])
            return WebSocketTransport(
                .defaults { configuration in
                    var keepAlive = WebSocketTransport.KeepAlive()
                    if let interval = values.duration("pingInterval") { keepAlive.interval = interval }
                    if let timeout = values.duration("pingTimeout") { keepAlive.timeout = timeout }
                    configuration.keepAlive = keepAlive
                    configuration.tls = tls
                    configuration.proxy = proxy
                    configuration.headers = headers
                    configuration.closeMeanings = closeMeanings
                    configuration.codec = WebSocketOptions.codec(values.text("codec"))
                    if let names = values.list("subprotocols") { configuration.subprotocols = names }
                    if values.flag("compression") == true { configuration.compression = .defaults() }
                    configuration.renewalEvent = values.text("renewalEvent")
                    if let bytes = values.number("maximumMessageBytes") { configuration.maximumMessageBytes = bytes }
                })
        }
    }
}
