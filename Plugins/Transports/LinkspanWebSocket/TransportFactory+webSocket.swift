public import Linkspan
internal import LinkspanWebSocketClient

extension TransportFactory {
    /// The raw WebSocket transport for a catalog: options `subprotocols`, `pingInterval`, `pingTimeout`,
    /// `maximumMessageBytes`, and those of TLS (`ca`, `systemRoots`, `pins`, `revokedPins`, `certificate`, `key`,
    /// `minimumTLS`) and of an HTTP proxy (`proxy`, `proxyUser`, `proxyPassword`).
    public static var webSocket: Self {
        Self(
            "websocket", schemes: ["ws", "wss", "http", "https"],
            options: [
                PluginOption("subprotocols", .list, fallback: "none", "Sub-protocols to offer, the preferred first."),
                PluginOption("pingInterval", .seconds(0.1...3_600), fallback: "15", "How often a ping is sent."),
                PluginOption(
                    "pingTimeout", .seconds(0.1...3_600), fallback: "10", "How long the server may take to answer."),
                PluginOption(
                    "maximumMessageBytes", .number(1...(1 << 30)), fallback: "16777216",
                    "The most bytes of a received message."),
            ] + TLSPolicy.options + HTTPProxy.options
        ) { values throws(LinkspanError) in
            let tls = try TLSPolicy(values)
            let proxy = try HTTPProxy.make(values)
            return WebSocketTransport(
                .defaults { configuration in
                    var keepAlive = WebSocketTransport.KeepAlive()
                    if let interval = values.duration("pingInterval") { keepAlive.interval = interval }
                    if let timeout = values.duration("pingTimeout") { keepAlive.timeout = timeout }
                    configuration.keepAlive = keepAlive
                    configuration.tls = tls
                    configuration.proxy = proxy
                    if let names = values.list("subprotocols") { configuration.subprotocols = names }
                    if let bytes = values.number("maximumMessageBytes") { configuration.maximumMessageBytes = bytes }
                })
        }
    }
}
