@testable internal import chat
internal import Linkspan
internal import LinkspanConfiguration
internal import LinkspanDevServer
internal import LinkspanMessaging
internal import Testing

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
