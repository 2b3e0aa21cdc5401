import LinkspanNetwork
import LinkspanRuntime
import TestedBackEnds
import Testing

#if LWS
import LinkspanLWS
#endif

@Suite("Many streams and great messages", .timeLimit(.minutes(5)), .overEachBackEnd)
struct ScaleTests {
    /// Notes how many streams are open, got an answer, have ended; keeps no bytes.
    private final class Tally: ByteStreamHandler, Sendable {
        struct Counts: Sendable { var (opened, received, closed) = (0, 0, 0) }

        let counts: Lock<Counts>
        let changes: AsyncStream<Counts>
        private let change: AsyncStream<Counts>.Continuation

        init() {
            self.counts = Lock(Counts())
            (self.changes, self.change) = AsyncStream.makeStream(of: Counts.self, bufferingPolicy: .bufferingNewest(1))
        }

        func opened(_ head: ResponseHead) { self.note { $0.opened += 1 } }
        func received(_ bytes: [UInt8]) { self.note { $0.received += bytes.count } }
        func writable() {}
        func closed(_ reason: ByteStreamError) { self.note { $0.closed += 1 } }

        private func note(_ change: (inout Counts) -> Void) {
            self.change.yield(
                self.counts.withLock { counts in
                    change(&counts)
                    return counts
                })
        }

        func wait(_ isDone: (Counts) -> Bool) async {
            for await counts in self.changes where isDone(counts) { return }
        }
    }

    @Test
    func `5,000 streams at a time on one loop, each with its echo`() async throws {
        // Those of the loop and the test come on top.
        let limit = descriptorLimit()
        let count = min(5_000, limit - 500)
        try #require(count >= 1_000, "too few descriptors: \(limit)")
        let server = try EchoProcess()
        defer { server.stop() }
        let before = ProcessCounts.memory
        try await withLoop { loop in
            let tally = Tally()
            var streams: [TestStream] = []
            let request = StreamRequest(host: "127.0.0.1", port: server.port, isSecure: false)
            // As many at a time as a server's queue holds.
            for start in stride(from: 0, to: count, by: 250) {
                let end = min(start + 250, count)
                streams += (start..<end).map { _ in loop.connect(request, tally) }
                await tally.wait { $0.opened == end }
            }
            for stream in streams { stream.write { $0 += [7] } }
            await tally.wait { $0.received == count }
            #expect(tally.counts.withLock { $0.closed } == 0)
            let each = (ProcessCounts.memory - before) / count
            #expect(each < 64 * 1024, "\(each) bytes for each stream")
            for stream in streams { stream.finish() }
            await tally.wait { $0.closed == count }
        }
    }

    #if LWS
    @Test(arguments: [false, true])
    func `idle ones are not looked at when another has something to do, over TLS neither`(isSecure: Bool) async throws {
        let certificates = try await blocking { try Certificates() }
        let plain = try EchoProcess()
        let secure = try await blocking { try TLSServer(certificates, certificate: "good") }
        defer {
            plain.stop()
            secure.stop()
        }
        let request = StreamRequest(
            host: "127.0.0.1", port: isSecure ? secure.port : plain.port, isSecure: isSecure,
            tls: TLSPolicy(roots: .file(certificates.authority)))
        try await withLoop(EventLoop(name: "idle")) { loop in
            guard let loop = loop as? EventLoop else { return }
            let idle = Tally()
            let recorder = Recorder()
            let busy = recorder.connect(request, on: loop)
            _ = try await recorder.opening()
            var (opened, looks) = (0, [Int]())
            for count in [10, 100] {
                for _ in opened..<count { _ = loop.connect(request, idle) }
                opened = count
                await idle.wait { $0.opened == count }
                // Until the library has closed what it had of them.
                for _ in 0..<10_000 where loop.sync({ loop.openerCount }) > 0 {
                    await hop(loop)
                }
                let before = loop.sync { loop.lookCount }
                for _ in 0..<50 {
                    busy.write { $0 += [7] }
                    #expect(try await recorder.bytes(1) == [7])
                }
                looks.append(loop.sync { loop.lookCount } - before)
            }
            // One each; TLS may need another for what is no data.
            #expect(looks.allSatisfy { (50...150).contains($0) }, "\(looks) descriptors were looked at for 50 echoes")
        }
    }
    #endif

    @Test
    func `on several loops at once do not know of each other`() async throws {
        let server = try EchoProcess()
        defer { server.stop() }
        let request = StreamRequest(host: "127.0.0.1", port: server.port, isSecure: false)
        try await withThrowingDiscardingTaskGroup { group in
            for number in 0..<4 {
                group.addTask {
                    try await withLoop(makeLoop(name: "test-loop")) { loop in
                        for _ in 0..<10 {
                            let recorder = Recorder()
                            let stream = recorder.connect(request, on: loop)
                            let sent = [UInt8](repeating: UInt8(number), count: 200_000)
                            stream.write { $0 += sent }
                            let received = try await recorder.bytes(sent.count)
                            #expect(received == sent)
                            stream.abort()
                        }
                    }
                }
            }
        }
    }

    @Test
    func `16 MiB, both ways, take no more memory than a few times that, however often`() async throws {
        let size = 16 << 20
        let server = try EchoProcess()
        defer { server.stop() }
        let before = ProcessCounts.memory
        try await withLoop { loop in
            let tally = Tally()
            let stream = loop.connect(StreamRequest(host: "127.0.0.1", port: server.port, isSecure: false), tally)
            for round in 1...20 {
                stream.write { $0 += pattern(size) }
                await tally.wait { $0.received == round * size }
            }
            let grown = ProcessCounts.memory - before
            // The address sanitizer keeps what was freed for a while.
            #expect(grown < 16 * size, "\(grown >> 20) MiB after 320 MiB each way")
            stream.abort()
        }
    }
}
