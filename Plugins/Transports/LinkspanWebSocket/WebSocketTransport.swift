public import Linkspan
package import LinkspanNetwork
public import LinkspanRuntime

/// Carries messages over a raw WebSocket (RFC 6455), wrapped by an envelope codec.
public struct WebSocketTransport: Transport {
    /// `websocket`.
    public let name = "websocket"
    /// `ws`, `wss`, and their HTTP spellings.
    public let schemes: Set<String> = ["ws", "wss", "http", "https"]
    private let settings: Boxed<WebSocketConfiguration>
    private let loop: any NetworkLoop

    /// Makes a transport.
    ///
    /// - Parameters:
    ///   - configuration: how it behaves.
    ///   - loop: the event loop that the sockets run on.
    package init(_ configuration: WebSocketConfiguration = .init(), loop: any NetworkLoop) {
        self.settings = Boxed(configuration)
        self.loop = loop
    }

    /// The settings of the transport.
    public var configuration: WebSocketConfiguration { self.settings.value }

    /// The loop.
    public var executor: any JobExecutor { self.loop }

    /// The path of the Unix-domain socket, if there is one.
    public var endpoint: String { self.configuration.socketPath ?? "" }

    /// Everything in the configuration, as text.
    public var options: [String: String] {
        let keepAlive = self.configuration.keepAlive.map { "every \($0.interval), \($0.timeout) to answer" }
        return self.configuration.described(with: [
            "codec": self.configuration.codec.comparison,
            "subprotocols": self.configuration.subprotocols.joined(separator: ","),
            "headers": self.configuration.headersDescription,
            "closing": self.configuration.closing.text,
            "closeMeanings": self.configuration.closeMeanings.text,
            "keepAlive": keepAlive ?? "never",
        ])
    }

    /// The client certificate, name and password for the proxy, and the header fields.
    public var identity: [String: Secret] {
        self.configuration.identity(headers: self.configuration.headers)
    }

    /// Makes a link.
    public func makeLink(_ request: LinkRequest, receiver: any LinkReceiver) -> any Link {
        WebSocketLink(request: request, configuration: self.settings, loop: self.loop, receiver: receiver)
    }
}

extension Transport where Self == WebSocketTransport {
    /// Raw WebSocket with the default JSON envelope.
    public static var webSocket: Self { Self() }

    /// Raw WebSocket with other settings.
    public static func webSocket(_ configuration: WebSocketConfiguration) -> Self { Self(configuration) }
}

extension EnvelopeCodec {
    /// The codec as text that is the same for equal codecs alone.
    fileprivate var comparison: String {
        self is JSONEnvelopeCodec
            ? self.name
            : "\(self.name) (\(String(reflecting: Self.self)) \(String(UInt(bitPattern: self.hashValue), radix: 16)))"
    }
}
