internal import Linkspan
internal import LinkspanInMemory
internal import LinkspanLifecycle
internal import LinkspanMessaging
internal import LinkspanRuntime
internal import Testing

@testable internal import LinkspanInspector

/// A service that does nothing.
private struct IdleService: LifecycleService {
    let name: ServiceName
}

/// The connections and services that an app may have: many.
@Suite(.timeLimit(.minutes(2)))
struct PopulationTests {
    @Test func `1,000 connections and 100 services are on a page after at most 40 bounded batches`() async throws {
        let idle = (0..<100).map { IdleService(name: ServiceName("idle\($0)")) }
        try await InspectedApp.run(services: idle) { app in
            let transport = InMemoryTransport(hub: app.hub)
            var handlers: [ConnectionHandler] = []
            for number in 0..<1_000 {
                handlers.append(
                    try ConnectionBuilder("memory://population/?n=\(number)").transport(transport)
                        .connect(by: app.messaging.manager))
            }
            for handler in handlers { try await handler.connected() }
            let feed = try await app.feed()
            var (connected, services) = (Set<Int>(), Set<String>())
            var batches = 0
            // The connection of the app, and two services of the SDK.
            while connected.count < 1_001 || services.count < 102 {
                let batch = try feed.next { $0["connections"] != nil }
                batches += 1
                try #require(batches <= 40, "\(connected.count) connections and \(services.count) services")
                let rows = batch["connections"]?.elements ?? []
                #expect(rows.count <= 201)
                #expect(batch.text.count <= 256 * 1_024)
                for row in rows where row["state"]?.string == "connected" {
                    if let id = row["id"]?.int { connected.insert(id) }
                }
                for row in batch["services"]?.elements ?? [] { row["path"]?.string.map { _ = services.insert($0) } }
            }
            for handler in handlers { handler.release() }
        }
    }
}
