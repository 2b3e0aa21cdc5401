import LinkspanNetwork
import LinkspanRuntime
import TestedBackEnds
import Testing

@Suite(.overEachBackEnd)
struct ListenerTests {
    @Test(.timeLimit(.minutes(1)))
    func `bytes of any amount arrive both ways on an accepted stream`() async throws {
        try await withLoop(listens: true) { loop in
            let listener = try await loop.listen { EchoHandler($0) }
            let request = StreamRequest(host: "127.0.0.1", port: listener.port, isSecure: false)
            let recorder = Recorder()
            let stream = recorder.connect(request, on: loop)
            #expect(try await recorder.opening().status == 101)
            let bytes = (0..<(8 << 20)).map { UInt8(truncatingIfNeeded: $0 &* 31) }
            stream.write { $0 += bytes }
            #expect(try await recorder.bytes(bytes.count) == bytes)
            await listener.close()
            stream.write { $0 += [1] }
            #expect(try await recorder.bytes(1) == [1])
            stream.finish()
            #expect(await recorder.ending().code == .closedByUs)
        }
    }

    @Test(.timeLimit(.minutes(1)))
    func `what is written to a stream while it is accepted is sent`() async throws {
        try await withLoop(listens: true) { loop in
            let listener = try await loop.listen { stream in
                let answer = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"
                stream.write { $0 += answer.utf8 }
                return SilentHandler()
            }
            let recorder = Recorder()
            let request = StreamRequest(host: "127.0.0.1", port: listener.port, isSecure: false)
            let stream = recorder.connect(request, on: loop)
            #expect(try await recorder.opening().status == 101)
            stream.finish()
        }
    }

    @Test(.timeLimit(.minutes(1)))
    func `a connection without a handler is closed`() async throws {
        try await withLoop(listens: true) { loop in
            let listener = try await loop.listen { _ in nil }
            let recorder = Recorder()
            _ = recorder.connect(StreamRequest(host: "127.0.0.1", port: listener.port, isSecure: false), on: loop)
            #expect(await recorder.ending().code == .closedByPeer)
        }
    }

    @Test(.timeLimit(.minutes(1)))
    func `a port that is taken is an error, and is had again once its listener is closed`() async throws {
        let loop = makeLoop(name: "server", listens: true)
        defer { loop.shutdown() }
        let first = try await loop.listen { _ in nil }
        await #expect(throws: ByteStreamError.self) { try await loop.listen(port: first.port) { _ in nil } }
        await first.close()
        let second = try await loop.listen(port: first.port) { _ in nil }
        #expect(second.port == first.port)
        await second.close()
        await second.close()
    }

    @Test(.timeLimit(.minutes(1)))
    func `listening at an invalid address or on an ended loop throws`() async throws {
        let loop = makeLoop(name: "server", listens: true)
        let error = await #expect(throws: ByteStreamError.self) {
            try await loop.listen(address: "nowhere") { _ in nil }
        }
        #expect(error?.code == .unlistenable)
        loop.shutdown()
        let late = await #expect(throws: ByteStreamError.self) { try await loop.listen { _ in nil } }
        #expect(late?.code == .loopStopped)
    }

    @Test(.timeLimit(.minutes(1)))
    func `the end of the loop closes the port and every accepted stream`() async throws {
        let loop = makeLoop(name: "server", listens: true)
        let listener = try await loop.listen { EchoHandler($0) }
        let port = listener.port
        loop.shutdown()
        let next = makeLoop(name: "next", listens: true)
        defer { next.shutdown() }
        let again = try await next.listen(port: port) { _ in nil }
        #expect(again.port == port)
    }
}

/// Says nothing, whatever it hears.
private final class SilentHandler: ByteStreamHandler {
    func opened(_ head: ResponseHead) {}
    func received(_ bytes: [UInt8]) {}
    func writable() {}
    func closed(_ reason: ByteStreamError) {}
}

/// Answers the upgrade and then says what it hears; holds the peer up while too much waits.
final class EchoHandler: ByteStreamHandler {
    private let stream: any ByteStream
    /// The request so far; nil when it is complete.
    private var head: [UInt8]?

    init(_ stream: any ByteStream, awaitsHead: Bool = true) {
        self.stream = stream
        self.head = awaitsHead ? [] : nil
    }

    func opened(_ head: ResponseHead) {}
    func closed(_ reason: ByteStreamError) {}
    func writable() { self.stream.setReadingPaused(false) }

    func received(_ bytes: [UInt8]) {
        guard self.head != nil else {
            self.stream.write { $0 += bytes }
            if self.stream.pendingBytes > 1 << 20 { self.stream.setReadingPaused(true) }
            return
        }
        self.head?.append(contentsOf: bytes)
        guard self.head?.suffix(4) == [13, 10, 13, 10] else { return }
        self.head = nil
        let answer = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n"
        self.stream.write { $0 += answer.utf8 }
    }
}
