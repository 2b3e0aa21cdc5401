internal import Linkspan
internal import LinkspanDevServer
internal import LinkspanInMemory
internal import LinkspanTesting
internal import LinkspanWebSocket
internal import LinkspanNetwork
internal import TestedBackEnds
internal import Testing

/// Sequences that are read more slowly than the server sends, on every wire and in memory.
@Suite("A sequence that is full", .timeLimit(.minutes(2)), .overSomeBackEnd)
struct PauseTests {
    typealias Place = IdentityTests.Place

    private static let count = 2_000
    /// With it the numbers are more than sockets and reads hold; without it, and more of them, a sanitizer takes minutes.
    private static let pad = String(repeating: "x", count: 250)

    /// A hub that sends numbers when it is asked to, and then answers.
    private static func hub() -> InMemoryHub {
        let hub = InMemoryHub.echo()
        hub.onConnect { peer in
            peer.on("count") { message in
                for number in 0..<Self.count {
                    peer.emit("number", Payload(trustedElements: Array("\(number),\"\(Self.pad)\"".utf8)[...]))
                }
                message.reply(.empty)
            }
            peer.on("blobs") { _ in
                let blob = Payload(trustedElements: [], attachments: [Array(repeating: 0, count: 100_000)[...]])
                for _ in 0..<300 { peer.emit("blob", blob) }
            }
            peer.on("ask") { $0.reply(.empty) }
        }
        return hub
    }

    private static func run(
        _ place: Place, _ body: (ConnectionHandler) async throws -> Void
    ) async throws {
        // A server that waits for as long as this machine may be busy.
        let patient = DevServerConfiguration { $0.pingTimeout = .seconds(600) }
        try await Bench.run(hub: Self.hub(), configuration: patient) { bench in
            let (url, transport) = place.transport(bench)
            let manager = ConnectionManager()
            let handler = try ConnectionBuilder(url).transport(transport).connect(by: manager)
            let outcome: Result<Void, any Error>
            do { outcome = .success(try await body(handler)) } catch { outcome = .failure(error) }
            await manager.shutdown()
            try outcome.get()
        }
    }

    /// The code with which the first link ends after an event has been sent.
    private static func firstEnd(of handler: ConnectionHandler, after event: String) async throws -> String? {
        let ends = EventRecorder()
        let changes = handler.onStateChange { change in
            if let error = change.reason.error { ends.note(error.code.rawValue) }
        }
        defer { changes.cancel() }
        try handler.send(event)
        try await ends.wait(for: "the end of the link") { !$0.isEmpty }
        return ends.notes.first
    }

    @Test(arguments: Place.allCases)
    func `that pauses reading gets everything in order`(_ place: Place) async throws {
        try await Self.run(place) { handler in
            let numbers = try handler.events("number", capacity: 100, overflow: .pause)
            try handler.send("count")
            var next = 0
            for await item in numbers.items {
                guard case .message(let message) = item else {
                    Issue.record("a mark before \(next): \(item)")
                    break
                }
                guard message.payload[0]?.int == next else {
                    Issue.record("\(message) in place of \(next)")
                    break
                }
                next += 1
                if next == Self.count { break }
            }
            #expect(next == Self.count)
            #expect(handler.state == .connected)
        }
    }

    @Test(arguments: Place.allCases, StreamOverflow.allCases)
    func `holds up a request that is awaited between its elements only when it pauses reading`(
        _ place: Place, _ overflow: StreamOverflow
    ) async throws {
        try await Self.run(place) { handler in
            let numbers = try handler.events("number", capacity: 10, overflow: overflow)
            try handler.send("count")
            for await _ in numbers {
                let isPausing = overflow == .pause
                do throws(LinkspanError) {
                    _ = try await handler.request("ask", timeout: isPausing ? .milliseconds(200) : .seconds(30))
                    #expect(!isPausing)
                } catch {
                    #expect(isPausing && error.code == .timedOut, "\(error)")
                }
                break
            }
        }
    }

    @Test(arguments: Place.allCases)
    func `no longer pauses reading when its reader has gone`(_ place: Place) async throws {
        try await Self.run(place) { handler in
            var numbers: EventStream<(message: Message, missed: Int)>? = try handler.events(
                "number", capacity: 10, overflow: .pause)
            let others = EventRecorder()
            try handler.on("number") { if $0.payload[0]?.int == Self.count - 1 { others.note("last") } }
            try handler.send("count")
            await #expect(throws: LinkspanError.self) {
                try await handler.request("ask", timeout: .milliseconds(100))
            }
            #expect(others.notes.isEmpty, "the sequence holds up the other listener")
            withExtendedLifetime(numbers) { numbers = nil }
            try await others.wait(for: "the last number") { !$0.isEmpty }
        }
    }

    @Test(arguments: Place.allCases)
    func `does not hold up the end of the connection`(_ place: Place) async throws {
        // A server that waits for as long as this machine may be busy.
        let patient = DevServerConfiguration { $0.pingTimeout = .seconds(600) }
        try await Bench.run(hub: Self.hub(), configuration: patient) { bench in
            let (url, transport) = place.transport(bench)
            let manager = ConnectionManager()
            let handler = try ConnectionBuilder(url).transport(transport).connect(by: manager)
            let numbers = try handler.events("number", capacity: 10, overflow: .pause)
            try handler.send("count")
            // Its answer is behind the numbers, which are not read.
            await #expect(throws: LinkspanError.self) {
                try await handler.request("ask", timeout: .milliseconds(100))
            }
            let start = ContinuousClock.now
            await manager.shutdown()
            // A Close frame that is not read is waited for for 5 s.
            #expect(start.duration(to: .now) < .seconds(4))
            withExtendedLifetime(numbers) {}
        }
    }

    @Test(arguments: Way.allCases)
    func `for longer than the heartbeat ends the link as slow consumer`(_ way: Way) async throws {
        let server = DevServerConfiguration {
            $0.pingInterval = .milliseconds(300)
            // Clients believe nothing shorter, and have that long for an answer before they pause.
            $0.pingTimeout = .seconds(1)
        }
        try await Bench.run(hub: Self.hub(), configuration: server) { bench in
            var (url, transport) = Place.way(way).transport(bench)
            if case .webSocket = way {
                transport = WebSocketTransport(
                    .init { $0.keepAlive = .init(interval: .milliseconds(300), timeout: .seconds(1)) },
                    loop: bench.loop)
            }
            let manager = ConnectionManager()
            let handler = try ConnectionBuilder(url).transport(transport).connect(by: manager)
            let numbers = try handler.events("number", capacity: 10, overflow: .pause)
            #expect(try await Self.firstEnd(of: handler, after: "count") == "slowConsumer")
            withExtendedLifetime(numbers) {}
            await manager.shutdown()
        }
    }

    @Test
    func `ends as slow consumer in memory when too much waits`() async throws {
        try await Self.run(.memory) { handler in
            let numbers = try handler.events("blob", capacity: 1, overflow: .pause)
            #expect(try await Self.firstEnd(of: handler, after: "blobs") == "slowConsumer")
            withExtendedLifetime(numbers) {}
        }
    }
}
