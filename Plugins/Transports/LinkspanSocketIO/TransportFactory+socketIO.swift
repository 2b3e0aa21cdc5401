public import Linkspan
internal import LinkspanNetwork
internal import LinkspanWebSocketProtocol

extension TransportFactory {
    /// The Socket.IO transport for a catalog: options `path`, `protocol`, `carriers`, `multiplex`, `compression`,
    /// `renewalEvent`, `maximumMessageBytes`, and those of TLS (`ca`, `systemRoots`, `pins`, `revokedPins`, `certificate`, `key`,
    /// `minimumTLS`) and of an HTTP proxy (`proxy`, `proxyUser`, `proxyPassword`).
    public static var socketIO: Self {
        Self(
            "socketio", schemes: ["http", "https", "ws", "wss"],
            options: [
                PluginOption("path", .text, fallback: "/socket.io/", "The path of the Engine.IO endpoint."),
                PluginOption(
                    "protocol", .choice(SocketIOTransport.Version.allCases.map(\.rawValue)), fallback: "v4",
                    "The line of the server: v4 for 3.x and 4.x, v2 for 2.x."),
                PluginOption(
                    "carriers", .choice(SocketIOTransport.Carriers.allCases.map(\.rawValue)), fallback: "websocket",
                    "What carries the packets: websocket, polling, upgrade (polling, then WebSocket), fallback (WebSocket, "
                        + "or else polling)."),
                PluginOption("multiplex", .flag, fallback: "true", "Whether namespaces of one server share a socket."),
                PluginOption(
                    "compression", .flag, fallback: "false", "Whether messages are compressed if the server takes part."
                ),
                .renewalEvent,
                PluginOption(
                    "maximumMessageBytes", .number(1...(1 << 30)), fallback: "16777216",
                    "The most bytes of a received message."),
            ] + TLSPolicy.options + HTTPProxy.options
        ) { values throws(LinkspanError) in
            let path = values.text("path") ?? "/socket.io/"
            guard path.hasPrefix("/") else {
                throw LinkspanError(.invalidConfiguration, "the path has to begin with /")
            }
            let tls = try TLSPolicy(values)
            let proxy = try HTTPProxy.make(values)
            return SocketIOTransport(
                .defaults { configuration in
                    configuration.path = path
                    if let version = values.text("protocol").flatMap(SocketIOTransport.Version.init(rawValue:)) {
                        configuration.protocol = version
                    }
                    if let carriers = values.text("carriers").flatMap(SocketIOTransport.Carriers.init(rawValue:)) {
                        configuration.carriers = carriers
                    }
                    configuration.tls = tls
                    configuration.proxy = proxy
                    if let multiplex = values.flag("multiplex") { configuration.isMultiplexed = multiplex }
                    if values.flag("compression") == true { configuration.compression = .defaults() }
                    configuration.renewalEvent = values.text("renewalEvent")
                    if let bytes = values.number("maximumMessageBytes") { configuration.maximumMessageBytes = bytes }
                })
        }
    }
}
