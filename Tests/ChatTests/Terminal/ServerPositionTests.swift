@testable internal import chat
internal import Linkspan
internal import LinkspanDevServer
internal import LinkspanInMemory
internal import LinkspanMessaging
internal import Testing

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
