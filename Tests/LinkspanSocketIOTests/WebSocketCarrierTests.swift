internal import Linkspan
internal import LinkspanRuntime
internal import LinkspanWebSocketProtocol
internal import Testing

@testable import LinkspanSocketIO
@testable internal import LinkspanNetwork

@Suite("The end of a WebSocket carrier")
struct WebSocketCarrierTests {
    /// The error of a client of this version when these bytes come behind the 101.
    private static func error(behind101 answer: String, _ version: EngineIOVersion) throws -> LinkspanError {
        WebSocketCarrier.error(try #require(WebSocketEnd(lateRefusal: Array(answer.utf8))), version: version)
    }

    private static let head = "HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-type: text/html\r\n\r\n"

    @Test(arguments: [EngineIOVersion.v3, .v4])
    func `a 400 that names the version is about the version`(_ version: EngineIOVersion) throws {
        for body in ["Unsupported protocol version", #"{"code":5,"message":"Unsupported protocol version"}"#] {
            let error = try Self.error(behind101: Self.head + body, version)
            #expect(error.code == .unsupportedVersion)
            #expect(error.message.contains("choose protocol v2"))
        }
    }

    @Test(arguments: [EngineIOVersion.v3, .v4])
    func `a 400 for another reason may pass, and is quoted`(_ version: EngineIOVersion) throws {
        let error = try Self.error(behind101: Self.head + "Bad request", version)
        #expect(error.code == .serverUnavailable)
        #expect(error.message.hasSuffix(": Bad request"))
    }

    @Test(arguments: [
        Self.head, "HTTP/1.1 400", "HTTP/1.1 400 Bad Request\r\nContent-Length: 28\r\n", Self.head + "U",
        Self.head + "Unsupported protocol",
    ])
    func `a 400 whose text has not come as a whole is about the version for version 3 alone`(_ answer: String) throws {
        #expect(try Self.error(behind101: answer, .v3).code == .unsupportedVersion)
        #expect(try Self.error(behind101: answer, .v4).code == .serverUnavailable)
    }

    @Test(arguments: [200, 400, 426])
    func `a proxy's answer names no fallback, whatever its status`(status: Int) {
        let end = WebSocketEnd.stream(ByteStreamError(.proxyRefused, "no", status: status))
        #expect(WebSocketCarrier.error(end, version: .v4).message == "no")
    }

    @Test(arguments: [EngineIOVersion.v3, .v4])
    func `another status behind the 101 means what it always does`(_ version: EngineIOVersion) throws {
        let answer = "HTTP/1.1 403 Forbidden\r\n\r\nUnsupported protocol version"
        #expect(try Self.error(behind101: answer, version).code == .refused)
    }
}

@Suite("Binary messages of version 3")
struct BinaryTypeTests {
    @Test
    func `an attachment begins with the type of a message, both ways; without it the link ends`() throws {
        let bench = EngineBench(.v2)
        let client = try bench.open("/")
        bench.say("40")
        let head = #"451-["e",{"_placeholder":true,"num":0}]"#
        bench.say(head)
        bench.say(.binary, [4, 7])
        #expect(client.messages == ["e"])
        let placeholder = Array(#"{"_placeholder":true,"num":0}"#.utf8)[...]
        let payload = Payload(trustedElements: placeholder, attachments: [[1, 2]])
        _ = bench.loop.enter { client.link?.send(OutboundMessage(event: "e", payload: payload)) }
        #expect(bench.said.last == head)
        #expect(bench.saidInBinary == [[4, 1, 2]])
        bench.say(head)
        bench.say(.binary, [7, 4])
        #expect(client.messages == ["e"])
        #expect(client.ends.count == 1)
    }

    @Test
    func `nothing counts that comes in one read with an attachment without its type`() throws {
        let bench = EngineBench(.v2)
        let client = try bench.open("/")
        bench.say("40")
        var read: [UInt8] = []
        FrameEncoder.append(.binary, payload: [7, 4], mask: nil, to: &read)
        FrameEncoder.append(.text, payload: Array(#"42["e"]"#.utf8), mask: nil, to: &read)
        bench.say(bytes: read)
        #expect(client.messages.isEmpty && client.ends == [.protocolViolation])
    }

    @Test(arguments: [99, 100])
    func `the type of an attachment counts for what the server accepts`(size: Int) throws {
        let bench = EngineBench(.v2)
        bench.loop.upgrades = false
        let client = try bench.open("/")
        bench.loop.enter { bench.stream?.upgrade() }
        bench.say(bench.handshake.replacing("}", with: #","maxPayload":100}"#), "40")
        let placeholder = Array(#"{"_placeholder":true,"num":0}"#.utf8)[...]
        let payload = Payload(trustedElements: placeholder, attachments: [[UInt8](repeating: 1, count: size)[...]])
        let link = try #require(client.link)
        let acceptance = bench.loop.enter { link.send(OutboundMessage(event: "e", payload: payload)) }
        #expect((acceptance == .accepted) == (size == 99))
    }
}

@Suite("Requests of carriers")
struct CarrierRequestTests {
    private static func request(_ fields: Credentials.Field...) throws -> EngineKey {
        let link = LinkRequest(url: try ConnectionURL("http://h/"), credentials: Credentials(headers: fields))
        return EngineKey(Boxed(link), Boxed(SocketIOSettings(SocketIOConfiguration())))
    }

    /// The fields of a poll, and of a WebSocket that takes the session over, which have to be the same.
    private static func fields(
        _ request: EngineKey, cookie: String?, sourceLocation: SourceLocation = #_sourceLocation
    ) -> [String] {
        func lines(_ request: StreamRequest) -> [String] { request.headers.map { "\($0.name): \($0.value)" } }
        let polled = lines(request.upgrade(transport: "polling", sid: "s", cookie: cookie))
        let upgraded = lines(request.webSocket(sid: "s", cookie: cookie, deadline: .seconds(1)))
        #expect(polled == upgraded, sourceLocation: sourceLocation)
        return polled
    }

    @Test
    func `cookies of the app and of the server are one field, and of one name the server's counts`() throws {
        let request = try Self.request(.init("Cookie", "b=2; a=0"), .init("X-Other", "1"))
        #expect(Self.fields(request, cookie: "a=1") == ["Cookie: a=1; b=2", "X-Other: 1"])
    }

    @Test
    func `several fields of the app are joined, whatever their case and the space in them`() throws {
        let request = try Self.request(
            .init("cookie", " b = 2 ;;a =0;"), .init("X-Other", "1"), .init("COOKIE", "c=x=y; B=3; d"))
        let expected = ["Cookie: a=1; e=5; b = 2; c=x=y; B=3; d", "X-Other: 1"]
        #expect(Self.fields(request, cookie: "a=1; e=5") == expected)
    }

    @Test
    func `without cookies of the server the app's are sent as they are`() throws {
        let request = try Self.request(.init("cookie", "b=2;  a=0"), .init("Cookie", "c=3"))
        #expect(Self.fields(request, cookie: nil) == ["cookie: b=2;  a=0", "Cookie: c=3"])
    }

    @Test
    func `without cookies of the app the server's are sent as they are, in front`() throws {
        let request = try Self.request(.init("X-Other", "1"))
        #expect(Self.fields(request, cookie: "a=1; b=2") == ["Cookie: a=1; b=2", "X-Other: 1"])
    }

    @Test
    func `a WebSocket has the limits of the configuration`() throws {
        let configuration = SocketIOConfiguration {
            $0.maximumMessageBytes = 1_000
            $0.highWaterMark = 2_000
        }
        let request = LinkRequest(url: try ConnectionURL("http://h/"))
        let key = EngineKey(Boxed(request), Boxed(SocketIOSettings(configuration)))
        #expect(key.terms.limits.maxMessageBytes == 1_000 && key.terms.highWaterMark == 2_000)
    }

    @Test
    func `cookies of the server that do not fit leave the app's untouched`() throws {
        let (own, servers) = (String(repeating: "x", count: 2_000), String(repeating: "y", count: 2_000))
        let request = try Self.request(.init("Cookie", Secret("a=\(own)")))
        #expect(Self.fields(request, cookie: "b=\(servers)") == ["Cookie: a=\(own)"])
    }
}
