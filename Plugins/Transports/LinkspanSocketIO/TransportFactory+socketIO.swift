public import Linkspan

extension TransportFactory {
    /// The Socket.IO transport for a catalog: options `path`, `ca`, `multiplex`, `compression`,
    /// `maximumMessageBytes`.
    public static var socketIO: Self {
        Self(
            "socketio", schemes: ["http", "https", "ws", "wss"],
            options: [
                PluginOption("path", .text, fallback: "/socket.io/", "The path of the Engine.IO endpoint."),
                PluginOption(
                    "ca", .text, fallback: "the system's", "A PEM file with the authorities to trust instead."),
                PluginOption("multiplex", .flag, fallback: "true", "Whether namespaces of one server share a socket."),
                PluginOption(
                    "compression", .flag, fallback: "false", "Whether messages are compressed if the server takes part."
                ),
                PluginOption(
                    "maximumMessageBytes", .number(1...(1 << 30)), fallback: "16777216",
                    "The most bytes of a received message."),
            ]
        ) { values throws(LinkspanError) in
            let path = values.text("path") ?? "/socket.io/"
            guard path.hasPrefix("/") else {
                throw LinkspanError(.invalidConfiguration, "the path has to begin with /")
            }
            return SocketIOTransport(
                .defaults { configuration in
                    configuration.path = path
                    if let file = values.text("ca") { configuration.tls = TLSPolicy(roots: .file(file)) }
                    if let multiplex = values.flag("multiplex") { configuration.isMultiplexed = multiplex }
                    if values.flag("compression") == true { configuration.compression = .defaults() }
                    if let bytes = values.number("maximumMessageBytes") { configuration.maximumMessageBytes = bytes }
                })
        }
    }
}
