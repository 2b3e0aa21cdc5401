import LinkspanNetwork
import LinkspanRuntime
import TestedBackEnds
import Testing

@Suite("An attempt", .timeLimit(.minutes(1)), .overEachBackEnd)
struct EndingTests {
    /// Runs an attempt against `serve` to its end.
    private func ending(
        deadline: Duration = .seconds(30), _ serve: @escaping @Sendable (Peer) -> Void
    ) async throws -> ByteStreamError {
        try await withServer(serve) { server in
            try await withLoop { loop in
                var request = server.request("/?token=secret")
                request.deadline = deadline
                let recorder = Recorder()
                _ = recorder.connect(request, on: loop)
                let error = await recorder.ending()
                #expect(!error.description.contains("secret"))
                return error
            }
        }
    }

    @Test(arguments: [301, 302, 303, 307, 308])
    func `does not follow a redirect: the other port hears nothing`(status: Int) async throws {
        try await withServer({ _ in }) { other in
            let location = "http://user:secret@127.0.0.1:\(other.port)/path?token=secret"
            let error = try await self.ending { peer in
                _ = peer.readHead()
                peer.write("HTTP/1.1 \(status) Moved\r\nLocation: \(location)\r\nContent-Length: 0\r\n\r\n")
                _ = peer.read()
            }
            #expect(error.code == .redirected)
            #expect(error.status == status)
            #expect(error.message.contains("http://127.0.0.1:\(other.port) "))
            #expect(other.acceptedCount == 0)
        }
    }

    @Test(arguments: [200, 401, 403, 404, 426, 500, 503])
    func `ends as refused, with the status, for any other answer`(status: Int) async throws {
        let error = try await self.ending { peer in
            _ = peer.readHead()
            peer.write("HTTP/1.1 \(status) Text\r\nContent-Length: 4\r\nRetry-After: 17\r\n\r\nbody")
            _ = peer.read()
        }
        #expect(error.code == .refused)
        #expect(error.status == status)
        #expect(error.retryAfter == .seconds(17))
    }

    @Test(arguments: [true, false])
    func `ends at once when the server speaks another protocol, with what it sent`(hangsUp: Bool) async throws {
        let error = try await self.ending { peer in
            peer.write("220 mail.example ESMTP\u{202E}\r\n")
            _ = peer.readHead()
            if !hangsUp { _ = peer.readAll() }
        }
        #expect(error.code == .handshakeMalformed, "\(error)")
        #expect(error.message.hasPrefix("the server does not speak HTTP: it sent '220 mail.example ESMTP"))
        #expect(!error.message.contains("\u{202E}"))
    }

    @Test(arguments: [
        "HTTP/1.1 abc Text\r\n\r\n",
        "HTTP/1.1 101 Switching Protocols\r\nContent-Length: 5\r\n\r\nhello",
        "HTTP/1.1 101 Switching Protocols\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
    ])
    func `ends as malformed when the answer has no status, or announces a body`(answer: String) async throws {
        let error = try await self.ending { peer in
            _ = peer.readHead()
            peer.write(answer)
            _ = peer.read()
        }
        #expect(error.code == .handshakeMalformed, "\(error)")
    }

    @Test
    func `ends when the answer's head has no end`() async throws {
        let error = try await self.ending { peer in
            _ = peer.readHead()
            peer.write("HTTP/1.1 101 Switching Protocols\r\n")
            while peer.write("X-Filler: \(String(repeating: "x", count: 1000))\r\n") {}
        }
        #expect([.answerHeadTooLong, .closedByPeer].contains(error.code), "\(error)")
    }

    @Test(arguments: [Int.max, 8_000, 1_000])
    func `says which limit the answer's head exceeds, however it is cut`(piece: Int) async throws {
        let error = try await self.ending { peer in
            _ = peer.readHead()
            // Of a field that every back end knows: what it does not know it may skip.
            let field = "Set-Cookie: a=\(String(repeating: "x", count: 984))\r\n"
            let fields = "Upgrade: websocket\r\nConnection: Upgrade\r\n" + String(repeating: field, count: 20)
            var left = Array("HTTP/1.1 101 Switching Protocols\r\n\(fields)\r\n".utf8)[...]
            // The other side has time to read one piece before the next.
            while !left.isEmpty, peer.write(left.prefix(piece)), peer.isOpen(for: .milliseconds(1)) {
                left = left.dropFirst(piece)
            }
            _ = peer.readAll()
        }
        #expect(error.code == .answerHeadTooLong, "\(error)")
        #expect(error.message.hasSuffix("accepted here"), "\(error)")
    }

    @Test
    func `ends as closed by the peer when it hangs up instead of answering`() async throws {
        let error = try await self.ending { peer in _ = peer.readHead() }
        #expect(error.code == .closedByPeer, "\(error)")
    }

    @Test
    func `times out on a server that says nothing`() async throws {
        try await expectTimeout(in: .upgrade) { deadline in
            let start = ContinuousClock.now
            let error = try await self.ending(deadline: deadline) { _ = $0.readAll() }
            #expect(start.duration(to: .now) >= deadline)
            return error
        }
        let error = ByteStreamError(timedOutIn: .upgrade)
        #expect(error.message == "timed out while waiting for the answer to the WebSocket upgrade")
    }

    @Test
    func `times out on a server that answers byte by byte, for ever`() async throws {
        try await expectTimeout(in: .upgrade) { deadline in
            try await self.ending(deadline: deadline) { peer in
                _ = peer.readHead()
                peer.write("HTTP/1.1 101 Switching Protocols\r\nX-Drip: ")
                // The read is the pause between two bytes; it ends when the other side does.
                while peer.isOpen(for: .milliseconds(10)), peer.write("x") {}
            }
        }
    }

    @Test
    func `times out on a name server that does not answer`() async throws {
        let (holds, hold) = Gate.make()
        defer { hold.open() }
        let resolver = Resolver { _, _ in
            holds.wait()
            return .success([])
        }
        try await withLoop(makeLoop(name: "test", resolver: resolver)) { loop in
            let recorder = Recorder()
            let request = StreamRequest(
                host: "example.invalid", port: 80, isSecure: false, deadline: .milliseconds(100))
            _ = recorder.connect(request, on: loop)
            #expect(await recorder.ending() == ByteStreamError(timedOutIn: .resolving(.server)))
        }
    }

    @Test
    func `times out on an address that takes no connection`() async throws {
        let hole = try BlackHole()
        defer { hole.stop() }
        try await withLoop { loop in
            let recorder = Recorder()
            let request = StreamRequest(
                host: "127.0.0.1", port: hole.port, isSecure: false, deadline: .milliseconds(200))
            _ = recorder.connect(request, on: loop)
            #expect(await recorder.ending() == ByteStreamError(timedOutIn: .connecting(.server)))
        }
    }

    @Test
    func `ends as unreachable on a port without a listener`() async throws {
        let port = try unusedPort()
        try await withLoop { loop in
            let recorder = Recorder()
            _ = recorder.connect(StreamRequest(host: "127.0.0.1", port: port, isSecure: false), on: loop)
            #expect(await recorder.ending().code == .unreachable)
        }
    }

    @Test
    func `ends as unreachable at an address that takes no connections at all`() async throws {
        try await withLoop { loop in
            let recorder = Recorder()
            _ = recorder.connect(StreamRequest(host: "255.255.255.255", port: 80, isSecure: false), on: loop)
            #expect(await recorder.ending().code == .unreachable)
        }
    }

    @Test
    func `ends as not resolved for a name without address`() async throws {
        try await withLoop { loop in
            let recorder = Recorder()
            _ = recorder.connect(StreamRequest(host: "name.invalid", port: 80, isSecure: false), on: loop)
            #expect(await recorder.ending().code == .nameNotResolved)
        }
    }

    @Test
    func `ends at once, without a connection, for a request that must not be sent`() async throws {
        try await withServer({ _ in }) { server in
            try await withLoop { loop in
                let recorder = Recorder()
                _ = recorder.connect(server.request("/a b"), on: loop)
                #expect(await recorder.ending().code == .invalidRequest)
                #expect(server.acceptedCount == 0)
            }
        }
    }

    @Test
    func `tries the addresses of a name in turn, past refusals and past one that does not answer`() async throws {
        let server = try LoopbackServer { EchoTests.echo($0) }
        defer { server.stop() }
        let hole = try BlackHole("127.0.0.2", port: server.port)
        defer { hole.stop() }
        // The first is refused within the call that dials it, the second by its host, and the third never answers.
        let resolver = Resolver { _, _ in .success(["255.255.255.255", "127.0.0.3", "127.0.0.2", "127.0.0.1"]) }
        try await withLoop(makeLoop(name: "test", resolver: resolver)) { loop in
            let recorder = Recorder()
            let request = StreamRequest(
                host: "many.example", port: server.port, isSecure: false)
            let stream = recorder.connect(request, on: loop)
            _ = try await recorder.opening()
            #expect(server.acceptedCount == 1)
            stream.abort()
        }
    }

    @Test
    func `connects to a name that the system resolves, and to an IPv6 address in both spellings`() async throws {
        let server = try LoopbackServer("::1") { peer in
            let head = peer.upgrade()
            peer.write(head.contains("\r\nHost: [::1]:") ? "y" : "n")
            _ = peer.read()
        }
        defer { server.stop() }
        try await withLoop { loop in
            for host in ["::1", "[::1]"] {
                let recorder = Recorder()
                let stream = recorder.connect(
                    StreamRequest(host: host, port: server.port, isSecure: false), on: loop)
                let bytes = try await recorder.bytes(1)
                #expect(bytes == Array("y".utf8))
                stream.abort()
            }
        }
        try await withServer(EchoTests.echo) { server in
            try await withLoop { loop in
                let recorder = Recorder()
                let stream = recorder.connect(
                    StreamRequest(host: "localhost", port: server.port, isSecure: false), on: loop)
                _ = try await recorder.opening()
                stream.abort()
            }
        }
    }

    @Test
    func `ignores a proxy named by the environment`() async throws {
        await #expect(processExitsWith: .success) {
            try await withServer({ _ in }) { proxy in
                setEnvironment("http_proxy", "http://127.0.0.1:\(proxy.port)")
                try await withServer(EchoTests.echo) { server in
                    try await withLoop { loop in
                        let recorder = Recorder()
                        let stream = recorder.connect(server.request(), on: loop)
                        _ = try await recorder.opening()
                        stream.abort()
                    }
                }
                try #require(proxy.acceptedCount == 0)
            }
        }
    }
}
