public import Linkspan
private import LinkspanBackEnds
package import LinkspanNetwork
public import LinkspanRuntime

/// Carries messages over a raw WebSocket (RFC 6455), in the language of a message protocol.
public struct WebSocketTransport: Transport {
    /// `websocket`.
    public let name = "websocket"
    /// `ws`, `wss`, and their HTTP spellings.
    public let schemes: Set<String> = ["ws", "wss", "http", "https"]
    private let settings: Boxed<WebSocketSettings>
    private let loop: any NetworkLoop

    /// Makes a transport.
    ///
    /// - Parameters:
    ///   - configuration: how it behaves.
    ///   - loop: the event loop that the sockets run on.
    package init(_ configuration: WebSocketConfiguration = .init(), loop: any NetworkLoop) {
        self.settings = Boxed(WebSocketSettings(configuration))
        self.loop = loop
    }

    /// The settings of the transport.
    public var configuration: WebSocketConfiguration { self.settings.value.configuration }

    /// The loop.
    public var executor: any JobExecutor { self.loop }

    /// The path of the Unix-domain socket, if there is one.
    public var endpoint: String { self.configuration.socketPath ?? "" }

    /// Everything in the configuration, as text.
    public var options: [String: String] {
        let closing = self.configuration.closing
        let keepAlive = self.configuration.keepAlive.map { "every \($0.interval), \($0.timeout) to answer" }
        return self.configuration.described(with: [
            "protocol": self.configuration.protocol.comparison,
            "subprotocols": self.configuration.subprotocols.joined(separator: ","),
            "headers": self.configuration.headersDescription,
            "responseHeaders": self.configuration.responseHeaders.joined(separator: ","),
            "closing": closing.reason.isEmpty ? "\(closing.code)" : "\(closing.code) \(closing.reason)",
            "closeMeanings": self.configuration.closeMeanings.text,
            "keepAlive": keepAlive ?? "never",
        ])
    }

    /// The client certificate, name and password for the proxy, and the header fields.
    public var identity: [String: Secret] {
        self.configuration.identity(headers: self.configuration.headers)
    }

    /// Whether the protocol sends them.
    public var sendsKeys: Bool { self.configuration.protocol.sendsKeys }

    /// Makes a link.
    public func makeLink(_ request: LinkRequest, receiver: any LinkReceiver) -> any Link {
        WebSocketLink(request: request, settings: self.settings, loop: self.loop, receiver: receiver)
    }
}

extension Transport where Self == WebSocketTransport {
    /// Raw WebSocket with the default JSON envelope.
    public static var webSocket: Self { Self() }

    /// Raw WebSocket with other settings.
    public static func webSocket(_ configuration: WebSocketConfiguration) -> Self { Self(configuration) }
}

extension MessageProtocol {
    /// The protocol as text that is the same for equal protocols alone.
    fileprivate var comparison: String {
        self is JSONMessageProtocol
            ? self.name
            : "\(self.name) (\(String(reflecting: Self.self)) \(String(UInt(bitPattern: self.hashValue), radix: 16)))"
    }
}

extension WebSocketTransport {
    /// Makes a transport whose sockets run on the loop that the process shares.
    ///
    /// - Parameter configuration: how it behaves.
    public init(_ configuration: WebSocketConfiguration = .init()) {
        self.init(configuration, loop: configuration.network.sharedLoop)
    }
}

extension TransportFactory {
    /// The raw WebSocket transport for a catalog: options `protocol`, `subprotocols`, `headers`, `responseHeaders`,
    /// `closeCodes`, `pingInterval`, `pingTimeout`, `compression`, `renewalEvent`, `maximumMessageBytes`, and those of TLS
    /// (`ca`, `systemRoots`, `pins`, `revokedPins`, `certificate`, `key`, `minimumTLS`), of a proxy (`proxy`, `proxyUser`,
    /// `proxyPassword`), and `socket` for a Unix-domain socket.
    public static var webSocket: Self { .webSocket(protocols: [:]) }

    /// The same with further protocols, which a file names by the option `protocol`.
    ///
    /// ```swift
    /// catalog.add(.webSocket(protocols: ["ticker": TickerProtocol(symbols: ["BTC"])]))
    /// ```
    ///
    /// - Parameter protocols: by their names in the file; one that is called `json`, `text` or `binary` takes that one's place.
    /// - Returns: the transport for a catalog.
    public static func webSocket(protocols: [String: any MessageProtocol]) -> Self {
        let protocols = WebSocketOptions.protocols.merging(protocols) { $1 }
        return Self(
            "websocket", schemes: ["ws", "wss", "http", "https"],
            options: [
                PluginOption("subprotocols", .list, fallback: "none", "Sub-protocols to offer, the preferred first."),
                PluginOption(
                    "protocol", .choice(protocols.keys.sorted()), fallback: "json",
                    "What the messages mean: JSON envelopes, plain texts, plain bytes or a protocol of the app's own."),
                PluginOption(
                    "headers", .list, fallback: "none", isSecret: true,
                    "Header fields of the request, such as `X-Client: 7`."),
                PluginOption(
                    "responseHeaders", .list, fallback: "none",
                    "The names of header fields of the server's response that an app can read."),
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
            if let name: String = values["protocol"], let named = protocols[name] { configuration.protocol = named }
            if let names: [String] = values["subprotocols"] { configuration.subprotocols = names }
            if let names: [String] = values["responseHeaders"] { configuration.responseHeaders = names }
            if let interval: Duration = values["pingInterval"] { configuration.keepAlive?.interval = interval }
            if let timeout: Duration = values["pingTimeout"] { configuration.keepAlive?.timeout = timeout }
            return WebSocketTransport(configuration)
        }
    }
}
