internal import LinkspanLWS
internal import LinkspanLock
internal import Testing

@Suite
struct ListenerTests {
    @Test("what is written to an accepted stream arrives, both ways, however much it is", .timeLimit(.minutes(1)))
    func echo() async throws {
        let server = EventLoop(name: "server")
        defer { server.shutdown() }
        let listener = try await server.listen { EchoHandler($0) }
        let exchange = try await Exchange.post([UInt8](repeating: 7, count: 3 << 20), to: listener.port)
        #expect(exchange.count > 3 << 20)
    }

    @Test("a port that is taken is an error, and is had again once its listener is closed", .timeLimit(.minutes(1)))
    func taken() async throws {
        let loop = EventLoop(name: "server")
        defer { loop.shutdown() }
        let first = try await loop.listen { _ in nil }
        await #expect(throws: ByteStreamError.self) { try await loop.listen(port: first.port) { _ in nil } }
        await first.close()
        let second = try await loop.listen(port: first.port) { _ in nil }
        #expect(second.port == first.port)
        await second.close()
        await second.close()
    }

    @Test("an address that is none, and a loop that has ended, are errors", .timeLimit(.minutes(1)))
    func impossible() async throws {
        let loop = EventLoop(name: "server")
        let error = await #expect(throws: ByteStreamError.self) {
            try await loop.listen(address: "nowhere") { _ in nil }
        }
        #expect(error?.code == .unlistenable)
        loop.shutdown()
        let late = await #expect(throws: ByteStreamError.self) { try await loop.listen { _ in nil } }
        #expect(late?.code == .loopStopped)
    }

    @Test("the end of the loop closes the port and every accepted stream", .timeLimit(.minutes(1)))
    func end() async throws {
        let loop = EventLoop(name: "server")
        let listener = try await loop.listen { EchoHandler($0) }
        let port = listener.port
        loop.shutdown()
        let next = EventLoop(name: "next")
        defer { next.shutdown() }
        let again = try await next.listen(port: port) { _ in nil }
        #expect(again.port == port)
    }
}
