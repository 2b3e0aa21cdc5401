import LinkspanNetwork
import LinkspanRuntime
import TestedBackEnds
import Testing

/// Attempts that are ended at every moment of their life, thousands of times.
///
/// Run it under the sanitizers, too: `make sanitize` and `make sanitize SANITIZER=address`.
@Suite("Ending attempts at every moment", .timeLimit(.minutes(5)), .overEachBackEnd)
struct ChurnTests {
    /// When and how an attempt is ended by this side.
    private enum Moment: Int, CaseIterable, Sendable {
        case atOnce, afterHop, afterWhile, opened, received, writable, finishedAtOnce, finishedOpen, paused, byPeer
    }

    private static let attempts = 10_000
    private static let batch = 50

    /// What the plain server does with its connections, in turn: five ways to go wrong, and one to be right.
    private static func serve(_ number: Int, _ peer: Peer) {
        switch number % 6 {
        case 0: ()
        case 1: _ = peer.read()
        case 2:
            _ = peer.readHead()
            peer.write("HTTP/1.1 101 Swit")
        case 3:
            _ = peer.readHead()
            peer.write("HTTP/1.1 503 No\r\nContent-Length: 0\r\n\r\n")
        case 4:
            peer.upgrade()
            peer.write(pattern(20_000))
        default:
            peer.upgrade()
            peer.write([1])
            peer.echo()
        }
    }

    /// Begins an attempt and ends it at its moment.
    private static func attempt(
        _ number: Int, _ request: StreamRequest, on loop: any NetworkLoop, _ endings: Lock<[Int]>
    )
        -> Recorder
    {
        let moment = Moment.allCases[number / 6 % Moment.allCases.count]
        let recorder = Recorder { event, stream in
            switch (event, moment) {
            case (.opened, .opened), (.received, .received), (.writable, .writable): stream?.abort()
            case (.opened, .finishedOpen): stream?.finish()
            case (.opened, .paused):
                stream?.setReadingPaused(true)
                stream?.abort()
            case (.opened, .writable): stream?.write { $0 += pattern(1_000) }
            case (.closed, _): endings.withLock { $0[number] += 1 }
            default: ()
            }
        }
        let stream = recorder.connect(request, on: loop)
        switch moment {
        case .atOnce: stream.abort()
        case .finishedAtOnce: stream.finish()
        case .afterHop: loop.execute { stream.abort() }
        case .afterWhile:
            loop.schedule(at: .now + .microseconds(number % 97 * 40)) { stream.abort() }
        case .opened, .received, .writable, .finishedOpen, .paused, .byPeer:
            // A peer that goes on talking must not hold it up for long.
            loop.schedule(at: .now + .milliseconds(30)) { stream.abort() }
        }
        return recorder
    }

    /// Makes `count` attempts, a batch at a time; returns how often each was said to have ended.
    private static func run(_ count: Int, _ request: StreamRequest, on loop: any NetworkLoop) async -> [Int] {
        let endings = Lock([Int](repeating: 0, count: count))
        for start in stride(from: 0, to: count, by: Self.batch) {
            let recorders = (start..<min(start + Self.batch, count)).map {
                Self.attempt($0, request, on: loop, endings)
            }
            for recorder in recorders { _ = await recorder.ending() }
        }
        await hop(loop)
        return endings.withLock { $0 }
    }

    /// Descriptors and threads at the start.
    private static func counts() async throws -> (Int, Int) {
        try await ProcessCounts.openTimers()
        return (ProcessCounts.descriptors, ProcessCounts.threads)
    }

    /// Waits until as few descriptors and threads are left as there were, for 40 seconds at most; nobody tells of them.
    private static func settle(descriptors: Int, threads: Int) async throws {
        for _ in 0..<8_000 where ProcessCounts.descriptors > descriptors || ProcessCounts.threads > threads {
            try await Task.sleep(for: .milliseconds(5))
        }
        #expect(ProcessCounts.descriptors <= descriptors)
        #expect(ProcessCounts.threads <= threads)
    }

    @Test
    func `leaves no descriptor, no thread and no stream, and reports each ending once`() async throws {
        let before = try await Self.counts()
        let numbers = Lock(0)
        try await withServer({ peer in
            Self.serve(
                numbers.withLock {
                    $0 += 1; return $0
                }, peer)
        }) { server in
            let loop = makeLoop(name: "churn", idleLimit: .milliseconds(100))
            let endings = await Self.run(Self.attempts, server.request(), on: loop)
            #expect(endings.allSatisfy { $0 == 1 })
            loop.shutdown()
        }
        try await Self.settle(descriptors: before.0, threads: before.1)
    }

    @Test
    func `does so over TLS, also in the middle of the handshake`() async throws {
        let certificates = try await blocking { try Certificates() }
        let before = try await Self.counts()
        let server = try await blocking { try TLSServer(certificates, certificate: "good") }
        var request = StreamRequest(
            host: "127.0.0.1", port: server.port, isSecure: true,
            tls: TLSPolicy(roots: .file(certificates.authority), pins: [try certificates.digest("ca")]))
        let loop = makeLoop(name: "churn", idleLimit: .milliseconds(100))
        for hasPin in [true, false] {
            if !hasPin { request.tls.pins = [try certificates.digest("strange")] }
            let endings = await Self.run(Self.attempts / 20, request, on: loop)
            #expect(endings.allSatisfy { $0 == 1 })
        }
        loop.shutdown()
        server.stop()
        try await Self.settle(descriptors: before.0, threads: before.1)
    }

    @Test
    func `does so while names are looked up and addresses fail, and through a proxy`() async throws {
        let before = try await Self.counts()
        let proxy = try await blocking { try ProxyServer(.http, status: 403) }
        try await withServer({ peer in Self.serve(5, peer) }) { server in
            let resolver = Resolver { name, _ in
                name == "unknown.test"
                    ? .failure(ByteStreamError(.nameNotResolved, "no"))
                    : .success(["127.0.0.3", "127.0.0.2", "127.0.0.1"])
            }
            let loop = makeLoop(name: "churn", resolver: resolver, idleLimit: .milliseconds(100))
            for (host, proxyPort) in [("unknown.test", nil), ("known.test", nil), ("known.test", proxy.port)] {
                var request = server.request()
                request.host = host
                request.proxy = proxyPort.map { NetworkProxy(host: "127.0.0.1", port: $0) }
                let endings = await Self.run(Self.attempts / 20, request, on: loop)
                #expect(endings.allSatisfy { $0 == 1 })
            }
            loop.shutdown()
        }
        proxy.stop()
        try await Self.settle(descriptors: before.0, threads: before.1)
    }
}
