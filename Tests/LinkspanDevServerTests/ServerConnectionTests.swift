internal import Linkspan
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
        let configuration = DevServerConfiguration { $0.limits.maximumWaitingBytes = maximumWaitingBytes }
        let run = ServerRun(
            configuration, rules: try AccessRules(configuration), hubs: [:], faults: Lock(ServerFaults()),
            loop: loop)
        return loop.enter { run.makeConnection(over: stream) }
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

    // MARK: Expectations

    private static let goOn = "HTTP/1.1 100 Continue\r\n\r\n"

    /// The stream of a connection on which these bytes have come.
    private static func answer(to request: String) throws -> RecordingStream {
        let (loop, stream) = (ScriptedLoop { _, _ in }, RecordingStream())
        let connection = try Self.connection(over: stream, on: loop)
        loop.enter { connection.received(Array(request.utf8)) }
        return stream
    }

    @Test
    func `a client that waits with the body of a request is told once to send it`() throws {
        let (loop, stream) = (ScriptedLoop { _, _ in }, RecordingStream())
        let connection = try Self.connection(over: stream, on: loop)
        let head =
            "POST /socket.io/ HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\r\nExpect: 100-Continue\r\n\r\n"
        for part in [head, "bo"] {
            loop.enter { connection.received(Array(part.utf8)) }
            #expect(stream.text == Self.goOn)
        }
        // The end of the body, and a request that waits again.
        loop.enter { connection.received(Array("dy\(head)".utf8)) }
        #expect(stream.text.hasPrefix("\(Self.goOn)HTTP/1.1 400 "))
        #expect(stream.text.hasSuffix(Self.goOn))
        #expect(stream.text.split(separator: "100 Continue").count == 3)
        #expect(!stream.hasEnded)
    }

    @Test(arguments: [
        ("1.1", "Content-Length: 4", "body"), ("1.1", "Content-Length: 4", "b"), ("1.1", "Content-Length: 0", ""),
        ("1.0", "Content-Length: 4", ""),
    ])
    func `a client that does not wait with the body is not told to send it`(
        _ version: String, _ length: String, _ body: String
    ) throws {
        let fields = "Host: localhost\r\n\(length)\r\nExpect: 100-continue"
        let stream = try Self.answer(to: "POST /socket.io/ HTTP/\(version)\r\n\(fields)\r\n\r\n\(body)")
        #expect(!stream.text.contains("100 Continue"))
    }

    @Test(arguments: [
        ("/socket.io/", "Host: localhost\r\nContent-Length: 999999999", 413),
        ("/socket.io/", "Host: localhost\r\nTransfer-Encoding: chunked", 501),
        ("/socket.io/", "Host: evil.example\r\nContent-Length: 4", 403),
        ("/socket.io/", "Host: localhost\r\nOrigin: https://evil.example\r\nContent-Length: 4", 403),
        ("/socket.io/", "Content-Length: 4", 400), ("/any", "Host: localhost\r\nContent-Length: 4", 404),
    ])
    func `a request that is refused by its head is answered at once, without its body`(
        _ path: String, _ fields: String, _ status: Int
    ) throws {
        let stream = try Self.answer(to: "POST \(path) HTTP/1.1\r\n\(fields)\r\nExpect: 100-continue\r\n\r\n")
        #expect(stream.text.hasPrefix("HTTP/1.1 \(status) "))
        #expect(stream.text.contains("Connection: close\r\n"))
        #expect(stream.hasEnded)
    }
}

/// A stream whose peer takes nothing.
private final class CloggedStream: ByteStream {
    private(set) var pendingBytes = 0
    private(set) var answers = 0
    /// The answers after the end.
    private(set) var lateAnswers = 0
    private(set) var hasEnded = false

    func write(_ fill: (inout [UInt8]) -> Void) -> SendAcceptance {
        guard !self.hasEnded else {
            self.lateAnswers += 1
            return .refused
        }
        var bytes: [UInt8] = []
        fill(&bytes)
        self.answers += 1
        self.pendingBytes += bytes.count
        return .accepted
    }

    func finish(readingAtMost limit: Int) { self.hasEnded = true }

    func abort() { self.hasEnded = true }

    func setReadingPaused(_ isPaused: Bool) {}
}
