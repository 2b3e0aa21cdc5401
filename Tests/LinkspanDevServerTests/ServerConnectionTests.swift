internal import LinkspanNetwork
internal import LinkspanRuntime
internal import Testing

@testable import LinkspanDevServer

@Suite
struct ServerConnectionTests {
    private static let requests = Array(
        String(repeating: "GET /nothing HTTP/1.1\r\nHost: localhost\r\n\r\n", count: 1_000).utf8)

    /// A connection over a stream, on a loop that only a test moves.
    private static func connection(
        over stream: any ByteStream, on loop: ScriptedLoop, maximumWaitingBytes: Int = 10_000
    ) throws -> ServerConnection {
        let configuration = DevServer.Configuration { $0.maximumWaitingBytes = maximumWaitingBytes }
        let run = ServerRun(
            configuration, rules: try AccessRules(configuration), hubs: [:], condition: ServerCondition(port: 0),
            loop: loop)
        return loop.enter { ServerConnection(stream: stream, run: run) }
    }

    @Test
    func `the requests behind the answer that ends a connection are not served`() throws {
        let (loop, stream) = (ScriptedLoop { _, _ in }, CloggedStream())
        let connection = try Self.connection(over: stream, on: loop)
        loop.enter { connection.received(Self.requests) }
        #expect(stream.hasEnded)
        #expect((2..<1_000).contains(stream.answers))
        #expect(stream.lateAnswers == 0)
    }

    @Test
    func `of the requests on a stream that has ended one is served, whose answer tells the end`() throws {
        let (loop, stream) = (ScriptedLoop { _, _ in }, CloggedStream())
        let connection = try Self.connection(over: stream, on: loop)
        stream.abort()
        loop.enter { connection.received(Self.requests) }
        #expect(stream.answers == 0)
        #expect(stream.lateAnswers == 1)
    }

    @Test
    func `a connection that was aborted serves nothing`() throws {
        let (loop, stream) = (ScriptedLoop { _, _ in }, CloggedStream())
        let connection = try Self.connection(over: stream, on: loop)
        loop.enter {
            connection.drop()
            connection.received(Self.requests)
        }
        #expect(stream.hasEnded)
        #expect(stream.lateAnswers == 0)
    }
}

/// A stream whose peer takes nothing.
private final class CloggedStream: ByteStream {
    private(set) var pendingBytes = 0
    private(set) var answers = 0
    /// The answers after the end.
    private(set) var lateAnswers = 0
    private(set) var hasEnded = false

    func write(_ fill: (inout [UInt8]) -> Void) -> Int? {
        guard !self.hasEnded else {
            self.lateAnswers += 1
            return nil
        }
        var bytes: [UInt8] = []
        fill(&bytes)
        self.answers += 1
        self.pendingBytes += bytes.count
        return self.pendingBytes
    }

    func finish(readingAtMost limit: Int) { self.hasEnded = true }

    func abort() { self.hasEnded = true }

    func setReadingPaused(_ isPaused: Bool) {}
}
