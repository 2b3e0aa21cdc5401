public import Linkspan
internal import LinkspanNetwork

extension TransportFactory {
    /// The Socket.IO transport for a catalog: options `path`, `protocol`, `codec`, `carriers`, `multiplex`,
    /// `compression`, `renewalEvent`, `maximumMessageBytes`, and those of TLS (`ca`, `systemRoots`, `pins`, `revokedPins`, `certificate`, `key`,
    /// `minimumTLS`), of a proxy (`proxy`, `proxyUser`, `proxyPassword`), and `socket` for a Unix-domain socket.
    public static var socketIO: Self {
        Self(
            "socketio", schemes: ["http", "https", "ws", "wss"],
            options: [
                PluginOption("path", .text, fallback: "/socket.io/", "The path of the Engine.IO endpoint."),
                PluginOption(
                    "protocol", .choice(SocketIOConfiguration.Version.allCases.map(\.rawValue)), fallback: "v4",
                    "The protocol version: v4 for servers of 3.x and 4.x, v2 for 2.x."),
                PluginOption(
                    "carriers", .choice(SocketIOCarriers.allCases.map(\.rawValue)), fallback: "websocket",
                    "The carriers: websocket, polling, upgrade (polling, then WebSocket), fallback (WebSocket, "
                        + "or else polling)."),
                PluginOption(
                    "codec", .choice(["json", "msgpack"]), fallback: "json",
                    "The form of packets, which the server has to share: json, or msgpack (socket.io-msgpack-parser)."),
                PluginOption("multiplex", .flag, fallback: "true", "Whether namespaces of one server share a socket."),
            ] + SocketIOConfiguration.networkOptions
        ) { values throws(LinkspanError) in
            var configuration = SocketIOConfiguration()
            try configuration.take(values)
            if let path: String = values["path"] { configuration.path = path }
            guard configuration.path.hasPrefix("/") else {
                throw LinkspanError(.invalidConfiguration, "the path has to begin with /")
            }
            if let version: SocketIOConfiguration.Version = values["protocol"] {
                configuration.protocol = version
            }
            if let carriers: SocketIOCarriers = values["carriers"] {
                configuration.carriers = carriers
            }
            if let codec: String = values["codec"], codec == "msgpack" { configuration.codec = MessagePackCodec() }
            if let multiplex: Bool = values["multiplex"] { configuration.isMultiplexed = multiplex }
            return SocketIOTransport(configuration)
        }
    }
}
