internal import Linkspan
internal import LinkspanInMemory
internal import LinkspanWebSocket
internal import Testing

// The example of the article on migration, word for word.

func feature(_ connection: any Connection, _ handler: ConnectionHandler, _ manager: ConnectionManager) async throws {
    let status = connection.status
    print(status.url, status.state, status.progress, status.waitingCommands, status.resumption as Any)
    try connection.on("line") { print($0.event) }
    let attempts = connection.onStatusChange { change in
        if case .progress(.waiting(let until, let attempt)) = change { print("attempt \(attempt) at \(until)") }
    }
    try await connection.deliver("line", "hello", orderingKey: "room 1")
    let receipt = try await connection.enqueue("line", "hello again", orderingKey: "room 1", key: "line 2")
    print(receipt.key)
    let source = CredentialSource.fixed(Credentials(), account: "ann")
    let next = try ConnectionBuilder("ws://chat.example.com").transport(.webSocket).credentials(source)
        .options { $0.idleTimeout = .seconds(5) }.build()
    try manager.move(handler, to: next)
    await manager.logOut(source)
    let commands = await handler.commands
    print(commands.count)
    attempts.cancel()
}

@Suite("The article on migration", .timeLimit(.minutes(1)))
struct MigrationExample {
    @Test
    func `what it shows instead of the former API works`() async throws {
        let manager = ConnectionManager()
        let hub = InMemoryHub()
        hub.onConnect { peer in peer.on("line") { $0.reply($0.payload) } }
        let handler = try ConnectionBuilder("memory://migration").transport(.inMemory(hub)).connect(by: manager)
        try await feature(handler, handler, manager)
        #expect(handler.state == .released, "its user has been logged out")
        await manager.shutdown()
    }
}
