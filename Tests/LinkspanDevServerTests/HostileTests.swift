internal import TestSupport
internal import Foundation
internal import Linkspan
internal import LinkspanDevServer
internal import LinkspanInMemory
internal import LinkspanSocketIO
internal import TestedBackEnds
internal import Testing

/// Clients that break every rule: they are answered, put out, and do no harm.
@Suite(.timeLimit(.minutes(2)), .overSomeBackEnd)
struct HostileTests {
    private static let upgrade =
        "Host: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
        + "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"

    /// A bench with a client that must still be served afterwards.
    private func withServer(
        _ configuration: DevServer.Configuration = .init(), _ body: (Bench) async throws -> Void
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
