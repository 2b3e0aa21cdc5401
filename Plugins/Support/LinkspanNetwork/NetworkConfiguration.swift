package import Linkspan
package import LinkspanWebSocketProtocol

/// Settings that all network transports share.
package protocol NetworkConfiguration {
    /// The rules for verifying servers, and the client certificate.
    var tls: TLSPolicy { get set }
    /// The proxy; nil for none.
    var proxy: NetworkProxy? { get set }
    /// The path of a Unix-domain socket to connect to in place of the URL's host and port; nil for none.
    var socketPath: String? { get set }
    /// The library that carries bytes.
    var network: NetworkBackEnd { get set }
    /// Whether and how messages are compressed; nil for not at all.
    var compression: WebSocketCompression? { get set }
    /// The event that shows renewed credentials to the server; nil for none.
    var renewalEvent: String? { get set }
    /// The most bytes of a received message.
    var maximumMessageBytes: Int { get set }
    /// The number of unsent bytes at which the link reports that it is full.
    var highWaterMark: Int { get set }
}

extension NetworkConfiguration {
    /// The options of a configuration file that ``take(_:)`` understands.
    package static var networkOptions: [PluginOption] {
        [
            PluginOption(
                "compression", .flag, fallback: "false", "Whether messages are compressed, if the server supports it."),
            PluginOption(
                "renewalEvent", .text, fallback: "none",
                "The event that shows renewed credentials to the server while the connection is up, such as "
                    + "`\(Credentials.renewalEvent)`, its standard name."),
            PluginOption(
                "maximumMessageBytes", .number(1...(1 << 30)), fallback: "16777216",
                "The largest size of a received message, in bytes."),
            PluginOption(
                "socket", .text, fallback: "none",
                "The path of a Unix-domain socket to connect to in place of the URL's host and port."),
            NetworkBackEnd.option,
        ] + TLSPolicy.options + NetworkProxy.options
    }

    /// Takes over the options that were given.
    ///
    /// - Throws: `LinkspanError` with code `invalidConfiguration`.
    package mutating func take(_ values: OptionValues) throws(LinkspanError) {
        self.tls = try TLSPolicy(values)
        self.proxy = try NetworkProxy.make(values)
        if let path: String = values["socket"] {
            if let problem = StreamRequest.problem(withSocketPath: path, proxy: self.proxy) {
                throw LinkspanError(.invalidConfiguration, problem)
            }
            self.socketPath = path
        }
        if let network: NetworkBackEnd = values["network"] {
            if let absence = network.absence { throw LinkspanError(.invalidConfiguration, absence) }
            self.network = network
        }
        if values["compression"] == true { self.compression = .init() }
        self.renewalEvent = values["renewalEvent"] as String?
        if let bytes: Int = values["maximumMessageBytes"] { self.maximumMessageBytes = bytes }
    }

    /// The settings as text, for `Transport.options`, beside `others`.
    package func described(with others: [String: String]) -> [String: String] {
        let settings = [
            "tls": self.tls.description,
            "network": self.network.rawValue,
            "proxy": self.proxy?.description ?? "none",
            "socket": self.socketPath ?? "none",
            "compression": self.compression?.description ?? "none",
            "renewalEvent": self.renewalEvent ?? "none",
            "maximumMessageBytes": "\(self.maximumMessageBytes)",
            "highWaterMark": "\(self.highWaterMark)",
        ]
        return settings.merging(others) { $1 }
    }
}

extension NetworkConfiguration {
    /// The settings that identify the client to a server or a proxy, for `Transport.identity`: the client certificate,
    /// name and password for the proxy, and header fields that are sent with every request.
    ///
    /// - Returns: the settings by name; empty when none identifies the client.
    package func identity(headers: [Credentials.Field] = []) -> [String: Secret] {
        var settings: [String: Secret] = [:]
        if let own = self.tls.clientCertificate {
            settings["certificate"] = Secret(own.description)
            settings["key"] = own.key.exposed.map { Secret($0) }
        }
        if let proxy = self.proxy, let user = proxy.user {
            let parts = [proxy.kind.rawValue, proxy.host, "\(proxy.port)", user, proxy.password?.exposed ?? ""]
            settings["proxy"] = Secret(joined(parts))
        }
        if !headers.isEmpty {
            settings["headers"] = Secret(joined(headers.flatMap { [$0.name, $0.value.exposed] }))
        }
        return settings
    }
}

/// Each part has its length in front, so that no two lists become the same text.
private func joined(_ parts: [String]) -> String {
    parts.map { "\($0.utf8.count) \($0)" }.joined(separator: " ")
}
