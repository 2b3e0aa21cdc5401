internal import LinkspanDevServer
internal import LinkspanKit
internal import LinkspanTesting
internal import Testing

// The examples of the article "Testing your feature", word for word; the fake is in FakeConnectionExample.swift.

final class Room: Sendable {
    private let connection: any Connection
    private let heard: Lock<[String]>

    var lines: [String] { self.heard.withLock { $0 } }

    init(_ connection: any Connection) throws {
        let heard = Lock<[String]>([])
        self.heard = heard
        self.connection = connection
        try connection.on("line", as: String.self) { line in
            if case .success(let text) = line { heard.withLock { $0.append(text) } }
        }
    }

    func say(_ text: String) async throws {
        try await self.connection.deliver("say", text)
    }
}

@Suite("Testing your feature", .timeLimit(.minutes(1)))
struct TestingYourFeatureExample {
    @Test
    func `a room shows a line, and delivers one`() async throws {
        let fake = try FakeConnection()
        let room = try Room(fake)
        fake.say(Message(event: "line", payload: try Payload("hello")))
        try await room.say("hi")
        #expect(room.lines == ["hello"])
        #expect(fake.commands.withLock { $0.map(\.event) } == ["say"])
    }

    @Test
    func `a line comes back from the server`() async throws {
        let hub = InMemoryHub()
        hub.onConnect { peer in
            peer.on("say") { message in
                peer.emit("line", message.payload)
                message.reply(.empty)
            }
        }
        let manager = ConnectionManager()
        let connection = try ConnectionBuilder("memory://lobby")
            .transport(.inMemory(hub)).connect(by: manager)
        let recorder = EventRecorder()
        try recorder.watch(connection, events: ["line"])
        let room = try Room(connection)
        try await room.say("hi")
        try await recorder.wait(for: "the line") { entries in
            entries.contains { if case .message = $0 { true } else { false } }
        }
        #expect(room.lines == ["hi"])
        connection.release()
    }

    @Test
    func `a line said during an outage arrives once the server is back`() async throws {
        let scheduler = VirtualScheduler()
        let transport = ScriptedTransport(scheduler: scheduler) { number in
            number <= 3
                ? .refusing(LinkspanError(.connectionLost, "the server is down"))
                : .perfect
        }
        let manager = ConnectionManager(options: .init { $0.scheduler = scheduler })
        let connection = try ConnectionBuilder("scripted://server")
            .transport(transport).connect(by: manager)
        try connection.send("say", "hi")
        scheduler.advance(by: .seconds(60))
        #expect(connection.state == .connected)
        #expect(transport.received.map(\.event) == ["say"])
        connection.release()
    }

    func connect(
        over transport: ScriptedTransport, _ clock: VirtualScheduler
    ) throws -> ConnectionHandler {
        let manager = ConnectionManager(options: .init { $0.scheduler = clock })
        return try ConnectionBuilder("scripted://server")
            .transport(transport).connect(by: manager)
    }

    @Test
    func `an outcome comes after the call, so that both may take one lock`() throws {
        let clock = VirtualScheduler(holdsJobs: true)
        let connection = try connect(over: ScriptedTransport(scheduler: clock), clock)
        clock.settle()
        let told = Lock(0)
        try told.withLock { _ in
            try connection.perform(
                Command(.send, event: "line", payload: .empty) { _ in
                    told.withLock { $0 += 1 }
                })
        }
        clock.settle()
        #expect(told.withLock { $0 } == 1)
        connection.release()
    }

    @Test
    func `a refusal for good is told with its reason`() throws {
        let clock = VirtualScheduler()
        let transport = ScriptedTransport(scheduler: clock) { _ in
            .refusing(LinkspanError(.credentialsRefused, "unknown token"))
        }
        let connection = try connect(over: transport, clock)
        clock.advance(by: .seconds(60))
        #expect(connection.state == .disconnected)
        #expect(connection.status.lastError?.code == .credentialsRefused)
    }

    @Test
    func `a slow answer comes, unless its limit is over`() async throws {
        let clock = VirtualScheduler()
        let transport = ScriptedTransport(scheduler: clock)
        transport.onMessage { message in
            clock.schedule(after: .seconds(8)) { message.reply() }
        }
        let connection = try connect(over: transport, clock)
        let hasty = Task { try await connection.request("ask", timeout: .seconds(5)) }
        let patient = Task { try await connection.request("ask", timeout: .seconds(10)) }
        await clock.run { transport.received.count == 2 }
        clock.advance(by: .seconds(8))
        await #expect(throws: LinkspanError.self) { try await hasty.value }
        _ = try await patient.value
        connection.release()
    }

    @Test
    func `what was missed during an outage is a gap in the sequence`() async throws {
        let clock = VirtualScheduler()
        let transport = ScriptedTransport(scheduler: clock)
        let connection = try connect(over: transport, clock)
        var items = try connection.events("line").items.makeAsyncIterator()
        clock.settle()
        transport.openPeers.first?.emit("line", try Payload("before"))
        clock.settle()
        transport.openPeers.first?.drop()
        clock.advance(by: .seconds(10))
        transport.openPeers.first?.emit("line", try Payload("after"))
        clock.settle()
        var told: [String] = []
        while told.count < 3, let item = await items.next() {
            switch item {
            case .message(let line): told.append(try line.decode())
            case .continuity(.gap): told.append("gap")
            case .continuity: told.append("no gap")
            }
        }
        #expect(told == ["before", "gap", "after"])
        connection.release()
    }

    @Test
    func `a recorded conversation is a fake server`() async throws {
        let clock = VirtualScheduler()
        let transport = ScriptedTransport(scheduler: clock)
        transport.play(
            try Conversation(
                text: """
                    {"at":0,"from":"client","event":"join","arguments":["lobby"]}
                    {"at":0.1,"from":"server","event":"join","reply":true,"arguments":[2]}
                    """))
        let connection = try connect(over: transport, clock)
        async let members = connection.request("join", "lobby")
        await clock.run { !transport.received.isEmpty }
        clock.settle()
        #expect(try await members.decode(Int.self) == 2)
        connection.release()
    }

    @Test
    func `a room shows lines again after the network was cut`() async throws {
        let hub = InMemoryHub()
        hub.onConnect { peer in
            peer.on("say") { message in
                peer.emit("line", message.payload)
                message.reply(.empty)
            }
        }
        let server = DevServer(hub: hub)
        let port = try await server.start()
        let proxy = try FaultProxy(to: "127.0.0.1", port: port, seed: 7) {
            $0.delay = .milliseconds(5)
            $0.jitter = .milliseconds(20)
        }
        let connection = try ConnectionBuilder("http://127.0.0.1:\(proxy.port)")
            .transport(.socketIO).connect(by: ConnectionManager())
        let room = try Room(connection)
        try await room.say("before")
        proxy.use(
            FaultProfile([
                .init { ($0.cut, $0.ending) = (0, .reset) }, .init(at: .milliseconds(50)),
            ]))
        try await room.say("after")
        #expect(room.lines.contains("after"))
        connection.release()
        await proxy.stop()
        await server.stop()
    }
}
