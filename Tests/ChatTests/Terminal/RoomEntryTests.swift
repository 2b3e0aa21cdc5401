internal import Foundation
internal import Linkspan
internal import LinkspanConfiguration
internal import LinkspanDevServer
internal import LinkspanInMemory
internal import LinkspanMessaging
internal import LinkspanTerminal
internal import TestedPrograms
internal import Testing

@testable internal import chat

/// What becomes of `/join`, with the chat inside this process or a server of the test.
@Suite
struct RoomEntryTests {
    /// Lets ann sit at a terminal.
    private static func sit(
        _ play: @escaping @Sendable (FakeTerminal, Visitor) async throws -> Void
    ) async throws {
        let (visitor, news) = (Visitor(name: "ann", room: "lobby"), ChatNews())
        let configuration = ChatConfiguration(transport: "memory")
        let visit = try await Visit.begin(visitor, news, configuration.load(for: visitor, news))
        let (floor, terminal) = (VisitFloor(visit, configuration), FakeTerminal(columns: 90, rows: 10))
        let session = InteractiveSession(
            name: "ann", room: "lobby", floor: floor, terminal: terminal, style: Style(hasColours: false),
            settings: InterfaceSettings(showsTimes: false), patience: .seconds(10))
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await floor.run() }
            defer { group.cancelAll() }
            async let ending = session.run()
            _ = try #require(await terminal.wait(for: "here: ann"))
            try await play(terminal, visitor)
            terminal.type("\u{3}")
            let end = await ending
            #expect(end == .finished(undelivered: 0))
        }
        await visit.messaging.stop()
    }

    @Test(.timeLimit(.minutes(1)))
    func `a room that the server refuses is told, and the former one is the current one again`() async throws {
        try await Self.sit { terminal, visitor in
            // The server lets a connection be in 64 rooms.
            for number in 1...64 { terminal.type("/join r\(number)\r") }
            let refusal = "* cannot join r64: a connection may be in 64 rooms"
            _ = try #require(await terminal.wait(for: refusal))
            _ = try #require(await terminal.wait(for: "── r63 ·"))
            #expect(visitor.room == "r63")
        }
    }

    @Test(.timeLimit(.minutes(1)))
    func `a room with a name that is too long is refused at once`() async throws {
        try await Self.sit { terminal, visitor in
            terminal.type("/join \(String(repeating: "x", count: 65))\r")
            _ = try #require(await terminal.wait(for: "* a room must have 1 to 64 characters"))
            #expect(visitor.rooms == ["lobby"])
            _ = try #require(await terminal.wait(for: "── lobby ·"))
        }
    }

    @Test(.timeLimit(.minutes(1)))
    func `a room that is joined while the server is away stays the current one beyond the time for the answer`()
        async throws
    {
        let server = DevServer(
            hub: ChatHub().hub, configuration: .init { $0.introduction = .required(within: .seconds(60)) })
        try await server.start()
        let (visitor, news) = (Visitor(name: "ann", room: "lobby"), ChatNews())
        let configuration = ChatConfiguration(transport: "websocket", url: server.webSocketURL)
        var plan = try configuration.load(for: visitor, news)
        plan.plan.options.replyTimeout = .milliseconds(50)
        let visit = try await Visit.begin(visitor, news, plan)
        let floor = VisitFloor(visit, configuration)
        await server.stop()
        try await floor.join("attic")
        // The join had less time for its answer, so that it is over as well.
        await #expect(throws: LinkspanError.self) {
            try await visit.connection.request("who", ChatVocabulary.Place(room: "lobby"), timeout: .milliseconds(100))
        }
        #expect(visitor.room == "attic")
        await visit.messaging.stop()
    }
}

/// What was seen of a conversation belongs to the server that numbers its lines.
@Suite
struct ServerPositionTests {
    /// A chat server with somebody in its lobby.
    private struct Place: Sendable {
        let server: DevServer
        private let guest: ConnectionHandler

        static func open(_ guest: String, _ manager: ConnectionManager) async throws -> Place {
            let (chat, entry) = (ChatHub(), ChatVocabulary.Entry(name: guest, rooms: ["lobby"]))
            let handler = try ConnectionBuilder("memory://chat").transport(.inMemory(chat.hub))
                .credentials(.fixed(try Credentials(auth: entry))).connect(by: manager)
            let server = DevServer(
                hub: chat.hub, configuration: .init { $0.introduction = .required(within: .seconds(60)) })
            try await server.start()
            return Place(server: server, guest: handler)
        }

        func say(_ text: String) async throws {
            _ = try await self.guest.request("say", ChatVocabulary.Say(room: "lobby", text: text, id: text))
        }
    }

    /// The lines of others, until something happens.
    private static func lines(_ floor: VisitFloor, until isOver: (ChatFloorEvent) -> Bool) async -> [String] {
        var lines: [String] = []
        for await event in floor.events {
            if case .line(let line) = event, !line.isOwn { lines.append(line.text) }
            if isOver(event) { break }
        }
        return lines
    }

    private static func isLine(_ text: String) -> (ChatFloorEvent) -> Bool {
        { if case .line(let line) = $0 { line.text == text } else { false } }
    }

    private static func isJoin(_ name: String) -> (ChatFloorEvent) -> Bool {
        { if case .joined(name, _) = $0 { true } else { false } }
    }

    @Test(.timeLimit(.minutes(1)))
    func `a move to a server that is not there tells the cause, and a line typed then is at once in the outbox's list`()
        async throws
    {
        let (visitor, news) = (Visitor(name: "ann", room: "lobby"), ChatNews())
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("chat-\(UUID().uuidString).sqlite")
            .path
        defer {
            for suffix in ["", "-wal", "-shm", "-lock"] { try? FileManager.default.removeItem(atPath: file + suffix) }
        }
        let configuration = ChatConfiguration(transport: "memory").with(outbox: file)
        let visit = try await Visit.begin(visitor, news, configuration.load(for: visitor, news))
        let floor = VisitFloor(visit, configuration)
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await floor.run() }
            defer { group.cancelAll() }
            _ = await Self.lines(floor) { if case .members = $0 { true } else { false } }
            try? await floor.switchTransport("websocket", url: "ws://127.0.0.1:1")
            let cause = "cannot connect: no answer from 127.0.0.1:1: is a server running there?"
            for await case .connection(_, let sentence?) in floor.events where sentence.hasPrefix(cause) { break }
            try? await floor.say("typed just now")
            let listed = try? await floor.outbox()
            #expect(listed?.hasSuffix(": typed just now") == true, "\(listed ?? "")")
        }
        await visit.messaging.stop()
    }

    @Test(.timeLimit(.minutes(2)))
    func `another server replays nothing, and the first one repeats what was missed over another wire`() async throws {
        let manager = ConnectionManager()
        let (home, away) = (try await Place.open("bob", manager), try await Place.open("eve", manager))
        for number in 1...5 { try await away.say("foreign \(number)") }
        let (visitor, news) = (Visitor(name: "ann", room: "lobby"), ChatNews())
        let configuration = ChatConfiguration(transport: "websocket", url: home.server.webSocketURL)
        let visit = try await Visit.begin(visitor, news, configuration.load(for: visitor, news))
        let floor = VisitFloor(visit, configuration)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await floor.run() }
            defer { group.cancelAll() }
            _ = await Self.lines(floor) { if case .members = $0 { true } else { false } }
            try await home.say("one")
            #expect(await Self.lines(floor, until: Self.isLine("one")) == ["one"])

            try await floor.switchTransport("websocket", url: away.server.webSocketURL)
            #expect(await Self.lines(floor, until: Self.isJoin("eve")) == [])
            try await away.say("there")
            #expect(await Self.lines(floor, until: Self.isLine("there")) == ["there"])

            try await home.say("missed")
            try await floor.switchTransport("socketio", url: home.server.socketIOURL)
            var heard = await Self.lines(floor, until: Self.isJoin("bob"))
            try await home.say("back")
            heard += await Self.lines(floor, until: Self.isLine("back"))
            #expect(heard == ["missed", "back"])
        }
        await visit.messaging.stop()
        await manager.shutdown()
        await home.server.stop()
        await away.server.stop()
    }
}
