public import Linkspan
internal import LinkspanWebSocketClient

extension TransportFactory {
    /// The Socket.IO transport for a catalog: options `path`, `multiplex`, `maximumMessageBytes`, and those of
    /// TLS (`ca`, `systemRoots`, `pins`, `revokedPins`, `certificate`, `key`, `minimumTLS`) and of an HTTP proxy (`proxy`,
    /// `proxyUser`, `proxyPassword`).
    public static var socketIO: Self {
        Self(
            "socketio", schemes: ["http", "https", "ws", "wss"],
            options: [
                PluginOption("path", .text, fallback: "/socket.io/", "The path of the Engine.IO endpoint."),
                PluginOption("multiplex", .flag, fallback: "true", "Whether namespaces of one server share a socket."),
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
                    configuration.tls = tls
                    configuration.proxy = proxy
                    if let multiplex = values.flag("multiplex") { configuration.isMultiplexed = multiplex }
                    if let bytes = values.number("maximumMessageBytes") { configuration.maximumMessageBytes = bytes }
                })
        }
    }
}
