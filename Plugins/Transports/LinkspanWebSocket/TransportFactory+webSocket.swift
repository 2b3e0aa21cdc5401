public import Linkspan

extension TransportFactory {
    /// The raw WebSocket transport for a catalog: options `ca`, `subprotocols`, `pingInterval`, `pingTimeout`,
    /// `compression`, `maximumMessageBytes`.
    public static var webSocket: Self {
        Self(
            "websocket", schemes: ["ws", "wss", "http", "https"],
            options: [
                PluginOption(
                    "ca", .text, fallback: "the system's", "A PEM file with the authorities to trust instead."),
                PluginOption("subprotocols", .list, fallback: "none", "Sub-protocols to offer, the preferred first."),
                PluginOption("pingInterval", .seconds(0.1...3_600), fallback: "15", "How often a ping is sent."),
                PluginOption(
                    "pingTimeout", .seconds(0.1...3_600), fallback: "10", "How long the server may take to answer."),
                PluginOption(
                    "compression", .flag, fallback: "false", "Whether messages are compressed if the server takes part."
                ),
                PluginOption(
                    "maximumMessageBytes", .number(1...(1 << 30)), fallback: "16777216",
                    "The most bytes of a received message."),
            ]
        ) { values throws(LinkspanError) in
            WebSocketTransport(
                .defaults { configuration in
                    var keepAlive = WebSocketTransport.KeepAlive()
                    if let interval = values.duration("pingInterval") { keepAlive.interval = interval }
                    if let timeout = values.duration("pingTimeout") { keepAlive.timeout = timeout }
                    configuration.keepAlive = keepAlive
                    if let file = values.text("ca") { configuration.tls = TLSPolicy(roots: .file(file)) }
                    if let names = values.list("subprotocols") { configuration.subprotocols = names }
                    if values.flag("compression") == true { configuration.compression = .defaults() }
                    if let bytes = values.number("maximumMessageBytes") { configuration.maximumMessageBytes = bytes }
                })
        }
    }
}
