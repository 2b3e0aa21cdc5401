#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Android)
import Android
#endif

import LinkspanNetwork
import LinkspanRuntime
import TestedBackEnds
import Testing

/// A stream's way from libwebsockets, which opens it, to a socket of its own.
@Suite("A stream that has just opened", .timeLimit(.minutes(1)), .overEachBackEnd)
struct TakeoverTests {
    /// Runs `body` with a secure stream to a server that does `steps`; returns how it went there.
    private static func withSession(
        version: String = "TLS1.3", _ steps: [String],
        within: @escaping @Sendable (Recorder.Event, TestStream?) -> Void = { _, _ in },
        _ body: (Recorder, TestStream, OpenSSLServer) async throws -> Void
    ) async throws -> String {
        let certificates = try await blocking { try Certificates() }
        let server = try await blocking { try OpenSSLServer(certificates, version: version, steps) }
        defer { server.stop() }
        let request = StreamRequest(
            host: "127.0.0.1", port: server.port, isSecure: true,
            tls: TLSPolicy(roots: .file(certificates.authority)))
        return try await withLoop { loop in
            let recorder = Recorder(within: within)
            let stream = recorder.connect(request, on: loop)
            _ = try await recorder.opening()
            try await body(recorder, stream, server)
            stream.finish()
            return try await server.word()
        }
    }

    private static func expect(_ text: String, from recorder: Recorder) async throws {
        let bytes = try await recorder.bytes(text.utf8.count)
        #expect(bytes == Array(text.utf8))
    }

    @Test(arguments: [1, 65_536, 300_000])
    func `has every byte that came behind the answer, and then the end`(_ count: Int) async throws {
        try await withServer({ peer in
            _ = peer.readHead()
            peer.write(Array(Peer.upgraded.utf8) + pattern(count))
        }) { server in
            try await withLoop { loop in
                let recorder = Recorder()
                _ = recorder.connect(server.request(), on: loop)
                _ = try await recorder.opening()
                let bytes = try await recorder.bytes(count)
                #expect(bytes == pattern(count))
                #expect(await recorder.ending().code == .closedByPeer)
            }
        }
    }

    @Test(arguments: ExchangeTests.beginnings)
    func `has the fields behind one whose name a known one begins with`(_ name: String) async throws {
        try await withServer({ peer in
            _ = peer.readHead()
            peer.write(
                "HTTP/1.1 101 Switching Protocols\r\n\(name): 1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n")
            _ = peer.readAll()
        }) { server in
            try await withLoop { loop in
                let recorder = Recorder()
                let stream = recorder.connect(server.request(), on: loop)
                let head = try await recorder.opening()
                #expect(head["upgrade"] == "websocket" && head["connection"] == "Upgrade")
                stream.abort()
            }
        }
    }

    @Test
    func `holds bytes that came with the answer back while it is paused, and delivers them in order afterwards`()
        async throws
    {
        let (gate, opener) = Gate.make()
        try await withServer({ peer in
            _ = peer.readHead()
            peer.write(Peer.upgraded + "first")
            gate.wait()
            peer.write("second")
            peer.echo()
        }) { server in
            try await withLoop { loop in
                let received = Lock(0)
                let recorder = Recorder { event, stream in
                    if case .opened = event { stream?.setReadingPaused(true) }
                    if case .received = event { received.withLock { $0 += 1 } }
                }
                let stream = recorder.connect(server.request(), on: loop)
                _ = try await recorder.opening()
                opener.open()
                for _ in 0..<100 { await hop(loop) }
                #expect(received.withLock { $0 } == 0)
                stream.setReadingPaused(false)
                let bytes = try await recorder.bytes(11)
                #expect(bytes == Array("firstsecond".utf8))
                stream.abort()
            }
        }
    }

    @Test(arguments: ["TLS1.2", "TLS1.3"])
    func `has every byte that came in the answer's own TLS record and in those behind it`(_ version: String)
        async throws
    {
        let outcome = try await Self.withSession(
            version: version, ["+together", "fill 100000", "say over"]
        ) { recorder, _, _ in
            let bytes = try await recorder.bytes(100_012)
            #expect(bytes == Array("together".utf8) + OpenSSLServer.pattern(100_000) + Array("over".utf8))
        }
        #expect(outcome == "done")
    }

    @Test
    func `holds them back over TLS too while it is paused, although the socket has nothing to read any more`()
        async throws
    {
        let outcome = try await Self.withSession(
            ["+together", "say behind"],
            within: { event, stream in
                if case .opened = event { stream?.setReadingPaused(true) }
            }
        ) { recorder, stream, _ in
            for _ in 0..<100 { await hop(stream.loop) }
            stream.setReadingPaused(false)
            let bytes = try await recorder.bytes(14)
            #expect(bytes == Array("togetherbehind".utf8))
        }
        #expect(outcome == "done")
    }

    @Test
    func `reads what TLS has taken already when reading goes on, although the socket has nothing left`() async throws {
        // More than a read takes, which ends in the middle of the last record because of the byte before it.
        let outcome = try await Self.withSession(
            ["hear go", "say x", "fill 262144", "tell sent"],
            within: { event, stream in
                guard case .received = event, let stream else { return }
                stream.setReadingPaused(true)
                stream.loop.execute { stream.setReadingPaused(false) }
            }
        ) { recorder, stream, server in
            stream.setReadingPaused(true)
            stream.write { $0 += "go".utf8 }
            #expect(try await server.word() == "sent")
            stream.setReadingPaused(false)
            let bytes = try await recorder.bytes(262_145)
            let isWhole = bytes == Array("x".utf8) + OpenSSLServer.pattern(262_144)
            #expect(isWhole)
        }
        #expect(outcome == "done")
    }

    @Test
    func `goes on with new keys when the server renews its own, and wants new ones`() async throws {
        let steps = [
            "say a", "hear one", "renew", "say b", "hear two", "renew-own", "say c", "renew", "renew", "hear three",
        ]
        let outcome = try await Self.withSession(steps) { recorder, stream, _ in
            try await Self.expect("a", from: recorder)
            stream.write { $0 += "one".utf8 }
            try await Self.expect("b", from: recorder)
            stream.write { $0 += "two".utf8 }
            try await Self.expect("c", from: recorder)
            stream.write { $0 += "three".utf8 }
        }
        #expect(outcome == "done")
    }

    @Test
    func `takes session tickets that come late, between bytes and behind them`() async throws {
        let steps = ["ticket", "say a", "ticket", "ticket", "say b", "hear one", "ticket", "say c", "hear two"]
        let outcome = try await Self.withSession(steps) { recorder, stream, _ in
            try await Self.expect("ab", from: recorder)
            stream.write { $0 += "one".utf8 }
            try await Self.expect("c", from: recorder)
            stream.write { $0 += "two".utf8 }
        }
        #expect(outcome == "done")
    }

    @Test
    func `ends in order when the server says over TLS that nothing more comes and leaves TCP open`() async throws {
        let outcome = try await Self.withSession(["+a", "end"]) { recorder, _, _ in
            try await Self.expect("a", from: recorder)
            #expect(await recorder.ending().code == .closedByPeer)
        }
        #expect(outcome == "done")
    }

    @Test
    func `ends when the peer breaks the connection while reading is paused`() async throws {
        try await withServer({ peer in
            peer.upgrade()
            _ = peer.read(2)
            peer.reset()
        }) { server in
            try await withLoop { loop in
                let recorder = Recorder()
                let stream = recorder.connect(server.request(), on: loop)
                _ = try await recorder.opening()
                stream.setReadingPaused(true)
                stream.write { $0 += [1, 2] }
                #expect(await recorder.ending().code == .closedByPeer)
            }
        }
    }

    @Test
    func `gives its descriptors back, however often it opens and ends, and ends the loop without one`() async throws {
        try await withServer(EchoTests.echo) { server in
            try await ProcessCounts.openTimers()
            let before = ProcessCounts.descriptors
            try await withLoop { loop in
                for round in 0..<200 {
                    let recorder = Recorder { event, stream in
                        if case .opened = event, round % 4 == 0 { stream?.abort() }
                    }
                    let stream = recorder.connect(server.request(), on: loop)
                    if round % 4 == 0 {
                        _ = await recorder.ending()
                        continue
                    }
                    _ = try await recorder.opening()
                    if round % 4 == 1 { stream.abort() } else { stream.finish() }
                    _ = await recorder.ending()
                }
                // Both ends of the last connections, and what the loop has for itself.
                #expect(ProcessCounts.descriptors <= before + 24)
            }
            for _ in 0..<1_000 where ProcessCounts.descriptors > before { try await Task.sleep(for: .milliseconds(5)) }
            #expect(ProcessCounts.descriptors <= before)
        }
    }
}
