internal import LinkspanInMemory
internal import LinkspanRuntime
internal import TestSupport
internal import Testing

@testable import Linkspan

@Suite("Rooms of the hub in memory", .timeLimit(.minutes(1)))
struct InMemoryRoomTests {
    @Test
    func `a client is in a room from joining it to leaving it or the hub`() async throws {
        let (hub, manager) = (InMemoryHub(), ConnectionManager())
        hub.onConnect { $0.join("lobby") }
        let connections = try ["a", "b", "c"].map {
            try ConnectionBuilder("memory://\($0)").transport(.inMemory(hub)).connect(by: manager)
        }
        for connection in connections { _ = try await connection.connected(within: .seconds(60)) }
        let peers = hub.members(of: "lobby")
        try #require(peers.count == 3)
        peers[0].leave("lobby")
        #expect(hub.members(of: "lobby").map(ObjectIdentifier.init) == peers[1...].map(ObjectIdentifier.init))
        let heard = (0..<3).map { Journal<String?>("what client \($0) hears") }
        for (connection, journal) in zip(connections, heard) {
            try connection.on("news") { journal.append($0.payload[0]?.string) }
        }
        hub.emit("news", try Payload("to the lobby"), to: "lobby", except: peers[1])
        hub.emit("news", try Payload("to all"))
        #expect(try await heard[0].first(1) == ["to all"])
        #expect(try await heard[1].first(1) == ["to all"])
        #expect(try await heard[2].first(2) == ["to the lobby", "to all"])
        await manager.shutdown()
        try await eventually { hub.members(of: "lobby").isEmpty }
    }
}
