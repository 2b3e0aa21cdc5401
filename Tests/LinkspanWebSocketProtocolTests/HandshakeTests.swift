internal import LinkspanTesting
@testable internal import LinkspanWebSocketProtocol
internal import Testing

@Suite("Opening handshake")
struct HandshakeTests {
    typealias Fields = [String: [String]]

    /// The nonce of RFC 6455 section 1.3, "the sample nonce".
    private static let nonce: (UInt64, UInt64) = (0x7468_6520_7361_6d70, 0x6c65_206e_6f6e_6365)

    private static let agreeing: Fields = [
        "upgrade": ["websocket"], "connection": ["Upgrade"], "sec-websocket-accept": ["s3pPLMBiTxaQ9kYGzzhZRbK+xOo="],
    ]

    private static let request: Fields = [
        "host": ["server.example.com"], "upgrade": ["websocket"], "connection": ["Upgrade"],
        "sec-websocket-key": ["dGhlIHNhbXBsZSBub25jZQ=="], "sec-websocket-version": ["13"],
    ]

    struct Change: Sendable, CustomTestStringConvertible {
        var header: String
        var fields: [String]
        var code: WebSocketProtocolError.Code?

        init(_ header: String, _ fields: [String], _ code: WebSocketProtocolError.Code?) {
            self.header = header
            self.fields = fields
            self.code = code
        }

        var testDescription: String { "\(self.header): \(self.fields)" }
    }

    @Test
    func `ten bytes are digits`() {
        #expect((UInt8.min...UInt8.max).filter(\.isDigit) == Array("0123456789".utf8))
    }

    @Test
    func `SHA-1 gives the digests of RFC 3174 and of lengths around a block`() {
        func hex(_ text: String) -> String {
            SHA1.digest(Array(text.utf8)).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
        }
        #expect(hex("abc") == "a9993e364706816aba3e25717850c26c9cd0d89d")
        #expect(hex("") == "da39a3ee5e6b4b0d3255bfef95601890afd80709")
        let two = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"
        #expect(hex(two) == "84983e441c3bd26ebaae4aa1f95129e5e54670f1")
        #expect(hex(String(repeating: "a", count: 1_000)) == "291e9a6c66994949b57ba5e650361e98fc36b1ba")
        let tens = String(repeating: "0123456701234567012345670123456701234567012345670123456701234567", count: 10)
        #expect(hex(tens) == "dea356a2cddd90c7a7ecedc5ebb563934f460452")
        let around = [55, 56, 63, 64].map { hex(String(repeating: "a", count: $0)) }
        #expect(around == Self.digestsAroundABlock)
    }

    private static let digestsAroundABlock = [
        "c1c8bbdc22796e28c0e15163d20899b65621d65a", "c2db330f6083854c99d4b5bfb6e8f29f201be699",
        "03f09f5b158a7a8cdad920bddc29b81c18a551f5", "0098ba824b5c16427bd7a1122a5a442a25ec644d",
    ]

    @Test
    func `base64 gives the vectors of RFC 4648 section 10`() {
        let encoded = ["", "f", "fo", "foo", "foob", "fooba", "foobar"].map { Base64.encode(Array($0.utf8)) }
        #expect(encoded == ["", "Zg==", "Zm8=", "Zm9v", "Zm9vYg==", "Zm9vYmE=", "Zm9vYmFy"])
        #expect(Base64.encode([0xFB, 0xFF, 0xBF]) == "+/+/")
        #expect(encoded.indices.allSatisfy { Base64.length(of: $0) == encoded[$0].utf8.count })
    }

    @Test
    func `the client asks as RFC 6455 section 1.3 does`() throws {
        let plain = try ClientHandshake(nonce: Self.nonce).headers.map { "\($0.name): \($0.value)" }
        #expect(
            plain == [
                "Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
                "Sec-WebSocket-Version: 13",
            ])
        let offering = try ClientHandshake(nonce: Self.nonce, subprotocols: ["chat", "superchat"])
        #expect(offering.headers.last?.name == "Sec-WebSocket-Protocol")
        #expect(offering.headers.last?.value == "chat, superchat")
    }

    @Test
    func `the client accepts the answer of RFC 6455 section 1.3, with or without a sub-protocol`() throws {
        let handshake = try ClientHandshake(nonce: Self.nonce, subprotocols: ["chat", "superchat"])
        #expect(try Self.verify(handshake, Self.agreeing).subprotocol == nil)
        let chosen = Self.agreeing.merging(["sec-websocket-protocol": [" superchat "]]) { $1 }
        #expect(try Self.verify(handshake, chosen).subprotocol == "superchat")
    }

    static let answers: [Change] = [
        Change("upgrade", ["WebSocket"], nil),
        Change("upgrade", ["h2c, websocket"], nil),
        Change("upgrade", [], .upgradeMissing),
        Change("upgrade", ["websockets"], .upgradeMissing),
        Change("connection", ["keep-alive, UPGRADE"], nil),
        Change("connection", ["keep-alive", "upgrade"], nil),
        Change("connection", ["keep-alive"], .connectionMissing),
        Change("connection", [], .connectionMissing),
        Change("sec-websocket-accept", [], .acceptMismatch),
        Change("sec-websocket-accept", [" s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\t"], nil),
        Change("sec-websocket-accept", ["s3pplmbitxaq9kygzzhzrbk+xoo="], .acceptMismatch),
        Change("sec-websocket-accept", ["s3pPLMBiTxaQ9kYGzzhZRbK+xOo=", "x"], .acceptMismatch),
        Change("sec-websocket-extensions", ["permessage-deflate"], .extensionNotOffered),
        Change("sec-websocket-extensions", [""], nil),
        Change("sec-websocket-protocol", ["Chat"], .subprotocolNotOffered),
        Change("sec-websocket-protocol", ["other"], .subprotocolNotOffered),
        Change("sec-websocket-protocol", ["chat, superchat"], .subprotocolNotOffered),
        Change("sec-websocket-protocol", ["chat", "superchat"], .subprotocolNotOffered),
        Change("sec-websocket-protocol", [""], .subprotocolNotOffered),
    ]

    @Test(arguments: answers)
    func `the client judges each header of an answer`(change: Change) throws {
        let handshake = try ClientHandshake(nonce: Self.nonce, subprotocols: ["chat", "superchat"])
        let fields = Self.agreeing.merging([change.header: change.fields]) { $1 }
        #expect(Self.code { try Self.verify(handshake, fields) } == change.code)
    }

    @Test(arguments: [100, 200, 301, 401, 426, 500])
    func `the client refuses each status but 101`(status: Int) throws {
        let handshake = try ClientHandshake(nonce: Self.nonce)
        let code = Self.code { try handshake.verify(status: status) { Self.agreeing[$0] ?? [] } }
        #expect(code == .unexpectedStatus)
    }

    @Test(arguments: [["a b"], [""], ["a\r\nX: y"], ["ä"], ["a,b"], ["a", "a"]])
    func `a sub-protocol that is no token or is given twice is never offered`(names: [String]) {
        #expect(Self.code { try ClientHandshake(nonce: Self.nonce, subprotocols: names) } == .subprotocolInvalid)
        #expect(Self.code { try ServerHandshake(subprotocols: names) } == .subprotocolInvalid)
    }

    @Test
    func `the server answers the request of RFC 6455 section 1.3`() throws {
        let fields = Self.request.merging(["sec-websocket-protocol": ["superchat, chat"]]) { $1 }
        let response = try ServerHandshake(subprotocols: ["chat", "superchat"]).accept(method: "GET") {
            fields[$0] ?? []
        }
        #expect(response.status == 101)
        let lines = response.headers.map { "\($0.name): \($0.value)" }
        #expect(lines.contains("Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo="))
        #expect(lines.contains("Sec-WebSocket-Protocol: superchat"))
    }

    static let requests: [Change] = [
        Change("host", [], .hostMissing),
        Change("host", ["a", "b"], .hostMissing),
        Change("upgrade", ["h2c"], .upgradeMissing),
        Change("connection", ["close"], .connectionMissing),
        Change("connection", ["keep-alive, Upgrade"], nil),
        Change("sec-websocket-version", ["8"], .versionUnsupported),
        Change("sec-websocket-version", [], .versionUnsupported),
        Change("sec-websocket-key", [], .keyInvalid),
        Change("sec-websocket-key", ["dGhlIHNhbXBsZSBub25jZQ="], .keyInvalid),
        Change("sec-websocket-key", ["dGhlIHNhbXBsZSBub25jZ*=="], .keyInvalid),
        Change("sec-websocket-key", ["dGhlIHNhbXBsZSBub25jZQ==", "dGhlIHNhbXBsZSBub25jZQ=="], .keyInvalid),
        Change("sec-websocket-protocol", ["unknown"], nil),
        Change("sec-websocket-extensions", ["permessage-deflate"], nil),
    ]

    @Test(arguments: requests)
    func `the server judges each header of a request`(change: Change) throws {
        let fields = Self.request.merging([change.header: change.fields]) { $1 }
        let server = try ServerHandshake()
        #expect(Self.code { try server.accept(method: "GET") { fields[$0] ?? [] } } == change.code)
        #expect(Self.code { try server.accept(method: "POST") { fields[$0] ?? [] } } == .methodNotAllowed)
    }

    @Test
    func `the server's refusal says what it would take`() throws {
        func refusal(_ method: String, _ fields: Fields) throws -> [String] {
            let server = try ServerHandshake()
            let error = try #require(throws: WebSocketProtocolError.self) {
                try server.accept(method: method) { fields[$0] ?? [] }
            }
            let response = ServerHandshake.rejection(for: error)
            return ["\(response.status)"] + response.headers.map { "\($0.name): \($0.value)" }
        }
        let oldVersion = Self.request.merging(["sec-websocket-version": ["8"]]) { $1 }
        #expect(try refusal("GET", oldVersion).first == "426")
        #expect(try refusal("GET", oldVersion).contains("Sec-WebSocket-Version: 13"))
        #expect(try refusal("PUT", Self.request) == ["405", "Allow: GET"])
        #expect(try refusal("GET", Self.request.filter { $0.key != "host" }) == ["400"])
    }

    @Test
    func `client and server agree with each other for any nonce`() throws {
        var random = SeededGenerator(seed: 6)
        for _ in 0..<50 {
            let client = try ClientHandshake(nonce: (random.next(), random.next()), subprotocols: ["b", "a"])
            var asked = Self.fields(client.headers)
            asked["host"] = ["localhost"]
            let response = try ServerHandshake(subprotocols: ["a", "b"]).accept(method: "GET") { asked[$0] ?? [] }
            #expect(try Self.verify(client, Self.fields(response.headers)).subprotocol == "b")
        }
    }

    private static func fields(_ headers: [(name: String, value: String)]) -> Fields {
        Dictionary(grouping: headers) { $0.name.lowercased() }.mapValues { $0.map(\.value) }
    }

    private static func verify(_ client: ClientHandshake, _ fields: Fields) throws -> ClientHandshake.Accepted {
        try client.verify(status: 101) { fields[$0] ?? [] }
    }

    private static func code<Value>(_ body: () throws -> Value) -> WebSocketProtocolError.Code? {
        do {
            _ = try body()
            return nil
        } catch {
            return (error as? WebSocketProtocolError)?.code
        }
    }
}
