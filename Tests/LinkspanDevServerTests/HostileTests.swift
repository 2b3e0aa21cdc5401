internal import Foundation
internal import Linkspan
internal import LinkspanDevServer
internal import LinkspanInMemory
internal import LinkspanSocketIO
internal import LinkspanWebSocket
internal import TestedBackEnds
internal import Testing
internal import TestSupport

/// Clients that break every rule: they are answered, put out, and do no harm.
@Suite(.timeLimit(.minutes(2)), .overSomeBackEnd)
struct HostileTests {
    private static let upgrade =
        "Host: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
        + "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"

    /// A bench with a client that must still be served afterwards.
    private func withServer(
        _ configuration: DevServerConfiguration = .init(), _ body: (Bench) async throws -> Void
    ) async throws {
        try await Bench.run(configuration: configuration) { bench in
            let bystander = try await bench.client(.socketIO(.webSocket))
            _ = try await bystander.handler.request("req")
            try await body(bench)
            _ = try await bystander.handler.request("req")
            #expect(bystander.states.entries.filter { $0.to == .connected }.count == 1)
        }
    }

    @Test(arguments: [
        ("\u{0}\u{1}\u{2}garbage\r\n\r\n", 400), ("GET\r\n\r\n", 400), ("GET / HTTP/2.0\r\n\r\n", 505),
        ("GET / HTTP/1.1\r\nbroken field\r\n\r\n", 400), ("GET / HTTP/1.1\nHost: x\n\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\n folded: x\r\n\r\n", 400), ("GET ftp://x/ HTTP/1.1\r\n\r\n", 400),
        ("POST /socket.io/ HTTP/1.1\r\nContent-Length: -1\r\n\r\n", 400),
        ("POST /socket.io/ HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", 400),
        ("POST /socket.io/ HTTP/1.1\r\nContent-Length: 99999999999999999999\r\n\r\n", 400),
        ("POST /socket.io/ HTTP/1.1\r\nContent-Length: 999999999\r\n\r\n", 413),
        ("POST /socket.io/ HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", 501),
        ("GET /" + String(repeating: "a", count: 70_000), 431),
        ("GET /" + String(repeating: "a", count: 17_000) + " HTTP/1.1\r\n\r\n", 431),
        ("GET / HTTP/1.1\r\n" + String(repeating: "a: b\r\n", count: 200) + "\r\n", 431),
        (String(repeating: "\r\n", count: 9_000), 431),
    ])
    func `a malformed request is answered with its status, and closed`(_ request: String, _ status: Int) async throws {
        try await self.withServer { bench in
            let client = try RawClient(port: bench.server.port)
            client.write(request)
            let answer = try #require(client.readToEnd())
            #expect(String(decoding: answer, as: UTF8.self).hasPrefix("HTTP/1.1 \(status) "))
        }
    }

    @Test(arguments: [
        ("GET /socket.io/", 0), ("GET /socket.io/?EIO=4&transport=carrier-pigeon", 0),
        ("GET /socket.io/?EIO=3&transport=polling", 5), ("POST /socket.io/?EIO=4&transport=polling", 2),
        ("GET /socket.io/?EIO=4&transport=polling&sid=nobody", 1),
        ("GET /socket.io/?EIO=4&transport=websocket", 0),
    ])
    func `invalid Engine.IO requests are refused with their codes`(_ line: String, _ code: Int) async throws {
        try await self.withServer { bench in
            let client = try RawClient(port: bench.server.port)
            client.write("\(line) HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            let answer = String(decoding: try #require(client.readToEnd()), as: UTF8.self)
            #expect(answer.hasPrefix("HTTP/1.1 400 "))
            #expect(answer.contains(#""code":\#(code),"#))
        }
    }

    @Test
    func `half a request is borne with for a while only`() async throws {
        try await self.withServer(.init { $0.limits.requestTimeout = .milliseconds(200) }) { bench in
            let (silent, slow) = (try RawClient(port: bench.server.port), try RawClient(port: bench.server.port))
            slow.write("GET / HTTP/1.1\r\nHost:")
            #expect(silent.readToEnd() == [])
            #expect(slow.readToEnd() == [])
        }
    }

    @Test(
        arguments: [
            // Unmasked; of an unknown opcode; longer than any message may be; text that is no UTF-8.
            ([0x81, 0x02, 0x68, 0x69], 1_002), ([0x83, 0x80, 0, 0, 0, 0], 1_002),
            ([0x81, 0xFF, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0], 1_009), ([0x81, 0x81, 0, 0, 0, 0, 0xFF], 1_007),
            // Text that is not JSON; JSON that is no envelope; binary that nobody announced.
            ([0x81, 0x81, 0, 0, 0, 0, 0x7B], 1_007), ([0x81, 0x82, 0, 0, 0, 0, 0x7B, 0x7D], 1_008),
            ([0x82, 0x81, 0, 0, 0, 0, 0x7B], 1_008),
        ] as [([UInt8], Int)])
    func `a WebSocket that violates the protocol is closed with a reason`(_ frame: [UInt8], _ code: Int) async throws {
        try await self.withServer { bench in
            let client = try RawClient(port: bench.server.port)
            client.write("GET /any HTTP/1.1\r\n" + Self.upgrade)
            #expect(client.read(until: "\r\n\r\n").hasPrefix("HTTP/1.1 101 "))
            client.write(frame)
            let answer = try #require(client.readToEnd())
            #expect(answer.count >= 4 && answer[0] == 0x88)
            #expect(answer.dropFirst(2).prefix(2).elementsEqual([UInt8(code >> 8), UInt8(code & 0xFF)]))
        }
    }

    @Test(arguments: ["9", "2", "42{}", "451-[]", "4", "bnot base64"])
    func `packets that break the rules end their session`(_ packet: String) async throws {
        try await self.withServer { bench in
            let sid = try self.beginPolling(bench)
            let post = try RawClient(port: bench.server.port)
            let line =
                "POST /socket.io/?EIO=4&transport=polling&sid=\(sid) HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
            post.write("\(line)Content-Length: \(packet.utf8.count)\r\n\r\n\(packet)")
            _ = post.readToEnd()
            let poll = try RawClient(port: bench.server.port)
            poll.write(
                "GET /socket.io/?EIO=4&transport=polling&sid=\(sid) HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
            )
            #expect(String(decoding: try #require(poll.readToEnd()), as: UTF8.self).contains(#""code":1"#))
        }
    }

    @Test
    func `requests that come behind one another are answered in their order`() async throws {
        try await self.withServer { bench in
            let client = try RawClient(port: bench.server.port)
            let request = "GET /nothing HTTP/1.1\r\nHost: localhost\r\n\r\n"
            client.write(String(repeating: request, count: 500))
            client.write("GET /nothing HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            let answer = String(decoding: try #require(client.readToEnd()), as: UTF8.self)
            #expect(answer.split(separator: "HTTP/1.1 404 ").count == 501)
        }
    }

    @Test
    func `a client that does not read is dropped when too much waits for it`() async throws {
        try await self.withServer(.init { $0.limits.maximumWaitingBytes = 1 << 20 }) { bench in
            let (peers, ends) = (Journal<HubPeer>("the peer"), Journal<Bool>("the end of the peer"))
            bench.hub.onConnect { peer throws(LinkspanError) in peers.append(peer) }
            let client = try RawClient(port: bench.server.port)
            client.write("GET /any HTTP/1.1\r\n" + Self.upgrade)
            // An empty mask, so that the text is there to read.
            client.write([0x81, 0x8A, 0, 0, 0, 0] + Array(#"{"auth":1}"#.utf8))
            let peer = try await peers.first(1)[0]
            peer.onEnd { ends.append(true) }
            let pad = try Payload(String(repeating: "x", count: 1 << 19))
            for _ in 0..<40 { peer.emit("pad", pad) }
            try await ends.first(1)
        }
    }

    @Test
    func `connections above the limit are closed when all others are used`() async throws {
        try await self.withServer(.init { $0.limits.maximumConnections = 2 }) { bench in
            let kept = try await bench.client(.webSocket)
            _ = try await kept.handler.request("req")
            #expect(try RawClient(port: bench.server.port).readToEnd() == [])
            _ = try await kept.handler.request("req")
        }
    }

    private func beginPolling(_ bench: Bench) throws -> String {
        let client = try RawClient(port: bench.server.port)
        client.write("GET /socket.io/?EIO=4&transport=polling HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        let answer = String(decoding: try #require(client.readToEnd()), as: UTF8.self)
        let start = try #require(answer.range(of: #""sid":""#)).upperBound
        return String(answer[start...].prefix { $0 != "\"" })
    }
}

/// Messages that the server does not take, and those that the client does not.
@Suite(.timeLimit(.minutes(2)), .overSomeBackEnd)
struct LimitTests {
    private static let server = DevServerConfiguration { $0.maximumMessageBytes = 100_000 }

    @Test(arguments: Way.allCases)
    func `a delivery larger than the server takes fails, and those behind it arrive`(_ way: Way) async throws {
        try await Bench.run(configuration: Self.server) { bench in
            let client = try await bench.client(way)
            try await client.connected()
            let error = await #expect(throws: LinkspanError.self) {
                try await client.handler.deliver("req", String(repeating: "x", count: 120_000))
            }
            guard case .socketIO = way else {
                // A server of envelopes tells no limit: it closes over the message, twice.
                #expect(error?.code == .messageRefused)
                #expect(error?.certainty == .unknown)
                try await client.connected(times: 3)
                #expect(try await client.handler.deliver("req", 7).decode(Int.self) == 7)
                return
            }
            #expect(error?.code == .messageTooLarge)
            #expect(error?.certainty == .notSent)
            #expect(error?.message.contains("100000") == true, "it says the limit: \(String(describing: error))")
            #expect(try await client.handler.deliver("req", 7).decode(Int.self) == 7)
            #expect(client.states.entries.map(\.to) == [.connected])
        }
    }

    /// Over polling 76,000 bytes take 101,336 in base64, so that the limit depends on what carries them.
    @Test(arguments: [Way.socketIO(.polling), .socketIO(.webSocket)])
    func `a blob counts by its size on the wire`(_ way: Way) async throws {
        try await Bench.run(configuration: Self.server) { bench in
            let client = try await bench.client(way)
            try await client.connected()
            let blob = Data(repeating: 7, count: 76_000)
            if case .socketIO(.webSocket) = way {
                #expect(try await client.handler.deliver("req", blob).decode(Data.self) == blob)
            } else {
                let error = await #expect(throws: LinkspanError.self) {
                    try await client.handler.deliver("req", blob)
                }
                #expect(error?.code == .messageTooLarge)
            }
            #expect(client.states.entries.map(\.to) == [.connected])
        }
    }

    /// The text of each event is twice as long as its arguments, so that what the core counts says nothing.
    @Test(arguments: Way.allCases)
    func `the limit of the server holds for the text that a codec of the app's writes`(_ way: Way) async throws {
        try await Bench.run(configuration: Self.server) { bench in
            let client = try await bench.client(way, over: self.padding(way, bench))
            try await client.connected()
            #expect(try await client.handler.deliver("req", "short").decode(String.self) == "short")
            let error = await #expect(throws: LinkspanError.self) {
                try await client.handler.deliver("req", String(repeating: "x", count: 60_000))
            }
            #expect(try await client.handler.deliver("req", 7).decode(Int.self) == 7)
            guard case .socketIO = way else {
                #expect(error?.code == .messageRefused)
                #expect(client.states.entries.filter { $0.to == .connected }.count == 3)
                return
            }
            #expect(error?.code == .messageTooLarge)
            #expect(error?.certainty == .notSent)
            #expect(client.states.entries.map(\.to) == [.connected])
        }
    }

    private func padding(_ way: Way, _ bench: Bench) -> any Transport {
        guard case .socketIO(let carriers) = way else {
            return WebSocketTransport(.init { $0.protocol = PaddingMessageProtocol() }, loop: bench.loop)
        }
        return SocketIOTransport(
            .init {
                $0.carriers = carriers
                $0.codec = PaddingCodec()
            }, loop: bench.loop)
    }

    /// Messages that come whole, and messages of attachments that are small enough each.
    @Test(arguments: Way.allCases, [false, true])
    func `a message larger than this client takes ends its link by a limit that is called ours`(
        _ way: Way, _ hasAttachments: Bool
    ) async throws {
        let hub = InMemoryHub()
        hub.onConnect { peer in
            peer.on("ask") { _ in
                let blob = Data(repeating: 7, count: 60_000)
                if hasAttachments {
                    try? peer.emit("big", blob, blob)
                } else {
                    try? peer.emit("big", blob.base64EncodedString())
                }
            }
        }
        try await Bench.run(hub: hub) { bench in
            let client = try await bench.client(way, over: way.transport(on: bench.loop, maximumMessageBytes: 70_000))
            try await client.connected()
            try client.handler.send("ask")
            let error = try #require(try await client.lost().error)
            #expect(error.code == .protocolViolation)
            // Of an answer to a poll more is accepted than of a message.
            #expect(error.message.wholeMatch(of: /.* larger than the [0-9]+ bytes that are accepted here/) != nil)
            try await client.connected(times: 2)
        }
    }
}
