internal import Testing

@testable import LinkspanSocketIO

@Suite("Engine.IO packets")
struct EngineIOPacketTests {
    @Test(arguments: [
        ("0{}", EngineIOPacket.open(bytes("{}"))),
        ("1", .close),
        ("2", .ping([])),
        ("2probe", .ping(bytes("probe"))),
        ("3", .pong([])),
        ("3probe", .pong(bytes("probe"))),
        ("4", .message([])),
        ("4hello", .message(bytes("hello"))),
        ("4\u{1E}4", .message(bytes("\u{1E}4"))),
        ("5", .upgrade),
        ("6", .noop),
    ])
    func `each type is read from its digit (E03)`(frame: String, packet: EngineIOPacket) throws {
        #expect(try EngineIOPacket(text: bytes(frame)) == packet)
    }

    @Test(arguments: ["7", "9x", "a", "b4", "bAAEC/w==", " 4", "-1", "é"])
    func `any other first character is refused (E03)`(frame: String) {
        let error = #expect(throws: SocketIOProtocolError.self) { try EngineIOPacket(text: bytes(frame)) }
        #expect(error?.code == .unknownType)
    }

    @Test
    func `all 256 first bytes give a packet or an error`() {
        var known = 0
        for byte in UInt8.min...UInt8.max where (try? EngineIOPacket(text: [byte])) != nil { known += 1 }
        #expect(known == 7)
    }

    @Test
    func `an empty text frame is refused, an empty binary frame is a message`() {
        let error = #expect(throws: SocketIOProtocolError.self) { try EngineIOPacket(text: []) }
        #expect(error?.code == .emptyPacket)
        #expect(EngineIOPacket(binary: []) == .binary([]))
    }

    @Test
    func `a binary frame has no type (E30)`() {
        #expect(EngineIOPacket(binary: [4, 1, 2]) == .binary([4, 1, 2]))
    }
}

@Suite("Engine.IO handshake")
struct EngineIOHandshakeTests {
    @Test
    func `everything the server says is read (E04)`() throws {
        let handshake = try EngineIOHandshake(
            json: bytes(
                #"{"sid":"a_B-9","upgrades":["websocket","carrier-pigeon"],"pingInterval":25000,"pingTimeout":20000,"#
                    + #""maxPayload":1000000,"later":{"x":[1]}}"#))
        #expect(handshake.sid == "a_B-9")
        #expect(handshake.upgrades == ["websocket"], "unknown transports are left out")
        #expect(handshake.pingInterval == .seconds(25))
        #expect(handshake.pingTimeout == .seconds(20))
        #expect(handshake.patience == .seconds(45))
        #expect(handshake.maxPayload == 1_000_000)
    }

    @Test(arguments: ["null", "0", "-1", "-1e400"])
    func `without a limit of messages, which JSON has as null, there is none`(limit: String) throws {
        let json = bytes(#"{"sid":"x","pingInterval":1000,"pingTimeout":1000,"maxPayload":\#(limit)}"#)
        #expect(try EngineIOHandshake(json: json).maxPayload == nil)
    }

    @Test(arguments: [("1", 1), ("100", 100), ("0.5", 1), ("1e300", 1 << 30)])
    func `a small limit of messages is kept`(limit: String, bytes expected: Int) throws {
        let json = bytes(#"{"sid":"x","pingInterval":1000,"pingTimeout":1000,"maxPayload":\#(limit)}"#)
        #expect(try EngineIOHandshake(json: json).maxPayload == expected)
    }

    @Test
    func `maxPayload and upgrades may be missing`() throws {
        let handshake = try EngineIOHandshake(json: bytes(#"{"pingTimeout":5e3,"pingInterval":1500.0,"sid":"x"}"#))
        #expect(handshake.maxPayload == nil)
        #expect(handshake.upgrades.isEmpty)
        #expect(handshake.patience == .milliseconds(6500))
    }

    @Test(arguments: [
        ("0", "-1", 1.0, 1.0), ("1e400", "18446744073709551616", 600, 300), ("-1e400", "0.1", 1, 1),
        ("999999999999", "-0", 600, 1),
    ])
    func `numbers that make no sense are clamped (E05)`(
        interval: String, timeout: String, seconds: Double, grace: Double
    ) throws {
        let handshake = try EngineIOHandshake(
            json: bytes(#"{"sid":"x","pingInterval":\#(interval),"pingTimeout":\#(timeout)}"#))
        #expect(handshake.pingInterval == .seconds(seconds))
        #expect(handshake.pingTimeout == .seconds(grace))
    }

    @Test(arguments: [
        "", "{", "[]", "null", "1", #""x""#, "{}", "{}{}", "{},{}", #"{"sid":"x"}"#,
        #"{"sid":1,"pingInterval":1000,"pingTimeout":1000}"#,
        #"{"sid":null,"pingInterval":1000,"pingTimeout":1000}"#,
        #"{"pingInterval":1000,"pingTimeout":1000}"#,
        #"{"sid":"x","pingTimeout":1000}"#,
        #"{"sid":"x","pingInterval":1000}"#,
        #"{"sid":"x","pingInterval":"1000","pingTimeout":1000}"#,
        #"{"sid":"x","pingInterval":1000,"pingTimeout":[1000]}"#,
        #"{"sid":"x","pingInterval":1000,"pingTimeout":null}"#,
        #"{"sid":"x","pingInterval":1000,"pingTimeout":1000,"maxPayload":"big"}"#,
        #"{"sid":"x","pingInterval":1000,"pingTimeout":1000,"upgrades":"websocket"}"#,
        #"{"sid":"x","pingInterval":1000,"pingTimeout":1000} x"#,
        #"{"sid":"x","pingInterval":1000,"pingTimeout":1000},1"#,
        "{\"sid\":\"x\",\"pingInterval\":1000,\"pingTimeout\":1000,\"y\":" + String(repeating: "[", count: 65),
    ])
    func `wrong types, missing members and anything but an object are refused (E05)`(json: String) {
        let error = #expect(throws: SocketIOProtocolError.self) { try EngineIOHandshake(json: bytes(json)) }
        #expect(error?.code == .badHandshake)
    }

    @Test(arguments: ["custom:id:1", "a.b~c", "YWJj+-=", String(repeating: "a", count: 128)])
    func `a server may make ids of sessions of its own`(sid: String) throws {
        let json = bytes(#"{"sid":"\#(sid)","pingInterval":1000,"pingTimeout":1000}"#)
        #expect(try EngineIOHandshake(json: json).sid == sid)
    }

    @Test
    func `a handshake that exceeds a limit of ours says so`() {
        let nested = String(repeating: "[", count: 100) + String(repeating: "]", count: 100)
        let error = #expect(throws: SocketIOProtocolError.self) {
            try EngineIOHandshake(json: bytes(#"{"sid":"x","y":\#(nested)}"#))
        }
        #expect(error?.message.contains("levels that are accepted here") == true, "\(error?.message ?? "none")")
    }

    @Test(arguments: [
        "", "a b", #"a\r\nHost: x"#, "a/b", "a?b", "a&b", "a%0d", #"a\u0000"#, "é", "a,b", "../x",
        String(repeating: "a", count: 129),
    ])
    func `a sid that could do harm in a URL or a log is refused (CVE-2022-3215)`(sid: String) {
        let json = bytes(#"{"sid":"\#(sid)","pingInterval":1000,"pingTimeout":1000}"#)
        #expect(throws: SocketIOProtocolError.self) { try EngineIOHandshake(json: json) }
    }

    @Test
    func `a sid of __proto__ is a name like any other (GHSA-gr94-w7qr-f4j3)`() throws {
        let json = bytes(#"{"__proto__":{"sid":"y"},"sid":"__proto__","pingInterval":1000,"pingTimeout":1000}"#)
        #expect(try EngineIOHandshake(json: json).sid == "__proto__")
    }

    @Test
    func `a handshake cut at any byte is refused`() throws {
        let whole = bytes(String(openFrame.dropFirst()))
        for end in whole.indices {
            #expect(throws: SocketIOProtocolError.self) { try EngineIOHandshake(json: whole[..<end]) }
        }
        _ = try EngineIOHandshake(json: whole)
    }
}

@Suite("Defaults of Socket.IO")
struct SocketIODefaultTests {
    @Test
    func `are the documented ones`() {
        let (usual, limits) = (SocketIOConfiguration(), SocketIOLimits.usual)
        #expect(usual.path == "/socket.io/" && usual.protocol == .v4 && usual.carriers == .webSocket)
        #expect(usual.maximumMessageBytes == 16 << 20 && usual.highWaterMark == 1 << 20 && usual.isMultiplexed)
        #expect(limits.maximumAttachments == 10 && limits.maximumMessageBytes == 16 << 20)
        #expect(limits.attachmentsTimeout == .seconds(30))
        #expect(limits.maximumEarlyEvents == 10_000 && limits.maximumEarlyBytes == 16 << 20)
    }
}
