public import ArgumentParser
import Foundation
import Linkspan
import LinkspanNetwork
public import LinkspanSocketIO
import LinkspanTerminal
import LinkspanWebSocket

extension SocketIOCarriers: ExpressibleByArgument {}
extension SocketIOConfiguration.Version: ExpressibleByArgument {}

/// Where a probe connects to, and as whom: the flags of the command.
struct ProbeTarget: ParsableArguments {
    /// What is spoken.
    enum Wire: String, CaseIterable, ExpressibleByArgument, Sendable { case socketio, websocket }

    /// What a message of a raw WebSocket is.
    enum Envelope: String, CaseIterable, ExpressibleByArgument, Sendable { case raw, json }

    @Argument(help: "http:// or https:// for Socket.IO, ws:// or wss:// for a raw WebSocket.")
    var url: String

    @Option(help: "The protocol, if not the one of the URL: socketio or websocket.")
    var transport: Wire?

    @Option(help: "The namespace of Socket.IO; the same as the path of the URL.")
    var namespace: String?

    @Option(help: "The path of Socket.IO on the server.")
    var path = "/socket.io/"

    @Option(help: "The carriers of Socket.IO.")
    var carriers = SocketIOCarriers.webSocket

    @Option(help: "The servers of Socket.IO: v4 for 3.x and 4.x, v2 for 2.x.")
    var version = SocketIOConfiguration.Version.v4

    @Option(help: "The messages of a raw WebSocket: raw, or json for envelopes with events and acknowledgements.")
    var envelope = Envelope.raw

    @Option(help: "The payload of CONNECT, or of the first envelope: JSON.")
    var auth: String?

    @Option(name: [.customShort("H"), .long], help: "A header of the request, 'Name: value'; may be repeated.")
    var header: [String] = []

    @Option(help: "A sub-protocol of a raw WebSocket to offer; may be repeated.")
    var subprotocol: [String] = []

    @Option(help: "A file with the roots to trust (PEM), in place of those of the system.")
    var ca: String?

    @Option(help: "The pin of a public key that the server's chain has to have, sha256/…; may be repeated.")
    var pin: [String] = []

    @Option(help: "The proxy to go through: http://HOST:PORT or socks5://HOST:PORT, or NAME:PASSWORD@HOST:PORT.")
    var proxy: String?

    @OptionGroup var network: NetworkFlag

    /// What is spoken, by the flag or the URL.
    var wire: Wire { self.transport ?? (self.url.lowercased().hasPrefix("ws") ? .websocket : .socketio) }

    /// Whether messages have no names.
    var isRaw: Bool { self.wire == .websocket && self.envelope == .raw }

    mutating func validate() throws {
        guard self.url.lowercased().firstMatch(of: /^(http|ws)s?:\/\//) != nil else {
            throw ValidationError("the URL has to begin with http://, https://, ws:// or wss://: http://localhost:3000")
        }
        let authority = self.url.drop { $0 != ":" }.dropFirst(3).prefix { !"/?#".contains($0) }
        if authority.contains("@") {
            throw ValidationError(
                "the URL must not hold a name and a password: pass them by --header 'Authorization: Basic …', with "
                    + "NAME:PASSWORD in base64")
        }
        guard self.path.hasPrefix("/") else { throw ValidationError("--path has to begin with /") }
        // As clients of Socket.IO do.
        if !self.path.hasSuffix("/") { self.path += "/" }
        for header in self.header where !header.contains(":") {
            throw ValidationError("--header has to be 'Name: value', not '\(header)'")
        }
        for name in self.headers.map(\.name) {
            if name.lowercased() == "sec-websocket-protocol" {
                throw ValidationError("--header cannot be \(name): pass its value by --subprotocol")
            }
            if Self.ownHeaders.contains(name.lowercased()) || name.lowercased().hasPrefix("sec-websocket-") {
                throw ValidationError("--header cannot be \(name): the client sets it for every request")
            }
        }
        if let ca, !FileManager.default.isReadableFile(atPath: ca) {
            throw ValidationError("--ca has to be a file of certificates (PEM); '\(ca)' cannot be read")
        }
        if let auth, (try? PayloadValue(json: auth)) == nil { throw ValidationError("--auth has to be JSON") }
        if let namespace, !namespace.hasPrefix("/") { throw ValidationError("--namespace has to begin with /") }
    }

    /// The connection, which tries once, or again and again when it `returns` after a loss.
    func configuration(
        timeout: Duration, returns: Bool = false, interceptors: [any Interceptor] = []
    ) throws(LinkspanError) -> ConnectionConfiguration {
        let auth = try self.auth.map { text throws(LinkspanError) in try Payload(checking: Array(text.utf8)[...]) }
        return try self.builder().credentials(.fixed(Credentials(auth: auth, headers: self.headers))).options {
            $0.retry = returns ? .standard : .never
            $0.openDeadline = timeout
            $0.interceptors = interceptors
        }.build()
    }

    /// The fields that frame a request or make it an upgrade.
    private static let ownHeaders = StreamRequest.reservedNames.union(["connection", "upgrade"])

    /// The headers of `--header`.
    var headers: [Credentials.Field] {
        self.header.map { header in
            let name = header.prefix { $0 != ":" }
            let value = header.dropFirst(name.count + 1).drop { $0 == " " }
            return Credentials.Field(String(name), Secret(String(value)))
        }
    }

    /// The roots of `--ca` and the keys of `--pin`.
    var tls: TLSPolicy {
        get throws(LinkspanError) {
            var policy = self.ca.map { TLSPolicy(roots: .file($0)) } ?? .system
            for pin in self.pin { policy.pins.insert(try PublicKeyPin(pin)) }
            return policy
        }
    }

    /// The proxy of `--proxy`, with the name and the password before its host.
    var networkProxy: NetworkProxy? {
        get throws(LinkspanError) {
            guard let proxy = self.proxy else { return nil }
            // The scheme may be missing, the name and the password may have any characters.
            let user = proxy.wholeMatch(of: /(\w+:\/\/)?([^:]*):?(.*)@(.*)/)
            guard let parts = user?.output else { return try NetworkProxy(proxy) }
            func plain(_ text: Substring) -> String { text.removingPercentEncoding ?? String(text) }
            return try NetworkProxy(
                "\(parts.1 ?? "")\(parts.4)", user: plain(parts.2), password: Secret(plain(parts.3)))
        }
    }

    private func builder() throws(LinkspanError) -> ConnectionBuilder.WithTransport {
        let builder = ConnectionBuilder(try self.endpoint())
        let tls = try self.tls
        let proxy = try self.networkProxy
        switch self.wire {
        case .socketio:
            return builder.transport(
                .socketIO(
                    .init {
                        ($0.path, $0.carriers, $0.protocol) = (self.path, self.carriers, self.version)
                        ($0.tls, $0.proxy, $0.network) = (tls, proxy, self.network.backEnd)
                    }))
        case .websocket:
            return builder.transport(
                .webSocket(
                    .init {
                        $0.protocol = self.envelope == .raw ? ProbeMessageProtocol() : JSONMessageProtocol()
                        ($0.subprotocols, $0.tls) = (self.subprotocol, tls)
                        ($0.proxy, $0.network) = (proxy, self.network.backEnd)
                    }))
        }
    }

    /// The URL, with the namespace as its path.
    func endpoint() throws(LinkspanError) -> String {
        guard let namespace = self.namespace else { return self.url }
        let url = try ConnectionURL(self.url)
        return "\(url.scheme)://\(url.authority)\(namespace)\(url.query.map { "?\($0)" } ?? "")"
    }
}

extension ParsableCommand {
    /// Refuses seconds of a flag that are fewer than `least` or more than a day.
    func check(_ flag: String, _ seconds: Double, from least: Double) throws(ValidationError) {
        guard (least...86_400).contains(seconds) else {
            throw ValidationError("\(flag) has to be a number of seconds from \(least.plain) to 86400")
        }
    }
}

/// No envelope: each message of a raw WebSocket is an event `text` with a string or an event `binary` with bytes.
struct ProbeMessageProtocol: MessageProtocol {
    let name = "raw"
    private let text = TextMessageProtocol()
    private let binary = BinaryMessageProtocol()

    func encode(_ envelope: Envelope, to buffer: inout [UInt8]) throws(LinkspanError) -> EncodedKind {
        if case .event(self.binary.event, _, _) = envelope { return try self.binary.encode(envelope, to: &buffer) }
        return try self.text.encode(envelope, to: &buffer)
    }

    func decode(text: ArraySlice<UInt8>) throws(LinkspanError) -> DecodedEnvelope {
        try self.text.decode(text: text)
    }

    func decode(binary: ArraySlice<UInt8>) throws(LinkspanError) -> DecodedEnvelope {
        try self.binary.decode(binary: binary)
    }
}
