import Linkspan
import LinkspanBackEnds
import LinkspanNetwork
import LinkspanRuntime
import TestedBackEnds
import Testing

/// What every back end promises, with both ends of a stream on one loop.
@Suite("Every back end", .timeLimit(.minutes(2)))
struct ContractTests {
    /// The back ends of the package, and one that was written for this suite.
    enum Kind: Sendable, CustomStringConvertible {
        case package(NetworkBackEnd), turnByTurn, socketPair

        static var all: [Self] {
            let backEnds = NetworkBackEnd.builtIn
            return backEnds.map(Self.package) + (backEnds.contains(.nio) ? [.turnByTurn] : []) + [.socketPair]
        }

        var description: String {
            switch self {
            case .package(let backEnd): backEnd.rawValue
            case .turnByTurn: "nio, turn by turn"
            case .socketPair: "a pair of sockets"
            }
        }

        var loop: any NetworkLoop {
            switch self {
            case .package(let backEnd): backEnd.makeLoop(name: "contract", listens: true)
            case .turnByTurn: makeTurnByTurnLoop(name: "contract")
            case .socketPair: SocketPairLoop()
            }
        }

        /// Whether a stream is opened by an HTTP upgrade.
        var speaksHTTP: Bool { if case .socketPair = self { false } else { true } }
    }

    /// Runs `body` with a stream to a peer that echoes, or does what `serve` makes it do.
    private func withStream(
        _ kind: Kind, lowWaterMark: Int = 64 * 1024, _ recorder: Recorder = Recorder(),
        _ body: (Recorder, TestStream) async throws -> Void
    ) async throws {
        try await withLoop(kind.loop) { loop in
            let listener = try await loop.listen { EchoHandler($0, awaitsHead: kind.speaksHTTP) }
            var request = StreamRequest(host: "127.0.0.1", port: listener.port, isSecure: false)
            request.lowWaterMark = lowWaterMark
            let stream = recorder.connect(request, on: loop)
            let head = try await recorder.opening()
            #expect(head.status == 101)
            try await body(recorder, stream)
        }
    }

    @Test(arguments: Kind.all)
    func `carries 4 MiB both ways`(kind: Kind) async throws {
        try await self.withStream(kind) { recorder, stream in
            let bytes = pattern(4 << 20)
            #expect((stream.pendingBytes(afterWriting: { $0 += bytes }) ?? 0) >= bytes.count)
            let echoed = try await recorder.bytes(bytes.count)
            #expect(echoed == bytes)
            #expect(stream.pendingBytes == 0)
            stream.abort()
            #expect(await recorder.ending().code == .closedByUs)
            #expect(stream.write { $0 += [1] } == .refused)
        }
    }

    @Test(arguments: Kind.all)
    func `delivers nothing while reading is paused, and all of it afterwards`(kind: Kind) async throws {
        let (isPaused, violations) = (Lock(false), Lock(0))
        let recorder = Recorder { event, stream in
            guard case .received = event else { return }
            if isPaused.withLock({ $0 }) { violations.withLock { $0 += 1 } }
            isPaused.withLock { $0 = true }
            stream?.setReadingPaused(true)
        }
        try await self.withStream(kind, recorder) { recorder, stream in
            let sent = pattern(2 << 20)
            stream.write { $0 += sent }
            var bytes: [UInt8] = []
            while bytes.count < sent.count {
                bytes += try await recorder.bytes(1)
                for _ in 0..<4 { await hop(stream.loop) }
                isPaused.withLock { $0 = false }
                stream.setReadingPaused(false)
            }
            #expect(bytes == sent)
            #expect(violations.withLock { $0 } == 0)
        }
    }

    @Test(arguments: Kind.all)
    func `tells once that the low-water mark was reached`(kind: Kind) async throws {
        try await self.withStream(kind, lowWaterMark: 1_000) { recorder, stream in
            stream.write { $0 += pattern(8 << 20) }
            for await event in recorder.events { if case .writable = event { break } }
            #expect(stream.pendingBytes <= 1_000)
            stream.finish()
            #expect(stream.write { $0 += [1] } == .refused)
            #expect(await recorder.ending().code == .closedByUs)
        }
    }

    @Test(arguments: Kind.all)
    func `ends every stream at its end, and opens none after it`(kind: Kind) async throws {
        try await self.withStream(kind) { recorder, stream in
            let loop = stream.loop
            try await blocking { loop.shutdown() }
            #expect(await recorder.ending().code == .loopStopped)
            let late = Recorder()
            _ = late.connect(StreamRequest(host: "127.0.0.1", port: 1, isSecure: false), on: loop)
            #expect(await late.ending().code == .loopStopped)
        }
    }
}
