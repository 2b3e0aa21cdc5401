internal import TestSupport
internal import Linkspan
internal import LinkspanDevServer
internal import LinkspanInMemory
internal import LinkspanWebSocketProtocol
internal import TestedBackEnds
internal import Testing

/// The credentials that a client begins with: whether it needs some, and how large they may be.
@Suite(.timeLimit(.minutes(2)), .overSomeBackEnd)
struct IntroductionTests {
    private static let limit = 65_536
    private static let required = DevServerConfiguration { $0.introduction = .required(within: .seconds(60)) }

    /// A hub that notes its clients, and tells them that they are in.
    private static func hub(_ peers: Journal<HubPeer>) -> InMemoryHub {
        let hub = InMemoryHub()
        hub.onConnect { peer throws(LinkspanError) in
            peers.append(peer)
            peer.emit("entered", .empty)
        }
        return hub
    }

    /// Credentials of so many bytes.
    private static func credentials(_ bytes: Int) -> String {
        #"{"pad":"\#(String(repeating: "x", count: bytes - 10))"}"#
    }

    private static func open(_ target: String, _ bench: Bench) throws -> RawClient {
        let client = try RawClient(port: bench.server.port)
        client.write(
            "GET \(target) HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                + "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n")
        #expect(client.read(until: "\r\n\r\n").hasPrefix("HTTP/1.1 101 "))
        return client
    }

    private static func say(_ text: String, on client: RawClient) {
        var frame: [UInt8] = []
        FrameEncoder.append(.text, payload: Array(text.utf8), mask: 0, to: &frame)
        client.write(frame)
    }

    /// Expects a Close frame with this code and nothing else.
    ///
    /// - Returns: its reason.
    private static func reason(of code: Int, _ client: RawClient) throws -> String {
        let frame = try #require(client.readToEnd())
        try #require(frame.count >= 4 && frame[0] == 0x88)
        #expect(frame[2...3].elementsEqual([UInt8(code >> 8), UInt8(code & 0xFF)]))
        return String(decoding: frame.dropFirst(4), as: UTF8.self)
    }

    // MARK: Whether

    @Test(arguments: [#"{"event":"req","data":[1],"id":1}"#, #"{"ack":1,"data":[]}"#, #"{"auth""#])
    func `required credentials come first: another message is closed with 1008, and the hub hears nothing`(
        _ message: String
    ) async throws {
        let peers = Journal<HubPeer>("peers")
        try await Bench.run(hub: Self.hub(peers), configuration: Self.required) { bench in
            let stranger = try Self.open("/any", bench)
            Self.say(message, on: stranger)
            let reason = try Self.reason(of: 1_008, stranger)
            #expect(reason == "the first message has no credentials")
            // The hub does one thing after the other: this client would come behind the stranger.
            let client = try await bench.client(.webSocket, auth: ["name": "ann"])
            try await client.connected()
            try await peers.first(1)
            #expect(peers.entries.map { $0.request.credentials.auth != nil } == [true])
        }
    }

    @Test
    func `optional credentials may be left out: another message first lets the client in`() async throws {
        let peers = Journal<HubPeer>("peers")
        let configuration = DevServerConfiguration { $0.introduction = .optional(within: .seconds(60)) }
        try await Bench.run(hub: Self.hub(peers), configuration: configuration) { bench in
            let client = try Self.open("/any", bench)
            Self.say(#"{"event":"any","data":[]}"#, on: client)
            #expect(client.read(until: "entered").hasSuffix("entered"))
            #expect(peers.entries.map { $0.request.credentials.auth == nil } == [true])
        }
    }

    @Test
    func `credentials that come after the time for them close a raw WebSocket for now`() async throws {
        let peers = Journal<HubPeer>("peers")
        let configuration = DevServerConfiguration { $0.introduction = .optional(within: .zero) }
        try await Bench.run(hub: Self.hub(peers), configuration: configuration) { bench in
            let client = try Self.open("/any", bench)
            #expect(client.read(until: "entered").hasSuffix("entered"))
            Self.say(#"{"auth":{"name":"ann"}}"#, on: client)
            let reason = Array("the credentials came too late".utf8)
            let close = [0x88, UInt8(2 + reason.count), UInt8(1_013 >> 8), UInt8(1_013 & 0xFF)] + reason
            #expect(client.readToEnd()?.suffix(close.count).elementsEqual(close) == true)
        }
    }

    // MARK: How large

    @Test
    func `credentials of 64 KiB are taken over a raw WebSocket, and larger ones closed with 1009`() async throws {
        let peers = Journal<HubPeer>("peers")
        try await Bench.run(hub: Self.hub(peers), configuration: Self.required) { bench in
            let small = try Self.open("/any", bench)
            Self.say(#"{"auth":\#(Self.credentials(Self.limit))}"#, on: small)
            #expect(small.read(until: "entered").hasSuffix("entered"))
            let large = try Self.open("/any", bench)
            Self.say(#"{"auth":\#(Self.credentials(Self.limit + 1))}"#, on: large)
            let reason = try Self.reason(of: 1_009, large)
            #expect(reason == "the credentials are larger than the limit of 65536 bytes")
            #expect(peers.entries.count == 1)
            withExtendedLifetime(small) {}
        }
    }

    @Test
    func `credentials of 64 KiB are taken over Socket.IO, and larger ones get CONNECT_ERROR`() async throws {
        let peers = Journal<HubPeer>("peers")
        let refusal = #"44{"message":"the credentials are larger than the limit of 65536 bytes"}"#
        try await Bench.run(hub: Self.hub(peers)) { bench in
            let client = try Self.open("/socket.io/?EIO=4&transport=websocket", bench)
            _ = client.read(until: "}")
            Self.say("40\(Self.credentials(Self.limit + 1))", on: client)
            #expect(client.read(until: "}").hasSuffix(refusal))
            // The session goes on, so the client may try again.
            Self.say("40\(Self.credentials(Self.limit))", on: client)
            #expect(client.read(until: "entered").contains(#"40{"sid":""#))
            #expect(peers.entries.count == 1)

            let (wire, port) = (EngineBench.socketIO, bench.server.port)
            let session = try wire.poll(port)
            let post = try wire.exchange(port, "POST", session, body: "40\(Self.credentials(Self.limit + 1))")
            #expect(post.status == 200)
            let poll = try wire.exchange(port, "GET", session)
            #expect(poll.body == refusal)
            #expect(peers.entries.count == 1)
        }
    }

    @Test
    func `the hub's copy of credentials does not hold the message that they came in`() async throws {
        let peers = Journal<HubPeer>("peers")
        try await Bench.run(hub: Self.hub(peers), configuration: Self.required) { bench in
            let client = try Self.open("/any", bench)
            Self.say(#"{"pad":\#(Self.credentials(1 << 20)),"auth":\#(Self.credentials(50_000))}"#, on: client)
            let auth = try #require(try await peers.first(1)[0].request.credentials.auth)
            #expect(auth.byteCount == 50_000)
            // A slice of the message would begin behind its first MiB.
            #expect(auth.elements.startIndex == 0)
            withExtendedLifetime(client) {}
        }
    }
}
