import LinkspanNetwork
import LinkspanRuntime
import TestSupport
import TestedBackEnds
import Testing

@Suite("A connection that is kept for the next request", .timeLimit(.minutes(1)), .overEachBackEnd)
struct KeptConnectionTests {
    private typealias Outcome = Result<HTTPAnswer, ByteStreamError>

    /// Requests to a server, one after the other, over kept connections.
    private struct Client: Sendable {
        let loop: any NetworkLoop
        let port: Int
        let kept: Confined<KeptConnections>

        init(_ loop: any NetworkLoop, _ server: LoopbackServer, idleLimit: Duration = .seconds(60)) {
            (self.loop, self.port) = (loop, server.port)
            self.kept = loop.sync { Confined(KeptConnections(idleLimit: idleLimit), to: loop) }
        }

        func send(_ purpose: StreamRequest.Purpose = .get) async -> Outcome {
            var request = StreamRequest(host: "127.0.0.1", port: self.port, isSecure: false)
            request.purpose = purpose
            return await withCheckedContinuation { [request] continuation in
                self.loop.execute {
                    self.loop.exchange(request, over: self.kept.value, limit: 100) {
                        continuation.resume(returning: $0)
                    }
                }
            }
        }

        var count: Int { self.loop.sync { self.kept.value.count } }
    }

    /// Runs `body` with a server that numbers its connections and answers each request by `answer`; it hangs up when it
    /// is asked to, and may on the first connection.
    private func withClient(
        idleLimit: Duration = .seconds(60), hangsUp: Bool = false, onEnd: @escaping @Sendable () -> Void = {},
        answer: @escaping @Sendable (Peer, _ connection: Int) -> Void, _ body: (Client) async throws -> Void
    ) async throws {
        let connections = Lock(0)
        try await withServer({ peer in
            let number = connections.withLock { count in
                count += 1
                return count
            }
            while case let head = peer.readHead(), head != "" {
                answer(peer, number)
                if head.lowercased().contains("connection: close") || hangsUp && number == 1 { break }
            }
            onEnd()
        }) { server in
            try await withLoop { loop in
                let client = Client(loop, server, idleLimit: idleLimit)
                try await body(client)
                loop.sync { client.kept.value.close() }
            }
        }
    }

    @Sendable
    private static func answer(_ peer: Peer, _ connection: Int) {
        peer.write("HTTP/1.1 200 OK\r\nConnection: keep-alive\r\nContent-Length: 1\r\n\r\n\(connection)")
    }

    private func expect(
        _ expected: String, from client: Client, _ purpose: StreamRequest.Purpose = .get,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        let body = try await client.send(purpose).get().body
        #expect(String(decoding: body, as: UTF8.self) == expected, sourceLocation: sourceLocation)
    }

    @Test
    func `carries one request after the other, in one piece with its body`() async throws {
        let body = Lock<[UInt8]>([])
        let isFirst = Lock(true)
        try await self.withClient(answer: { peer, connection in
            if isFirst.withLock({ was in
                defer { was = false }; return was
            }) {
                return Self.answer(peer, connection)
            }
            body.withLock { $0 = peer.read(3) }
            Self.answer(peer, connection)
        }) { client in
            try await self.expect("1", from: client)
            try await self.expect("1", from: client, .post([1, 2, 3]))
            #expect(body.withLock { $0 } == [1, 2, 3])
            #expect(client.count == 1)
        }
    }

    @Test
    func `is as many as there were requests at a time`() async throws {
        let requests = Lock(0)
        let (near, far) = Gate.make()
        try await self.withClient(answer: { peer, connection in
            let number = requests.withLock { count in
                count += 1
                return count
            }
            // Neither answer comes before both requests have.
            if number == 1 { near.wait() } else if number == 2 { far.open() }
            Self.answer(peer, connection)
        }) { client in
            async let one = client.send()
            async let other = client.send()
            let bodies = try await [one.get().body, other.get().body]
            #expect(Set(bodies) == [Array("1".utf8), Array("2".utf8)])
            #expect(client.count == 2)
            let again = try await client.send().get().body
            #expect(bodies.contains(again))
        }
    }

    @Test(arguments: [
        "200 OK\r\nContent-Length: 1", "200 OK\r\nConnection: close\r\nContent-Length: 1",
        "200 OK\r\nConnection: keep-alive, close\r\nContent-Length: 1",
        "404 Not Found\r\nConnection: keep-alive\r\nContent-Length: 1",
    ])
    func `is one whose server says so in an answer that is no refusal`(head: String) async throws {
        try await self.withClient(answer: { peer, connection in
            peer.write("HTTP/1.1 \(head)\r\n\r\n\(connection)")
        }) { client in
            for number in 1...3 { try await self.expect("\(number)", from: client) }
            #expect(client.count == 0)
        }
    }

    @Test
    func `is none behind whose answer something comes that nobody asked for`() async throws {
        try await self.withClient(answer: { peer, connection in
            peer.write(
                "HTTP/1.1 200 OK\r\nConnection: keep-alive\r\nContent-Length: 1\r\n\r\n\(connection)"
                    + "HTTP/1.1 200 OK\r\nConnection: keep-alive\r\nContent-Length: 1\r\n\r\n9")
        }) { client in
            for number in 1...3 { try await self.expect("\(number)", from: client) }
        }
    }

    @Test
    func `is closed when its time is up`() async throws {
        let (ends, end) = AsyncStream.makeStream(of: Void.self)
        try await self.withClient(idleLimit: .milliseconds(20), onEnd: { end.yield() }, answer: Self.answer) { client in
            try await self.expect("1", from: client)
            _ = await ends.first { _ in true }
            #expect(client.count == 0)
            try await self.expect("2", from: client)
        }
    }

    @Test
    func `is forgotten when its server closes it`() async throws {
        try await self.withClient(hangsUp: true, answer: Self.answer) { client in
            try await self.expect("1", from: client)
            try await eventually { client.count == 0 }
            try await self.expect("2", from: client)
        }
    }

    @Test
    func `is closed with its owner, which keeps no other`() async throws {
        let (ends, end) = AsyncStream.makeStream(of: Void.self)
        try await self.withClient(onEnd: { end.yield() }, answer: Self.answer) { client in
            try await self.expect("1", from: client)
            client.loop.sync { client.kept.value.close() }
            _ = await ends.first { _ in true }
            try await self.expect("2", from: client)
            #expect(client.count == 0)
        }
    }

    @Test
    func `ends with the loop`() async throws {
        let (ends, end) = AsyncStream.makeStream(of: Void.self)
        try await withServer({ peer in
            while peer.readHead() != "" { Self.answer(peer, 1) }
            end.yield()
        }) { server in
            try await withLoop { loop in
                try await self.expect("1", from: Client(loop, server))
            }
            _ = await ends.first { _ in true }
        }
    }
}
