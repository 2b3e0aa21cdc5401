import Linkspan
import LinkspanNetwork
import LinkspanRuntime
import TestedBackEnds
import Testing

@Suite("A plain stream", .timeLimit(.minutes(1)), .overEachBackEnd)
struct EchoTests {
    static func echo(_ peer: Peer) {
        peer.upgrade()
        peer.echo()
    }

    @Test
    func `carries bytes both ways after the upgrade`() async throws {
        try await withServer(Self.echo) { server in
            try await withLoop { loop in
                let recorder = Recorder()
                let stream = recorder.connect(server.request(), on: loop)
                let head = try await recorder.opening()
                #expect(head.status == 101)
                #expect(head["upgrade"] == "websocket")
                #expect(head["connection"] == "Upgrade")
                #expect(head["sec-websocket-accept"] == nil)
                #expect(head["sec-websocket-extensions"] == nil)
                stream.write { $0 += "hello".utf8 }
                let bytes = try await recorder.bytes(5)
                #expect(bytes == Array("hello".utf8))
                stream.abort()
                #expect(await recorder.ending().code == .closedByUs)
            }
        }
    }

    @Test
    func `sends the request line, host and headers as they were given, in their order`() async throws {
        let (heads, found) = AsyncStream.makeStream(of: String.self)
        try await withServer({ peer in found.yield(peer.upgrade()) }) { server in
            try await withLoop { loop in
                var request = server.request("/socket?token=abc&x=%20")
                request.headers = [
                    ("Connection", "Upgrade"), ("Upgrade", "websocket"), ("X-One", "a b"), ("X-Two", ""),
                ]
                let recorder = Recorder()
                _ = recorder.connect(request, on: loop)
                let head = try #require(await heads.first { _ in true })
                #expect(head.hasPrefix("GET /socket?token=abc&x=%20 HTTP/1.1\r\n"))
                #expect(head.contains("\r\nHost: 127.0.0.1:\(server.port)\r\n"))
                let lines = "\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nX-One: a b\r\n"
                #expect(head.contains(lines + "X-Two: \r\n"))
                #expect(head.lowercased().components(of: "\r\nconnection:") == 1)
            }
        }
    }

    @Test
    func `delivers bytes that come in one packet with the answer`() async throws {
        try await withServer({ peer in
            _ = peer.readHead()
            peer.write(Peer.upgraded + "first")
            _ = peer.read()
        }) { server in
            try await withLoop { loop in
                let recorder = Recorder()
                let stream = recorder.connect(server.request(), on: loop)
                _ = try await recorder.opening()
                let bytes = try await recorder.bytes(5)
                #expect(bytes == Array("first".utf8))
                stream.abort()
            }
        }
    }

    @Test
    func `takes an answer that comes byte by byte`() async throws {
        try await withServer({ peer in
            _ = peer.readHead()
            for byte in (Peer.upgraded + "first").utf8 { peer.write([byte]) }
            _ = peer.read()
        }) { server in
            try await withLoop { loop in
                let recorder = Recorder()
                let stream = recorder.connect(server.request(), on: loop)
                _ = try await recorder.opening()
                let bytes = try await recorder.bytes(5)
                #expect(bytes == Array("first".utf8))
                stream.abort()
            }
        }
    }

    @Test
    func `keeps what is written before it is open, and sends nothing until then`() async throws {
        try await withServer({ peer in
            _ = peer.readHead()
            peer.write(Peer.upgraded)
            peer.write(peer.read(5))
            _ = peer.read()
        }) { server in
            try await withLoop { loop in
                let recorder = Recorder()
                let stream = recorder.connect(server.request(), on: loop)
                #expect(stream.pendingBytes(afterWriting: { $0 += "early".utf8 }) == 5)
                let bytes = try await recorder.bytes(5)
                #expect(bytes == Array("early".utf8))
                stream.abort()
            }
        }
    }

    @Test
    func `carries 16 MiB both ways intact, in large reads`() async throws {
        try await withServer(Self.echo) { server in
            try await withLoop { loop in
                let size = 16 << 20
                let sent = pattern(size)
                let recorder = Recorder()
                let stream = recorder.connect(server.request(), on: loop)
                _ = try await recorder.opening()
                #expect((stream.pendingBytes(afterWriting: { $0 += sent }) ?? 0) >= size)
                var (bytes, largest) = ([UInt8](), 0)
                for await event in recorder.events {
                    switch event {
                    case .received(let more):
                        bytes += more
                        largest = max(largest, more.count)
                    case .opened, .writable: ()
                    case .closed(let reason): throw reason
                    }
                    if bytes.count >= size { break }
                }
                #expect(bytes == sent)
                #expect(largest > 32 * 1024)
                #expect(stream.pendingBytes == 0)
                stream.abort()
            }
        }
    }

    @Test
    func `goes on when the peer reads slowly, and tells of the drain once the mark is reached`() async throws {
        let size = 24 << 20
        let (results, found) = AsyncStream.makeStream(of: Bool.self)
        let (starts, start) = Gate.make()
        try await withServer({ peer in
            peer.upgrade()
            starts.wait()
            var bytes: [UInt8] = []
            while bytes.count < size {
                let more = peer.read(1 << 16)
                guard !more.isEmpty else { break }
                bytes += more
            }
            found.yield(bytes == pattern(size))
        }) { server in
            try await withLoop { loop in
                let marks = Lock<[Int]>([])
                let recorder = Recorder { event, stream in
                    if case .writable = event, let stream { marks.withLock { $0.append(stream.pendingBytes) } }
                }
                var request = server.request()
                request.lowWaterMark = 1000
                let stream = recorder.connect(request, on: loop)
                _ = try await recorder.opening()
                let bytes = pattern(size)
                #expect(stream.pendingBytes(afterWriting: { $0 += bytes }) ?? 0 == size)
                #expect(stream.pendingBytes > 0)
                start.open()
                for await event in recorder.events { if case .writable = event { break } }
                #expect(await results.first { _ in true } == true)
                #expect(marks.withLock { $0 } == [0])
                stream.abort()
            }
        }
    }

    @Test
    func `keeps each write of four threads in one piece and in its thread's order`() async throws {
        let (writes, size) = (2_000, 100)
        try await withServer(Self.echo) { server in
            try await withLoop { loop in
                let recorder = Recorder()
                let stream = recorder.connect(server.request(), on: loop)
                _ = try await recorder.opening()
                for thread in UInt8(0)..<4 {
                    let isStarted = spawn {
                        for number in 0..<writes {
                            let mark = [thread, UInt8(number >> 8), UInt8(number & 0xFF)]
                            _ = stream.write { $0 += mark + repeatElement(thread, count: size - 3) }
                        }
                    }
                    #expect(isStarted)
                }
                let bytes = try await recorder.bytes(4 * writes * size)
                var next = [0, 0, 0, 0]
                for start in stride(from: 0, to: bytes.count, by: size) {
                    let thread = Int(bytes[start])
                    try #require(thread < 4)
                    #expect(Int(bytes[start + 1]) << 8 | Int(bytes[start + 2]) == next[thread])
                    #expect(bytes[(start + 3)..<(start + size)].allSatisfy { $0 == UInt8(thread) })
                    next[thread] += 1
                }
                #expect(next == [writes, writes, writes, writes])
                stream.abort()
            }
        }
    }

    @Test
    func `delivers nothing while reading is paused, and everything once it is resumed`() async throws {
        let size = 8 << 20
        try await withServer({ peer in
            peer.upgrade()
            peer.write(pattern(size))
            _ = peer.read()
        }) { server in
            try await withLoop { loop in
                let isPaused = Lock(false)
                let violations = Lock(0)
                let recorder = Recorder { event, stream in
                    guard case .received = event else { return }
                    if isPaused.withLock({ $0 }) { violations.withLock { $0 += 1 } }
                    isPaused.withLock { $0 = true }
                    stream?.setReadingPaused(true)
                }
                let stream = recorder.connect(server.request(), on: loop)
                var bytes: [UInt8] = []
                while bytes.count < size {
                    bytes += try await recorder.bytes(1)
                    // Several turns of the loop while paused, each a chance to deliver what must not be delivered.
                    for _ in 0..<4 { await hop(loop) }
                    isPaused.withLock { $0 = false }
                    stream.setReadingPaused(false)
                }
                #expect(bytes == pattern(size))
                #expect(violations.withLock { $0 } == 0)
                stream.abort()
            }
        }
    }

    @Test
    func `finishing sends what is waiting, and then takes no more`() async throws {
        let size = 4 << 20
        let (results, found) = AsyncStream.makeStream(of: Bool.self)
        try await withServer({ peer in
            peer.upgrade()
            found.yield(peer.readAll() == pattern(size))
        }) { server in
            try await withLoop { loop in
                let recorder = Recorder()
                let stream = recorder.connect(server.request(), on: loop)
                _ = try await recorder.opening()
                let bytes = pattern(size)
                stream.write { $0 += bytes }
                stream.finish()
                #expect(stream.write { $0.append(0) } == .refused)
                #expect(await recorder.ending().code == .closedByUs)
                #expect(await results.first { _ in true } == true)
                #expect(stream.write { $0.append(0) } == .refused)
                #expect(stream.pendingBytes == 0)
            }
        }
    }

    @Test
    func `finishing loses nothing to a peer that is still sending`() async throws {
        let size = 1 << 20
        let (results, found) = AsyncStream.makeStream(of: Bool.self)
        try await withServer({ peer in
            peer.upgrade()
            // Never read by the other side, which is to end without resetting the connection.
            peer.write(pattern(64))
            var bytes: [UInt8] = []
            while true {
                let more = peer.read(1 << 14)
                guard !more.isEmpty else { break }
                bytes += more
                peer.write([1])
            }
            found.yield(bytes == pattern(size))
        }) { server in
            try await withLoop { loop in
                let recorder = Recorder()
                let stream = recorder.connect(server.request(), on: loop)
                _ = try await recorder.opening()
                let bytes = pattern(size)
                stream.write { $0 += bytes }
                stream.finish()
                #expect(await recorder.ending().code == .closedByUs)
                #expect(await results.first { _ in true } == true)
            }
        }
    }

    @Test
    func `finishing stops reading from an endless peer, which has received everything`() async throws {
        let (results, found) = AsyncStream.makeStream(of: [UInt8].self)
        let taken = Lock(0)
        try await withServer({ peer in
            peer.upgrade()
            let farewell = peer.read(16)
            while peer.write(pattern(1 << 16)) { taken.withLock { $0 += 1 << 16 } }
            found.yield(farewell)
        }) { server in
            try await withLoop { loop in
                let recorder = Recorder()
                let stream = recorder.connect(server.request(), on: loop)
                _ = try await recorder.opening()
                stream.write { $0 += [1, 2, 3] }
                stream.finish(readingAtMost: 1 << 20)
                #expect(await recorder.ending().code == .closedByUs)
                #expect(await results.first { _ in true } == [1, 2, 3])
            }
        }
        // What both systems buffer comes on top of the limit.
        #expect(taken.withLock { $0 } < 64 << 20, "the deadline ended it")
    }

    @Test
    func `gives up finishing after its own deadline when the peer does not read`() async throws {
        let (holds, hold) = Gate.make()
        defer { hold.open() }
        try await withServer({ peer in
            peer.upgrade()
            holds.wait()
        }) { server in
            try await withLoop { loop in
                let recorder = Recorder()
                let stream = recorder.connect(server.request(), on: loop)
                _ = try await recorder.opening()
                stream.write { $0 += pattern(24 << 20) }
                stream.finish()
                #expect(await recorder.ending().code == .timedOut)
            }
            hold.open()
        }
    }

    @Test
    func `ends as closed by the peer when the peer hangs up, after all that it sent`() async throws {
        let size = 3 << 20
        try await withServer({ peer in
            peer.upgrade()
            peer.write(pattern(size))
        }) { server in
            try await withLoop { loop in
                let recorder = Recorder()
                let stream = recorder.connect(server.request(), on: loop)
                let bytes = try await recorder.bytes(size)
                #expect(bytes == pattern(size))
                #expect(await recorder.ending().code == .closedByPeer)
                #expect(stream.write { $0.append(0) } == .refused)
            }
        }
    }
}
