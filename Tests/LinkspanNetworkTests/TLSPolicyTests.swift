internal import Linkspan
internal import LinkspanNetwork
internal import LinkspanWebSocketProtocol
internal import Testing

@Suite struct TLSPolicyTests {
    private static let pin = "sha256/AQIDBAUGBwgJCgsMDQ4PEBESExQVFhcYGRobHB0eHyA="

    @Test
    func `a pin is read, and written as it was read`() throws {
        let pin = try PublicKeyPin(Self.pin)
        #expect(pin.digest == Array(1...32))
        #expect(pin.text == Self.pin)
        let other = try PublicKeyPin("sha256/+/+/+/+/+/+/+/+/+/+/+/+/+/+/+/+/+/+/+/+/+/8=")
        #expect(other.text == "sha256/+/+/+/+/+/+/+/+/+/+/+/+/+/+/+/+/+/+/+/+/+/8=")
    }

    @Test(arguments: [
        "", "sha256/", "AQIDBAUGBwgJCgsMDQ4PEBESExQVFhcYGRobHB0eHyA=",
        "sha1/AQIDBAUGBwgJCgsMDQ4PEBESExQVFhcYGRobHB0eHyA=",
        // One character too few or too many, none of base64, padding in the wrong place, bits beyond the last byte.
        "sha256/AQIDBAUGBwgJCgsMDQ4PEBESExQVFhcYGRobHB0eHy=",
        "sha256/AQIDBAUGBwgJCgsMDQ4PEBESExQVFhcYGRobHB0eHyAA=",
        "sha256/AQIDBAUGBwgJCgsMDQ4PEBESExQVFhcYGRobHB0eHy-=",
        "sha256/AQIDBAUGBwgJCgsMDQ4PEBESExQVFhcYGRobHB0eH==A",
        "sha256/AQIDBAUGBwgJCgsMDQ4PEBESExQVFhcYGRobHB0eHyB=", "sha256/é",
    ])
    func `an invalid pin is refused`(_ text: String) {
        let error = #expect(throws: LinkspanError.self) { try PublicKeyPin(text) }
        #expect(error?.code == .invalidConfiguration)
    }

    @Test
    func `a policy says everything about itself but pins and keys`() throws {
        let pin = try PublicKeyPin(Self.pin)
        let policy = TLSPolicy(
            roots: .file("ca.pem"), addsSystemRoots: true, pins: [pin],
            clientCertificate: ClientCertificate(.file("own.pem"), key: .pem("-----BEGIN SECRET KEY-----")),
            minimumVersion: .tls13)
        #expect(
            policy.description
                == "roots in ca.pem, and the system's, \(pin), certificate in own.pem, key <redacted>, "
                + "TLS 1.3 at least")
        var dumped = ""
        dump(policy, to: &dumped)
        #expect(!dumped.contains("SECRET"))
        #expect(!(policy.description + dumped).contains(Self.pin.dropFirst(7)) && !dumped.contains("- 31\n"))
        #expect(try PublicKeyPin(Self.pin).description == pin.description)
        #expect(TLSPolicy.system.description == "system roots")
    }

    @Test
    func `a proxy is a host and a port, and shows no password`() throws {
        for text in ["Proxy.example:3128", "http://proxy.example:3128", "http://proxy.example:3128/"] {
            let proxy = try NetworkProxy(text, user: "ann", password: "secret")
            #expect(proxy.host == "proxy.example")
            #expect(proxy.port == 3128)
            #expect("\(proxy) \(String(reflecting: proxy))".contains("secret") == false)
        }
        #expect(try NetworkProxy("[::1]:8080").description == "[::1]:8080")
        #expect(try NetworkProxy("proxy.example").port == 80)
        for text in ["socks5://Proxy.example", "SOCKS5h://proxy.example:1080", "socks5://proxy.example:1080/"] {
            #expect(try NetworkProxy(text) == NetworkProxy(.socks5, host: "proxy.example", port: 1080))
        }
        #expect(try NetworkProxy("socks5://[::1]:80", user: "u").description == "socks5://[::1]:80 with credentials")
        for text in [
            "", "https://p:1", "p:1/path", "ann:secret@p:1", "p:99999", "socks4://p:1", "p:1?x", "socks5://p:1/x",
        ] {
            let error = #expect(throws: LinkspanError.self) { try NetworkProxy(text) }
            #expect(error?.code == .invalidConfiguration)
            #expect(error?.description.contains("secret") == false)
        }
    }
}

@Suite("Pins of a verified chain")
struct PinCheckTests {
    private static func pin(_ number: UInt8) throws -> PublicKeyPin {
        try PublicKeyPin("sha256/\(Base64.encode([UInt8](repeating: number, count: 32)))")
    }

    @Test
    func `one of its keys is pinned, and none is revoked`() throws {
        let (own, root, other) = (try Self.pin(1), try Self.pin(2), try Self.pin(3))
        func failure(_ keys: [PublicKeyPin?], pins: Set<PublicKeyPin>, revoked: Set<PublicKeyPin> = []) -> TLSFailure? {
            TLSPolicy(pins: pins, revokedPins: revoked).problem(withKeys: keys)?.code.tlsFailure
        }
        #expect(failure([own, nil], pins: []) == nil, "without pins no key is looked at")
        #expect(failure([own, root], pins: [root]) == nil && failure([own, root], pins: [own, other]) == nil)
        #expect(failure([own, root], pins: [other]) == .pinMismatch && failure([], pins: [own]) == .pinMismatch)
        #expect(failure([own, nil], pins: [own]) == .pinMismatch)
        #expect(failure([own, root], pins: [], revoked: [other]) == nil)
        #expect(failure([own, root], pins: [], revoked: [root]) == .revokedKey)
        #expect(failure([own, nil], pins: [], revoked: [other]) == .pinMismatch)
        #expect(failure([own, root], pins: [own], revoked: [root]) == .revokedKey)
    }
}

@Suite("The checks of a proxy")
struct ProxyCheckTests {
    private static func code(_ proxy: NetworkProxy) -> ByteStreamError.Code? {
        do throws(ByteStreamError) {
            try proxy.validated()
            return nil
        } catch {
            #expect(!error.message.contains("secret"))
            return error.code
        }
    }

    @Test(
        arguments: [
            ("proxy", 1, nil), ("::1", 65_535, nil), (String(repeating: "p", count: 100), 80, nil),
            (String(repeating: "p", count: 101), 80, .invalidRequest), ("", 80, .invalidRequest),
            ("a b", 80, .invalidRequest), ("a\u{7F}", 80, .invalidRequest), ("a@b", 80, .invalidRequest),
            ("é", 80, .invalidRequest), ("proxy", 0, .invalidRequest), ("proxy", 65_536, .invalidRequest),
        ] as [(String, Int, ByteStreamError.Code?)])
    func `a host and a port that mean something else than they say are refused`(
        host: String, port: Int, code: ByteStreamError.Code?
    ) {
        #expect(Self.code(NetworkProxy(host: host, port: port)) == code)
        #expect(Self.code(NetworkProxy(.socks5, host: host, port: port)) == code)
    }

    @Test(
        arguments: [
            ("ann", "secret", nil, nil), ("!", "~", nil, nil), ("", "", nil, .invalidRequest),
            ("a b", "secret", .invalidRequest, nil), ("ann", "secret \u{7F}", .invalidRequest, nil),
            ("ann", "é", .invalidRequest, nil), ("a:b", "", .invalidRequest, nil),
            (String(repeating: "a", count: 255), String(repeating: "b", count: 255), nil, nil),
            (String(repeating: "a", count: 256), "", .requestTooLong, .requestTooLong),
            ("ann", String(repeating: "b", count: 256), .requestTooLong, .requestTooLong),
        ] as [(String, String, ByteStreamError.Code?, ByteStreamError.Code?)])
    func `a name and a password have what the proxy's protocol can carry`(
        user: String, password: String, http: ByteStreamError.Code?, socks: ByteStreamError.Code?
    ) {
        #expect(Self.code(NetworkProxy(host: "p", port: 1, user: user, password: Secret(password))) == http)
        #expect(Self.code(NetworkProxy(.socks5, host: "p", port: 1, user: user, password: Secret(password))) == socks)
    }

    @Test
    func `name and password are shown in the basic scheme`() {
        let header = NetworkProxy(host: "p", port: 1, user: "Aladdin", password: "open sesame").header
        #expect(header?.name == "Proxy-Authorization" && header?.value == "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==")
        #expect(NetworkProxy(host: "p", port: 1, user: "a").header?.value == "Basic YTo=")
        #expect(NetworkProxy(host: "p", port: 1).header == nil)
    }

    @Test
    func `a back end that is not there says how to get it`() {
        for network in NetworkBackEnd.builtIn { #expect(network.absence == nil && network.trait != nil) }
        let other = NetworkBackEnd(rawValue: "other")
        #expect(other.trait == nil && other.absence == "there is no back end other")
        #expect(NetworkBackEnd.libwebsockets.trait == "LWS" && NetworkBackEnd.nio.trait == "NIO")
    }
}

@Suite("Identity of network settings")
struct IdentitySettingsTests {
    private struct Settings: NetworkConfiguration {
        var network = NetworkBackEnd.standard
        var tls = TLSPolicy.system
        var proxy: NetworkProxy?
        var socketPath: String?
        var compression: WebSocketCompression?
        var renewalEvent: String?
        var maximumMessageBytes = 1
        var highWaterMark = 1
    }

    private static func identity(_ proxy: NetworkProxy?) -> [String: Secret] {
        var settings = Settings()
        settings.proxy = proxy
        return settings.identity()
    }

    private static let proxy = NetworkProxy(host: "proxy.example", port: 3128, user: "ann", password: "one")

    @Test
    func `proxy credentials are part of it, each part for itself`() {
        let proxy = Self.proxy
        #expect(Self.identity(proxy) == Self.identity(proxy))
        var changes = [proxy, proxy, proxy, proxy]
        changes[0].password = "two"
        changes[1].user = "bob"
        changes[2].port = 3129
        // The same characters, cut elsewhere.
        (changes[3].user, changes[3].password) = ("annone", "")
        for other in changes { #expect(Self.identity(other) != Self.identity(proxy), "\(other)") }
    }

    @Test
    func `the client certificate and its key are part of it, each for itself`() {
        func identity(_ certificate: ClientCertificate.Certificate, _ key: ClientCertificate.Key) -> [String: Secret] {
            var settings = Settings()
            settings.tls.clientCertificate = ClientCertificate(certificate, key: key)
            return settings.identity()
        }
        let identities = [
            identity(.file("a"), .file("b")), identity(.file("a"), .file("c")), identity(.file("d"), .file("b")),
            identity(.pem([1]), .pem("b")), identity(.pem([1]), .pem("c")), identity(.pem([2]), .pem("b")),
        ]
        #expect(Set(identities).count == identities.count)
        #expect(identity(.pem([1]), .pem("b")) == identities[3])
    }

    @Test
    func `settings without credentials are not part of it`() {
        #expect(Self.identity(nil).isEmpty)
        #expect(Self.identity(NetworkProxy(host: "proxy.example", port: 3128)).isEmpty)
    }

    @Test
    func `header fields are part of it, with their names and their order`() {
        let settings = Settings()
        let fields = [Credentials.Field("A", "1"), Credentials.Field("B", "2")]
        #expect(settings.identity(headers: fields) == settings.identity(headers: fields))
        #expect(settings.identity(headers: fields) != settings.identity(headers: fields.reversed()))
        #expect(settings.identity(headers: fields) != settings.identity(headers: [fields[0]]))
    }
}
