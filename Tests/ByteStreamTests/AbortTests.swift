import Linkspan
import LinkspanNetwork
import LinkspanRuntime
import TestedBackEnds
import Testing

@Suite("Aborting", .timeLimit(.minutes(1)), .overEachBackEnd)
struct AbortTests {
    private static let request = StreamRequest(host: "example.invalid", port: 80, isSecure: false)

    @Test
    func `ends an attempt in the same breath as it was begun`() async throws {
        try await withServer(EchoTests.echo) { server in
            try await withLoop { loop in
                let recorder = Recorder()
                let stream = recorder.connect(server.request(), on: loop)
                stream.abort()
                #expect(await recorder.ending().code == .closedByUs)
                #expect(stream.write { $0.append(1) } == .refused)
            }
        }
    }

    @Test
    func `ends an attempt while its name is looked up`() async throws {
        let (holds, hold) = Gate.make()
        defer { hold.open() }
        let (asked, ask) = AsyncStream.makeStream(of: Void.self)
        let resolver = Resolver { _, _ in
            ask.yield()
            holds.wait()
            return .success(["127.0.0.1"])
        }
        try await withLoop(makeLoop(name: "test", resolver: resolver)) { loop in
            let recorder = Recorder()
            let stream = recorder.connect(Self.request, on: loop)
            _ = await asked.first { true }
            stream.abort()
            #expect(await recorder.ending().code == .closedByUs)
        }
    }

    @Test
    func `ends an attempt while TCP is being set up`() async throws {
        let hole = try BlackHole()
        defer { hole.stop() }
        try await withLoop { loop in
            let recorder = Recorder()
            let stream = recorder.connect(
                StreamRequest(host: "127.0.0.1", port: hole.port, isSecure: false), on: loop)
            await hop(loop)
            stream.abort()
            #expect(await recorder.ending().code == .closedByUs)
        }
    }

    @Test(arguments: [false, true])
    func `ends an attempt while the answer is awaited, and closes the connection`(isSecure: Bool) async throws {
        let (moments, moment) = AsyncStream.makeStream(of: Bool.self)
        try await withServer({ peer in
            // The request, or the first message of TLS.
            moment.yield(!peer.read().isEmpty)
            _ = peer.readAll()
            moment.yield(true)
        }) { server in
            try await withLoop { loop in
                let recorder = Recorder()
                var request = server.request()
                request.isSecure = isSecure
                let stream = recorder.connect(request, on: loop)
                _ = await moments.first { _ in true }
                stream.abort()
                #expect(await recorder.ending().code == .closedByUs)
                #expect(await moments.first { _ in true } == true)
            }
        }
    }

    enum Moment: CaseIterable, Sendable { case opened, received, writable }

    @Test(arguments: Moment.allCases)
    func `ends a stream from within a callback; nothing follows but the end`(moment: Moment) async throws {
        try await withServer({ peer in
            peer.upgrade()
            peer.write(pattern(1 << 20))
            peer.echo()
        }) { server in
            try await withLoop { loop in
                let events = Lock<[Recorder.Event]>([])
                let recorder = Recorder { event, stream in
                    let isMoment =
                        switch (event, moment) {
                        case (.opened, .opened), (.received, .received), (.writable, .writable): true
                        default: false
                        }
                    let hasAborted = events.withLock { events in
                        if !events.isEmpty || isMoment { events.append(event) }
                        return events.count > 1
                    }
                    if isMoment, !hasAborted { stream?.abort() }
                }
                var request = server.request()
                request.lowWaterMark = 10
                let stream = recorder.connect(request, on: loop)
                stream.write { $0 += pattern(1000) }
                #expect(await recorder.ending().code == .closedByUs)
                await hop(loop)
                #expect(events.withLock { $0.count } == 2)
                guard case .closed = events.withLock({ $0.last }) else {
                    Issue.record("something followed the abort")
                    return
                }
            }
        }
    }

    @Test
    func `and finishing more than once ends a stream once`() async throws {
        try await withServer(EchoTests.echo) { server in
            try await withLoop { loop in
                let endings = Lock(0)
                let recorder = Recorder { event, stream in
                    guard case .closed = event else { return }
                    endings.withLock { $0 += 1 }
                    stream?.abort()
                }
                let stream = recorder.connect(server.request(), on: loop)
                _ = try await recorder.opening()
                stream.finish()
                stream.finish()
                stream.abort()
                stream.abort()
                #expect(await recorder.ending().code == .closedByUs)
                for _ in 0..<3 { await hop(loop) }
                #expect(endings.withLock { $0 } == 1)
            }
        }
    }

    @Test
    func `at any moment, from another thread, ends every stream exactly once`() async throws {
        try await withServer({ peer in
            peer.upgrade()
            peer.write(pattern(100_000))
            peer.echo()
        }) { server in
            try await withLoop { loop in
                for round in 0..<200 {
                    let endings = Lock(0)
                    let recorder = Recorder { event, stream in
                        if case .received = event { stream?.write { $0 += [1, 2, 3] } }
                        if case .closed = event { endings.withLock { $0 += 1 } }
                    }
                    let stream = recorder.connect(server.request(), on: loop)
                    let isStarted = spawn {
                        // Another moment in each round, from before the connection up to the midst of the bytes.
                        let moment = ContinuousClock.now + .microseconds(10 * round)
                        while ContinuousClock.now < moment {}
                        stream.abort()
                    }
                    #expect(isStarted)
                    #expect(await recorder.ending().code == .closedByUs)
                    await hop(loop)
                    #expect(endings.withLock { $0 } == 1)
                }
            }
        }
    }
}
