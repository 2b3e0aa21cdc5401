public import Linkspan
package import LinkspanNetwork
public import LinkspanRuntime

/// Carries messages over Socket.IO, on WebSocket or HTTP long polling.
///
/// The URL's path is the namespace: `https://chat.example/admin` is namespace `/admin` of the server at
/// `https://chat.example`. Connections to namespaces of one server share one WebSocket, as long as they agree on query,
/// headers, options and identity: the credential source, the client certificate, name and password for the proxy.
public struct SocketIOTransport: Transport {
    /// `socketio`.
    public let name = "socketio"
    /// `http` and `ws`, and `https` and `wss` with TLS.
    public let schemes: Set<String> = ["http", "https", "ws", "wss"]
    private let settings: Boxed<SocketIOSettings>
    private let engines: SocketIOEngines

    /// Makes a transport.
    ///
    /// Links of one transport share sockets.
    ///
    /// - Parameters:
    ///   - configuration: how it behaves.
    ///   - loop: the event loop that the sockets run on.
    package init(_ configuration: SocketIOConfiguration = .init(), loop: any NetworkLoop) {
        self.init(configuration, engines: SocketIOEngines(loop: loop))
    }

    init(_ configuration: SocketIOConfiguration, engines: SocketIOEngines) {
        self.settings = Boxed(SocketIOSettings(configuration))
        self.engines = engines
    }

    /// The settings of the transport.
    public var configuration: SocketIOConfiguration { self.settings.value.configuration }

    /// The loop.
    public var executor: any JobExecutor { self.engines.loop }

    /// The path, and that of the Unix-domain socket, if there is one.
    public var endpoint: String { self.configuration.endpoint }

    /// Everything in the configuration, as text.
    public var options: [String: String] {
        self.configuration.described(with: [
            "path": self.configuration.path,
            "protocol": self.configuration.protocol.rawValue,
            "carriers": self.configuration.carriers.rawValue,
            "codec": self.configuration.codec.map { Self.describe($0) } ?? "json",
            "multiplex": "\(self.configuration.isMultiplexed)",
        ])
    }

    /// The codec as text that is the same for equal codecs alone.
    private static func describe(_ codec: some SocketIOCodec) -> String {
        "\(codec.name) (\(String(reflecting: type(of: codec))) \(String(UInt(bitPattern: codec.hashValue), radix: 16)))"
    }

    /// The client certificate, and name and password for the proxy.
    public var identity: [String: Secret] {
        self.configuration.identity()
    }

    /// Makes a link to the namespace that the URL's path names.
    public func makeLink(_ request: LinkRequest, receiver: any LinkReceiver) -> any Link {
        SocketIOLink(request: request, settings: self.settings, engines: self.engines, receiver: receiver)
    }
}

extension Transport where Self == SocketIOTransport {
    /// Socket.IO with default settings.
    public static var socketIO: Self { Self() }

    /// Socket.IO with other settings.
    public static func socketIO(_ configuration: SocketIOConfiguration) -> Self { Self(configuration) }
}

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
