import LinkspanNetwork
import LinkspanRuntime
import TestedBackEnds
import Testing

@Suite("An HTTP exchange", .timeLimit(.minutes(1)), .overEachBackEnd)
struct ExchangeTests {
    /// Makes an exchange against `serve`; gives its outcome.
    private func exchange(
        _ purpose: StreamRequest.Purpose = .get, headers: [StreamRequest.Header] = [], limit: Int = 1 << 20,
        deadline: Duration = .seconds(30), cancelAfter delay: Duration? = nil,
        _ serve: @escaping @Sendable (Peer) -> Void
    ) async throws -> Result<HTTPAnswer, ByteStreamError> {
        try await withServer(serve) { server in
            try await withLoop { loop in
                var request = server.request("/poll?token=secret")
                request.headers = headers
                request.deadline = deadline
                request.purpose = purpose
                return await withCheckedContinuation { continuation in
                    loop.execute { [request] in
                        let exchange = loop.exchange(request, limit: limit) {
                            continuation.resume(returning: $0)
                        }
                        if let delay { loop.scheduleLocally(after: delay) { exchange.abort() } }
                    }
                }
            }
        }
    }

    @Test(arguments: [
        "Content-Length: 10\r\n\r\n0123456789",
        "Transfer-Encoding: chunked\r\n\r\n4\r\n0123\r\n6\r\n456789\r\n0\r\n\r\n",
        "Connection: close\r\n\r\n0123456789",
    ])
    func `gives the body of a length, of chunks, and up to the connection's end`(rest: String) async throws {
        let answer = try await self.exchange { peer in
            _ = peer.readHead()
            peer.write("HTTP/1.1 200 OK\r\n" + rest)
        }.get()
        #expect(answer.head.status == 200)
        #expect(String(decoding: answer.body, as: UTF8.self) == "0123456789")
    }

    /// Names of fields that known ones begin with.
    static let beginnings = ["Cache", "User", "Retry", "X-Auth", "X", "A", "Content", "Upgrad"]

    @Test(arguments: beginnings)
    func `reads the field behind one whose name a known one begins with`(name: String) async throws {
        let cut = try await self.exchange { peer in
            _ = peer.readHead()
            peer.write("HTTP/1.1 200 OK\r\n\(name): x\r\nContent-Length: 10\r\n\r\n0123")
        }
        #expect(cut.code == .closedByPeer)
        let answer = try await self.exchange { peer in
            _ = peer.readHead()
            peer.write("HTTP/1.1 200 OK\r\n\(name): x\r\nTransfer-Encoding: chunked\r\n\r\n4\r\n0123\r\n0\r\n\r\n")
        }.get()
        #expect(String(decoding: answer.body, as: UTF8.self) == "0123")
    }

    @Test(arguments: [
        "Transfer-Encoding: Chunked\r\n\r\n4\r\n0123\r\n6\r\n456789\r\n0\r\n\r\n",
        "Transfer-Encoding: chunked\r\n\r\n4;a=b\r\n0123\r\n6 ; c=\"d\"\r\n456789\r\n0;e\r\n\r\n",
        "Transfer-Encoding: chunked\r\n\r\n4 \t\r\n0123\r\n06\r\n456789\r\n00\r\nX-Sum: 1\r\nX-More: 2\r\n\r\n",
        "Content-Length: 0\r\nTransfer-Encoding: chunked\r\n\r\nA\r\n0123456789\r\n0\r\n\r\n",
    ])
    func `reads every form of chunks that HTTP allows`(rest: String) async throws {
        let answer = try await self.exchange { peer in
            _ = peer.readHead()
            peer.write("HTTP/1.1 200 OK\r\n" + rest)
            _ = peer.readAll()
        }.get()
        #expect(String(decoding: answer.body, as: UTF8.self) == "0123456789")
    }

    @Test
    func `takes no chunk whose length has nine digits for a short one`() async throws {
        let result = try await self.exchange { peer in
            _ = peer.readHead()
            peer.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n100000001\r\nx\r\n0\r\n\r\n")
            _ = peer.readAll()
        }
        #expect(result.code == .handshakeMalformed)
    }

    @Test(arguments: [StreamRequest.Purpose.get, .post([]), .post([1, 2, 3])])
    func `is the library's no longer once the request is sent, whose timers would end it`(
        purpose: StreamRequest.Purpose
    ) async throws {
        let (heads, read) = AsyncStream.makeStream(of: Void.self)
        try await withServer({ peer in
            _ = peer.readHead()
            read.yield()
            _ = peer.readAll()
        }) { server in
            try await withLoop { loop in
                let (results, finish) = AsyncStream.makeStream(of: Result<HTTPAnswer, ByteStreamError>.self)
                let own = Confined<(any ByteStream)?>(nil, to: loop)
                loop.execute {
                    own.value = loop.exchange(server.request(for: purpose), limit: 1) { finish.yield($0) }
                }
                try #require(await heads.first { _ in true } != nil)
                await hop(loop)
                #expect(loop.sync { connectionsOfLibrary(loop) } == 0)
                loop.execute { own.value?.abort() }
                #expect(await results.first { _ in true }?.code == .closedByUs)
            }
        }
    }

    @Test(arguments: ["FFFFFFFF", "80000000", "FFFFFFFFFFFFFFFFFFFF", "-1"])
    func `survives chunks whose length is beyond every number`(length: String) async throws {
        let result = try await self.exchange { peer in
            _ = peer.readHead()
            peer.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\(length)\r\n")
            while peer.write(pattern(1 << 16)) {}
        }
        let error = #expect(throws: ByteStreamError.self) { try result.get() }
        #expect(
            [.handshakeMalformed, .closedByPeer, .answerTooLong].contains(error?.code),
            "\(String(describing: error))")
    }

    @Test(arguments: [false, true])
    func `gives the answer that comes before the body has been sent, when the server then closes`(
        isLate: Bool
    ) async throws {
        let body = pattern(32 << 20)
        let result = try await self.exchange(.post(body)) { peer in
            _ = peer.readHead()
            if isLate { _ = peer.read(1 << 20) }
            peer.write("HTTP/1.1 413 Content Too Large\r\nContent-Length: 5\r\nConnection: close\r\n\r\nlarge")
            // Closed when this returns: with bytes unread, that resets the connection.
        }
        let answer = try result.get()
        #expect(answer.head.status == 413)
        #expect(String(decoding: answer.body, as: UTF8.self) == "large")
    }

    @Test
    func `ends when the fields behind the last chunk do not end`() async throws {
        let result = try await self.exchange { peer in
            _ = peer.readHead()
            peer.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n6\r\n0\r\n")
            while peer.write("X-Flood: \(String(repeating: "x", count: 1_000))\r\n") {}
        }
        let error = #expect(throws: ByteStreamError.self) { try result.get() }
        #expect([.answerHeadTooLong, .closedByPeer].contains(error?.code), "\(String(describing: error))")
    }

    @Test(arguments: [
        "200 OK\r\nContent-Length: 9223372036854775808", "200 OK\r\nContent-Length: -1",
        "200 OK\r\nContent-Length: 4194305", "404 Not Found\r\nContent-Length: 1048577",
    ])
    func `ends at once when the announced body is too long, or a refusal is`(head: String) async throws {
        let result = try await self.exchange(limit: 4 << 20) { peer in
            _ = peer.readHead()
            peer.write("HTTP/1.1 \(head)\r\n\r\n")
            _ = peer.readAll()
        }
        let error = #expect(throws: ByteStreamError.self) { try result.get() }
        // No body has a negative length: that is the peer's fault, and not a limit of ours.
        #expect(error?.code == (head.hasSuffix("-1") ? .handshakeMalformed : .answerTooLong))
    }

    @Test
    func `gives a body part by part, and reads no more of it while that is paused`() async throws {
        let size = 8 << 20
        let parts = Lock<[UInt8]>([])
        let (exchanges, made) = AsyncStream.makeStream(of: Void.self)
        try await withServer({ peer in
            _ = peer.readHead()
            peer.write("HTTP/1.1 200 OK\r\nContent-Length: \(size)\r\n\r\n")
            peer.write(pattern(size))
        }) { server in
            try await withLoop { loop in
                let (pauses, paused) = AsyncStream.makeStream(of: Int.self)
                let own = Confined<(any ByteStream)?>(nil, to: loop)
                let (results, finish) = AsyncStream.makeStream(of: Result<HTTPAnswer, ByteStreamError>.self)
                loop.execute {
                    let exchange = loop.exchange(server.request(for: .get), limit: size) { part in
                        let (before, count) = parts.withLock { parts in
                            defer { parts += part }
                            return (parts.count, parts.count + part.count)
                        }
                        guard before == 0 else { return }
                        own.value?.setReadingPaused(true)
                        paused.yield(count)
                    } completion: {
                        finish.yield($0)
                    }
                    own.value = exchange
                    made.yield()
                }
                try #require(await exchanges.first { _ in true } != nil)
                let count = try #require(await pauses.first { _ in true })
                // Whatever the loop had to do before this, it has done.
                for _ in 0..<50 {
                    await withCheckedContinuation { continuation in loop.execute { continuation.resume() } }
                }
                #expect(parts.withLock { $0.count } == count)
                await loop.perform { own.value?.setReadingPaused(false) }
                let answer = try #require(await results.first { _ in true }).get()
                #expect(answer.body.isEmpty)
                #expect(parts.withLock { $0 } == pattern(size))
            }
        }
    }

    @Test(arguments: [200, 204, 302, 400, 403, 413, 502])
    func `gives an empty body and any status`(status: Int) async throws {
        let answer = try await self.exchange { peer in
            _ = peer.readHead()
            peer.write("HTTP/1.1 \(status) Text\r\nContent-Length: 0\r\nRetry-After: 7\r\n\r\n")
        }.get()
        #expect(answer.head.status == status)
        #expect(answer.body.isEmpty)
        #expect(answer.head.retryAfter == .seconds(7))
    }

    @Test(arguments: [0, 1, 1000, 70_000, 3_000_000])
    func `posts a body of any size after its head`(size: Int) async throws {
        let sent = (0..<size).map { UInt8(truncatingIfNeeded: $0) }
        let seen = Lock<(head: String, body: [UInt8])>(("", []))
        let answer = try await self.exchange(.post(sent), headers: [("X-Token", "a")]) { peer in
            let head = peer.readHead()
            var body: [UInt8] = []
            while body.count < size {
                let more = peer.read()
                guard !more.isEmpty else { break }
                body += more
            }
            seen.withLock { $0 = (head, body) }
            peer.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        }.get()
        #expect(answer.body == Array("ok".utf8))
        let (head, body) = seen.withLock { $0 }
        #expect(body == sent)
        #expect(head.hasPrefix("POST /poll?token=secret HTTP/1.1\r\n"))
        #expect(head.contains("Content-Length: \(size)\r\n"))
        #expect(head.contains("X-Token: a\r\n"))
        #expect(head.lowercased().contains("connection: close\r\n"))
    }

    @Test
    func `gives each cookie by itself`() async throws {
        let answer = try await self.exchange { peer in
            _ = peer.readHead()
            peer.write(
                "HTTP/1.1 200 OK\r\nSet-Cookie: a=1; Path=/\r\nSet-Cookie:   b=2, x\r\nContent-Length: 0\r\n\r\n")
        }.get()
        #expect(answer.head.values("set-cookie") == ["a=1; Path=/", "b=2, x"])
    }

    @Test(arguments: [
        "Content-Length: 10\r\n\r\n0123", "Transfer-Encoding: chunked\r\n\r\n4\r\n01", "",
    ])
    func `fails when the body is cut`(rest: String) async throws {
        let result = try await self.exchange { peer in
            _ = peer.readHead()
            peer.write("HTTP/1.1 200 OK\r\n" + rest)
        }
        #expect(throws: ByteStreamError.self) { try result.get() }
    }

    @Test(arguments: [
        "Content-Length: 100000\r\n\r\n", "Transfer-Encoding: chunked\r\n\r\n186a0\r\n", "\r\n",
    ])
    func `ends above its limit, with and without Content-Length`(rest: String) async throws {
        let result = try await self.exchange(limit: 50_000) { peer in
            _ = peer.readHead()
            peer.write("HTTP/1.1 200 OK\r\n" + rest)
            peer.write([UInt8](repeating: 0x61, count: 100_000))
            _ = peer.readAll()
        }
        #expect(result.code == .answerTooLong)
    }

    @Test(arguments: ["", "HTTP/1.1 200 OK\r\n\r\nstart"])
    func `ends at its deadline: before the answer and within it`(start: String) async throws {
        try await expectTimeout(in: start.isEmpty ? .answer : nil) { deadline in
            let result = try await self.exchange(deadline: deadline) { peer in
                _ = peer.readHead()
                peer.write(start)
                _ = peer.readAll()
            }
            return try #require(result.failure)
        }
    }

    @Test(arguments: [Duration.zero, .milliseconds(50)])
    func `can be cancelled at any moment`(delay: Duration) async throws {
        let result = try await self.exchange(cancelAfter: delay) { peer in
            _ = peer.readHead()
            _ = peer.readAll()
        }
        #expect(result.code == .closedByUs)
    }

    @Test
    func `refuses an invalid request, and one without a host`() async throws {
        let result = try await self.exchange(headers: [("X", "a\r\nY: b")]) { _ in }
        #expect(result.code == .invalidRequest)
        let port = try unusedPort()
        let nobody = try await withLoop { loop in
            var request = StreamRequest(host: "127.0.0.1", port: port, isSecure: false)
            request.purpose = .get
            return await withCheckedContinuation { continuation in
                loop.execute { [request] in loop.exchange(request, limit: 1) { continuation.resume(returning: $0) } }
            }
        }
        #expect(nobody.code == .unreachable)
    }

    @Test
    func `many run beside one another`() async throws {
        try await withServer({ peer in
            let head = peer.readHead()
            let path = head.split(separator: " ")[1]
            peer.write("HTTP/1.1 200 OK\r\nContent-Length: \(path.utf8.count)\r\n\r\n\(path)")
        }) { server in
            try await withLoop { loop in
                await withTaskGroup(of: Bool.self) { group in
                    for number in 0..<100 {
                        group.addTask {
                            let result = await withCheckedContinuation { continuation in
                                loop.execute {
                                    loop.exchange(server.request("/\(number)", for: .get), limit: 100) {
                                        continuation.resume(returning: $0)
                                    }
                                }
                            }
                            return (try? result.get().body) == Array("/\(number)".utf8)
                        }
                    }
                    for await isRight in group { #expect(isRight) }
                }
            }
        }
    }
}

extension Result where Failure == ByteStreamError {
    /// The failure; nil for success.
    fileprivate var failure: ByteStreamError? {
        if case .failure(let error) = self { error } else { nil }
    }

    fileprivate var code: ByteStreamError.Code? { self.failure?.code }
}
