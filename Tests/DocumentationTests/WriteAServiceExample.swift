internal import LinkspanKit
internal import Testing

// The example of the article "Write a service", word for word.

/// Counts how often connections were lost, and is degraded while one is down.
actor OutageWatch: ConnectionObserving {
    let name: ServiceName = "outages"
    let placement = Placement(phase: .observer, needs: [.soft("history")])

    private let save: @Sendable (Int) async throws -> Void
    private var down: Set<UInt64> = []
    private(set) var count = 0

    init(save: @escaping @Sendable (Int) async throws -> Void) { self.save = save }

    func on(_ event: Stamped<ConnectionEvent>, _ scope: ServiceScope) async throws {
        let connection = event.event.connection
        switch event.event.kind {
        case .disconnected(reason: _, code: _, willRetry: true):
            self.down.insert(connection)
            if !event.replayed { self.count += 1 }
        case .connected, .disconnected, .released:
            self.down.remove(connection)
        default:
            ()
        }
    }

    func quiesce(_ scope: ServiceScope) async throws {
        try await self.save(self.count)
    }

    func health() async -> Health {
        self.down.isEmpty
            ? .healthy : .degraded("\(self.down.count) connections are down")
    }
}

@Suite("The article on services", .timeLimit(.minutes(1)))
struct WriteAServiceExample {
    /// Where the service saves.
    actor Shelf {
        private(set) var count: Int?

        func save(_ count: Int) { self.count = count }
    }

    @Test
    func `an outage is counted, shown as health, and saved at the end`() async throws {
        let shelf = Shelf()
        let registry = ServiceRegistry(name: "app")
        try registry.register(OutageWatch { await shelf.save($0) }).keep()
        try await registry.start()

        let lost = ConnectionEvent.Kind.disconnected(
            reason: "no network", code: nil, willRetry: true)
        await registry.barrier(
            ConnectionEvent(connection: 1, endpoint: "wss://chat.example", kind: lost))
        #expect(
            await registry.healths() == ["app.outages": .degraded("1 connections are down")])

        let report = await registry.stop()
        #expect(report.isClean)
        #expect(await shelf.count == 1)
    }

    @Test
    func `an outage from before the service was there is known but not counted`() async throws {
        let shelf = Shelf()
        let registry = ServiceRegistry(name: "app")
        try await registry.start()
        let lost = ConnectionEvent.Kind.disconnected(reason: "no network", code: nil, willRetry: true)
        await registry.barrier(ConnectionEvent(connection: 1, endpoint: "wss://chat.example", kind: lost))

        let registration = try registry.register(OutageWatch { await shelf.save($0) })
        #expect(await registration.settled() == .ready)
        registration.keep()
        await registry.barrier(ConnectionEvent(connection: 2, endpoint: "wss://chat.example", kind: .created))
        #expect(await registry.healths()["app.outages"] == .degraded("1 connections are down"))
        await registry.stop()
        #expect(await shelf.count == 0)
    }
}
