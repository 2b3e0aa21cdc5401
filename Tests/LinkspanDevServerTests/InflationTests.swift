internal import TestSupport
internal import Linkspan
internal import LinkspanNetwork
internal import LinkspanRuntime
internal import LinkspanWebSocketProtocol
internal import TestedBackEnds
internal import Testing

@testable import LinkspanDevServer

/// A server whose compressed messages are a thousand times as large as what it sends.
@Suite(.timeLimit(.minutes(1)), .overEachBackEnd)
struct InflationTests {
    /// The inflation of one connection, by the turns in which it does.
    private final class Recorder: WebSocketChannelHandler {
        let turns = Journal<Int>("turns")
        let ends = Journal<WebSocketEnd>("the end")

        func opened(_ head: ResponseHead, subprotocol: String?) {}
        func received(_ next: () -> WebSocketMessage?) {
            var sum = 0
            while let message = next() {
                switch message {
                case .text(let bytes), .binary(let bytes): sum += bytes.count
                }
            }
            self.turns.append(sum)
        }
        func writable() {}
        func closed(_ end: WebSocketEnd) { self.ends.append(end) }
    }

    @Test
    func `messages of one read are delivered in turns of a megabyte, whole and in order, then the end`() async throws {
        let loop = makeLoop(name: "inflation", listens: true)
        defer { loop.shutdown() }
        let port = await loop.perform {
            (try? loop.listen(ListenRequest()) { Compressing($0) })?.port ?? 0
        }
        let recorder = Confined(Recorder(), to: loop)
        let journals = await loop.perform { () -> (Journal<Int>, Journal<WebSocketEnd>) in
            let upgrade = StreamRequest(host: "127.0.0.1", port: port, isSecure: false)
            _ = WebSocketChannel(upgrade, compression: .init(), on: loop, handler: recorder.value)
            return (recorder.value.turns, recorder.value.ends)
        }
        let end = try await journals.1.first(1)[0]
        guard case .closed(let event) = end else {
            Issue.record("\(end)")
            return
        }
        #expect(event.code == .normal)
        let turns = journals.0.entries
        #expect(turns.reduce(0, +) == 500 * 60 << 10)
        #expect(turns.allSatisfy { $0 <= (1 << 20) + (60 << 10) })
    }

    @Test(arguments: [1, 2, 8])
    func `the pause behind a message grows with it`(megabytes: Int) throws {
        var wire = try Wire()
        var bytes = wire.message(megabytes << 20)
        // The next one shows that there is something to wait for.
        bytes += wire.message(0)
        let pauses = wire.say(bytes)
        #expect(wire.recorder.turns.entries == [megabytes << 20])
        #expect(pauses.count == 1)
        #expect(pauses.allSatisfy { $0.contains(.milliseconds(5 * megabytes)) })
    }

    @Test(arguments: [1, 2, 8])
    func `the pause behind a message that lacks its last byte grows with it`(megabytes: Int) throws {
        var wire = try Wire()
        let bytes = wire.message(megabytes << 20 + Wire.rest)
        let pauses = wire.say(bytes.dropLast())
        #expect(wire.recorder.turns.entries.isEmpty)
        #expect(pauses.count == 1)
        #expect(pauses.allSatisfy { $0.contains(.milliseconds(5 * megabytes)) })
        wire.say(bytes.suffix(1))
        #expect(wire.recorder.turns.entries.isEmpty, "the last byte waits for the end of the pause")
        wire.loop.fireTimers()
        #expect(wire.recorder.turns.entries == [megabytes << 20 + Wire.rest])
    }

    @Test
    func `messages that are cut before their last bytes are paused for like others`() throws {
        var wire = try Wire()
        let (count, size) = (20, 2 << 20 + Wire.rest)
        var (tail, sum): ([UInt8], Duration) = ([], .zero)
        for _ in 0..<count {
            let bytes = wire.message(size)
            let pauses = wire.say(tail + bytes.dropLast())
            #expect(pauses.count == 1)
            for pause in pauses { sum += pause.upperBound }
            tail = [UInt8](bytes.suffix(1))
            wire.loop.fireTimers()
        }
        wire.say(tail)
        #expect(wire.recorder.turns.entries.reduce(0, +) == count * size)
        #expect(sum >= .milliseconds(5 * ((count * size) >> 20)))
        #expect(wire.recorder.ends.entries.isEmpty)
    }

    /// A channel that has agreed to compression, and its server.
    private struct Wire {
        /// More than the last byte of a compressed message makes, and less than what a pause is made for.
        static let rest = 4 << 10

        let loop: ScriptedLoop
        let recorder = Recorder()
        private let stream: ScriptedStream
        private var session: WebSocketSession

        init() throws {
            var server: (session: WebSocketSession, stream: ScriptedStream)?
            let loop = ScriptedLoop { request, stream in
                server = (try? stream.upgrade(request)).map { ($0, stream) }
            }
            let upgrade = StreamRequest(host: "server", port: 80, isSecure: false)
            let recorder = self.recorder
            loop.enter { _ = WebSocketChannel(upgrade, compression: .init(), on: loop, handler: recorder) }
            loop.run()
            (self.session, self.stream) = try #require(server)
            self.loop = loop
        }

        /// The bytes of the server's next message, of so many zeros.
        mutating func message(_ size: Int) -> [UInt8] {
            var bytes: [UInt8] = []
            _ = self.session.send(.binary, payload: [UInt8](repeating: 0, count: size)[...], into: &bytes)
            return bytes
        }

        /// Has the server say something.
        ///
        /// - Returns: the pauses for which the channel has set a timer since, each as what it was at least and at most.
        @discardableResult
        func say(_ bytes: some Collection<UInt8>) -> [ClosedRange<Duration>] {
            let (bytes, former, start) = (Array(bytes), Set(self.loop.timerInstants), ContinuousClock.now)
            self.loop.enter { self.stream.say(bytes) }
            let end = ContinuousClock.now
            // The watch over an unfinished message has a timer of half a minute.
            return self.loop.timerInstants.filter { !former.contains($0) && $0 < end + .seconds(20) }
                .map { (end.duration(to: $0))...(start.duration(to: $0)) }
        }
    }
}

/// Agrees to compression, and sends 500 messages of 60 KiB in some 40 KiB, a Close frame, and the end of the stream.
private final class Compressing: ByteStreamHandler {
    private let stream: any ByteStream
    private var parser = HTTPRequestParser(bodyBytes: 1 << 20)

    init(_ stream: any ByteStream) { self.stream = stream }

    func opened(_ head: ResponseHead) {}
    func readTurnEnded() {}
    func writable() {}
    func closed(_ reason: ByteStreamError) {}

    func received(_ bytes: [UInt8]) {
        self.parser.receive(bytes)
        guard let request = try? self.parser.next(),
            let answer = try? ServerHandshake().accept(method: request.method, headers: request.values)
        else { return }
        var session = WebSocketSession(role: .server, compression: CompressionAgreement(.init()))
        var output: [UInt8] = []
        let fields = answer.headers + [("Sec-WebSocket-Extensions", "permessage-deflate")]
        HTTPResponse(status: answer.status, fields: fields).append(to: &output, isPersistent: true)
        let zeros = [UInt8](repeating: 0, count: 60 << 10)
        for _ in 0..<500 { _ = session.send(.binary, payload: zeros[...], into: &output) }
        _ = session.close(.normal, reason: "", into: &output)
        self.stream.write { $0 += output }
        // The end of the stream comes before all has been decompressed.
        self.stream.finish()
    }
}
