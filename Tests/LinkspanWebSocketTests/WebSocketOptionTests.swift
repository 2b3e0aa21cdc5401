internal import Linkspan
internal import LinkspanWebSocket
internal import LinkspanWebSocketProtocol
internal import LinkspanNetwork
internal import Testing

@Suite("Options of a configuration file")
struct WebSocketOptionTests {
    @Test
    func `lead to the configuration that they name`() throws {
        let configuration = try Self.configuration([
            "protocol": "text", "subprotocols": ["a", "b"], "compression": true, "responseHeaders": ["X-Node"],
            "headers": ["X-One: 1", "X-Two:a: b", "X-Three:"],
            "closeCodes": ["4000-4099=stop", "4007=credentials", "1001=retry", "3000=later", "3001=refused"],
            "pingInterval": Duration.seconds(3), "pingTimeout": Duration.seconds(4),
            "maximumMessageBytes": 5,
        ])
        #expect(configuration.protocol.name == "text")
        #expect(configuration.subprotocols == ["a", "b"])
        #expect(configuration.compression == .init())
        #expect(configuration.responseHeaders == ["X-Node"])
        #expect(configuration.headers == [.init("X-One", "1"), .init("X-Two", "a: b"), .init("X-Three", "")])
        let codes: [UInt16] = [4000, 4007, 1001, 3000, 3001, 4100]
        let meanings: [CloseMeaning?] = [.stop, .credentialsRefused, .retry, .retryLater, .refused, nil]
        #expect(codes.map { configuration.closeMeanings[$0] } == meanings)
        #expect(configuration.keepAlive == .init(interval: .seconds(3), timeout: .seconds(4)))
        #expect(configuration.maximumMessageBytes == 5)
    }

    @Test
    func `a delivery is a first attempt unless it is said to be a repetition`() {
        #expect(!EncodedDelivery(event: "a", payload: .empty, id: 1).isRepeated)
    }

    @Test
    func `a session begins with the sub-protocol that the server has chosen`() throws {
        let url = try ConnectionURL("ws://server")
        #expect(SessionStart(subprotocol: "chat", url: url).subprotocol == "chat")
        #expect(SessionStart(url: url).subprotocol == nil)
    }

    @Test
    func `may all be missing`() throws {
        let configuration = try Self.configuration([:])
        #expect(configuration.protocol.name == "json")
        #expect(configuration.compression == nil)
        #expect(try Self.configuration(["compression": false]).compression == nil)
        #expect(configuration.closeMeanings == [:])
        #expect(configuration.closing == .init(code: 1000, reason: ""))
        #expect(try Self.configuration(["protocol": "binary"]).protocol.name == "binary")
    }

    @Test
    func `name a protocol of the app's own, or one of it in place of a built-in one`() throws {
        let own = TextMessageProtocol(event: "own")
        let factory = TransportFactory.webSocket(protocols: ["ticker": own, "json": own])
        let option = try #require(factory.options.first { $0.name == "protocol" })
        #expect(option.kind == .choice(["binary", "json", "text", "ticker"]))
        for name in ["ticker", "json"] {
            let transport = try factory.make(OptionValues(["protocol": name])) as? WebSocketTransport
            #expect(transport?.configuration.protocol as? TextMessageProtocol == own)
        }
        let text = try factory.make(OptionValues(["protocol": "text"])) as? WebSocketTransport
        #expect(text?.configuration.protocol.name == "text")
    }

    @Test(arguments: [
        ("headers", "X-One"), ("headers", ": 1"), ("headers", ""), ("closeCodes", "4000"), ("closeCodes", "=stop"),
        ("closeCodes", "4000=go"), ("closeCodes", "4000-=stop"), ("closeCodes", "4001-4000=stop"),
        ("closeCodes", "70000=stop"), ("closeCodes", "1-2-3=stop"), ("closeCodes", "4000=stop=stop"),
        ("closeCodes", "4000==stop"),
    ])
    func `are refused when they are not written as they should be`(name: String, text: String) {
        let error = #expect(throws: LinkspanError.self) { try Self.configuration([name: [text]]) }
        #expect(error?.code == .invalidConfiguration)
    }

    @Test
    func `explain themselves, without the values of headers`() {
        func options(_ configure: (inout WebSocketConfiguration) -> Void) -> [String: String] {
            WebSocketTransport(.init(configure)).options
        }
        let plain = options { _ in }
        #expect(plain["compression"] == "none")
        #expect(plain["headers"] == "none")
        #expect(plain["closing"] == "1000")
        let changed = options {
            $0.headers = [.init("X-Key", "hidden")]
            $0.compression = .init { $0.threshold = 7 }
            $0.closing = .init(code: 1001, reason: "bye")
            $0.closeMeanings[4001] = .stop
        }
        #expect(changed["headers"]?.hasPrefix("X-Key (") == true)
        #expect(changed.values.allSatisfy { !$0.contains("hidden") })
        #expect(changed["compression"] == "from 7 bytes")
        #expect(changed["closing"] == "1001 bye")
        #expect(changed["closeMeanings"] == "4001-4001=closedByServer")
        #expect(options { $0.headers = [.init("X-Key", "other")] }["headers"] != changed["headers"])
    }

    @Test
    func `defaults are the documented ones`() {
        let usual = WebSocketConfiguration()
        #expect(usual.maximumMessageBytes == 16 << 20 && usual.highWaterMark == 1 << 20)
        #expect(usual.keepAlive == .init(interval: .seconds(15), timeout: .seconds(10)))
        #expect(usual.closing == .init(code: 1000, reason: "") && usual.compression == nil)
        #expect(WebSocketCompression().threshold == 256)
        let limits = WebSocketLimits()
        #expect(limits.maxMessageBytes == 16 << 20 && limits.maxFragments == 1024 && limits.maxPongsPerChunk == 32)
    }

    private static func configuration(
        _ values: [String: any Sendable]
    ) throws -> WebSocketConfiguration {
        let transport = try TransportFactory.webSocket.make(OptionValues(values))
        return try #require(transport as? WebSocketTransport).configuration
    }
}
