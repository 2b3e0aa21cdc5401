internal import Linkspan
internal import LinkspanInMemory
internal import LinkspanWebSocket
internal import Testing

// The example of the article on migration, word for word.

func feature(
    _ connection: any Connection, _ handler: ConnectionHandler,
    _ manager: ConnectionManager
) async throws {
    let status = connection.status
    print(
        status.url, status.state, status.progress, status.waitingCommands,
        status.resumption as Any)
    print(connection.explain(), status.description, status.url.description)
    try connection.send("cursor", 3, volatile: true)
    try connection.on("line") { print($0.event) }
    let attempts = connection.onStatusChange { change in
        if case .progress(.waiting(let until, let attempt)) = change {
            print("attempt \(attempt) at \(until)")
        }
    }
    try await connection.deliver("line", "hello", orderingKey: "room 1")
    let receipt = try await connection.enqueue(
        "line", "hello again", orderingKey: "room 1", key: "line 2")
    print(receipt.key)
    let outgoing = try handler.onAnyOutgoing { print($0.event) }
    for (status, holders) in manager.statistics { print(status, holders) }
    let source = CredentialSource.provider(account: "ann") { request in
        Credentials(
            auth: try Payload(request.url.host),
            headers: [Credentials.Field("X-Client", "7")])
    }
    let kept = status.resumption?.exposed
    let next = try ConnectionBuilder("ws://chat.example.com")
        .transport(.webSocket).credentials(source)
        .resuming(kept.map { Secret($0) })
        .options {
            $0.idleTimeout = .seconds(5)
            $0.buffer.commands = 100
            $0.retry = RetryPolicy { $0.failures < 3 ? .seconds(1) : nil }
        }
        .build()
    try manager.move(handler, to: next)
    await manager.logOut(source)
    var options = ConnectionOptions()
    options.deliveries.keyPlacement = .lastArgument
    let commands = await handler.commands
    print(commands.map(\.stage), RetryPolicy.backoff(cap: .seconds(60)), options)
    for subscription in [attempts, outgoing] { subscription.cancel() }
    handler.off("line")
}

@Suite("The article on migration", .timeLimit(.minutes(1)))
struct MigrationExample {
    @Test
    func `the replacements of former API work`() async throws {
        let manager = ConnectionManager(options: .init { $0.attempts.spacing = .zero })
        let hub = InMemoryHub()
        hub.onConnect { peer in peer.on("line") { $0.reply($0.payload) } }
        let handler = try ConnectionBuilder("memory://migration").transport(.inMemory(hub)).connect(by: manager)
        try await feature(handler, handler, manager)
        #expect(handler.state == .released, "its user has been logged out")
        await manager.shutdown()
    }
}
