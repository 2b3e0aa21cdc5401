import LinkspanBackEnds
import LinkspanNetwork
import LinkspanRuntime
import TestedBackEnds
import Testing

/// RFC 8305: the addresses of a name are dialed beside each other, a quarter of a second apart.
@Suite("The addresses of a name", .timeLimit(.minutes(1)))
struct RaceTests {
    private static func wrong(_ why: Comment) { Issue.record(why) }

    private static let stagger = StreamStateMachine.attemptDelay

    // MARK: Decisions

    @Test
    func `are dialed by turns of the families, beginning with that of the first`() {
        var machine = StreamStateMachine()
        var dialed: [String] = []
        var action = machine.resolved(.success(["::1", "::2", "::3", "127.0.0.1", "127.0.0.2"]))
        while case .dial(let address, let others) = action {
            dialed.append(address)
            #expect(others == 5 - dialed.count)
            action = machine.failed(.connect("refused"))
        }
        #expect(dialed == ["::1", "127.0.0.1", "::2", "127.0.0.2", "::3"])
        guard case .end(let error) = action else { return Self.wrong("it did not end") }
        #expect(error.code == .unreachable)
        #expect(error.message == "the server cannot be reached (refused)")
    }

    @Test
    func `that were dialed before are waited for when the last one fails`() {
        var machine = StreamStateMachine()
        _ = machine.resolved(.success(["127.0.0.1", "127.0.0.2"]))
        guard case .dial("127.0.0.2", others: 0) = machine.attemptDelayPassed() else {
            return Self.wrong("the second was not dialed")
        }
        guard case .ignore = machine.attemptDelayPassed() else { return Self.wrong("there is no third") }
        guard case .ignore = machine.failed(.connect("no route")) else { return Self.wrong("one is left") }
        guard case .end(let error) = machine.failed(.connect("refused")) else { return Self.wrong("none is left") }
        #expect(error.message == "the server cannot be reached (refused)")
    }

    @Test
    func `are left alone once one has answered, and are tried again if that hangs up`() {
        var machine = StreamStateMachine()
        _ = machine.resolved(.success(["127.0.0.1", "127.0.0.2", "127.0.0.3"]))
        _ = machine.attemptDelayPassed()
        machine.reached()
        guard case .ignore = machine.attemptDelayPassed() else { return Self.wrong("the race is over") }
        guard case .dial("127.0.0.3", others: 0) = machine.failed(.hangUp) else {
            return Self.wrong("the third is left")
        }
    }

    // MARK: Over sockets

    private func withHoles<Result>(
        _ addresses: [String], _ body: (LoopbackServer, [BlackHole]) async throws -> Result
    ) async throws -> Result {
        let server = try LoopbackServer { EchoTests.echo($0) }
        defer { server.stop() }
        let holes = try addresses.map { try BlackHole($0, port: server.port) }
        defer { for hole in holes { hole.stop() } }
        return try await body(server, holes)
    }

    private func withLoop<Result>(
        over addresses: [String], _ body: (any NetworkLoop) async throws -> Result
    ) async throws -> Result {
        let loop = makeLoop(name: "test-race", resolver: Resolver { _, _ in .success(addresses) })
        return try await ByteStreamTests.withLoop(loop) { loop in
            await hop(loop)
            return try await body(loop)
        }
    }

    private func request(_ port: Int, deadline: Duration = .seconds(30)) -> StreamRequest {
        StreamRequest(host: "many.example", port: port, isSecure: false, deadline: deadline)
    }

    @Test(.overEachBackEnd)
    func `are dialed a quarter of a second apart while none answers, and the losers' sockets are closed`() async throws
    {
        try await self.withHoles(["127.0.0.2", "127.0.0.3"]) { server, _ in
            try await self.withLoop(over: ["127.0.0.2", "127.0.0.3", "127.0.0.1"]) { loop in
                try await ProcessCounts.openTimers()
                let descriptors = ProcessCounts.descriptors
                // One that has to give up an address before it dials the next is not through at the request's deadline.
                let start = ContinuousClock.now
                let recorder = Recorder()
                let stream = recorder.connect(self.request(server.port), on: loop)
                _ = try await recorder.opening()
                let time = start.duration(to: .now)
                #expect(time >= Self.stagger * 2)
                #expect(server.acceptedCount == 1)
                // This side's socket and the server's.
                #expect(ProcessCounts.descriptors <= descriptors + 2)
                stream.write { $0 += pattern(100_000) }
                #expect(try await recorder.bytes(100_000) == pattern(100_000))
                stream.abort()
            }
        }
    }

    @Test(.overEachBackEnd)
    func `that were passed by go on, and may win`() async throws {
        try await self.withHoles(["127.0.0.2", "127.0.0.3"]) { server, holes in
            try await self.withLoop(over: ["127.0.0.2", "127.0.0.3"]) { loop in
                let recorder = Recorder()
                let stream = recorder.connect(self.request(server.port), on: loop)
                // When the second is dialed already, the first begins to answer: TCP asks again after a second.
                loop.schedule(at: .now + Self.stagger * 2) { #expect(holes[0].serve { EchoTests.echo($0) }) }
                _ = try await recorder.opening()
                stream.write { $0 += [1, 2, 3] }
                #expect(try await recorder.bytes(3) == [1, 2, 3])
                stream.abort()
            }
        }
    }

    @Test(.overEachBackEnd)
    func `of both families are raced`() async throws {
        let server = try LoopbackServer("::1") { EchoTests.echo($0) }
        defer { server.stop() }
        let hole = try BlackHole("127.0.0.2", port: server.port)
        defer { hole.stop() }
        try await self.withLoop(over: ["127.0.0.2", "127.0.0.3", "::1"]) { loop in
            let recorder = Recorder()
            let stream = recorder.connect(self.request(server.port), on: loop)
            _ = try await recorder.opening()
            #expect(server.acceptedCount == 1)
            stream.abort()
        }
    }

    @Test(.overEachBackEnd)
    func `that all fail are reported with the last reason`() async throws {
        let port = try unusedPort()
        try await self.withLoop(over: ["255.255.255.255", "127.0.0.3", "127.0.0.4"]) { loop in
            let recorder = Recorder()
            _ = recorder.connect(self.request(port), on: loop)
            let error = await recorder.ending()
            #expect(error.code == .unreachable)
            #expect(error.message == "the server cannot be reached (connection refused)", "\(error)")
        }
    }

    @Test(.overEachBackEnd)
    func `that never answer end with the deadline, and leave no descriptor`() async throws {
        try await self.withHoles(["127.0.0.2", "127.0.0.3", "127.0.0.4"]) { server, _ in
            try await self.withLoop(over: ["127.0.0.2", "127.0.0.3", "127.0.0.4"]) { loop in
                try await ProcessCounts.openTimers()
                let descriptors = ProcessCounts.descriptors
                let recorder = Recorder()
                _ = recorder.connect(self.request(server.port, deadline: Self.stagger * 3), on: loop)
                #expect(await recorder.ending() == ByteStreamError(timedOutIn: .connecting(.server)))
                await hop(loop)
                await hop(loop)
                #expect(ProcessCounts.descriptors <= descriptors)
            }
        }
    }

    @Test(.overEachBackEnd)
    func `that are being dialed leave no descriptor after an abort`() async throws {
        try await self.withHoles(["127.0.0.2", "127.0.0.3", "127.0.0.4"]) { server, _ in
            try await self.withLoop(over: ["127.0.0.2", "127.0.0.3", "127.0.0.4"]) { loop in
                try await ProcessCounts.openTimers()
                let descriptors = ProcessCounts.descriptors
                let recorder = Recorder()
                let stream = recorder.connect(self.request(server.port), on: loop)
                // The second attempt begins a stagger after the first, whenever that is.
                @Sendable func abortOnceBothDial() {
                    guard ProcessCounts.descriptors > descriptors + 1 else {
                        loop.schedule(at: .now + Self.stagger / 5) { abortOnceBothDial() }
                        return
                    }
                    stream.abort()
                }
                loop.execute { abortOnceBothDial() }
                #expect(await recorder.ending().code == .closedByUs)
                await hop(loop)
                await hop(loop)
                #expect(ProcessCounts.descriptors <= descriptors)
            }
        }
    }
}
