import Foundation
import Linkspan
import LinkspanConfiguration
import LinkspanInMemory
import LinkspanLifecycle
import LinkspanMessaging
import LinkspanSocketIO
import LinkspanWebSocket
import Synchronization
import Testing

/// The examples of the README, word for word, so that they compile.
///
/// The ones that need no server also run.
@Suite("The README's examples")
struct ReadmeExamples {
    private struct Line: Codable, Sendable {
        var room: String
        var text: String
        var id: String
    }

    private struct Session: Sendable {
        func token() async -> String { "secret" }
    }

    /// Compiled, not run: there is no server at chat.example.
    private func connect(_ session: Session, show: @escaping @Sendable (Line) -> Void) async throws -> [String] {
        let connection = try ConnectionBuilder("https://chat.example")
            .transport(.socketIO)
            .credentials(.provider { _ in try Credentials(auth: ["token": await session.token()]) })
            .connect()

        try connection.on("message", as: Line.self) { line in
            if case .success(let line) = line { show(line) }
        }
        try connection.send("typing", "lobby")
        let members = try await connection.request("who", "lobby").decode([String].self)
        return members
    }

    /// Compiled, not run.
    private func deliver(_ connection: ConnectionHandler) async throws {
        try await connection.deliver("say", Line(room: "lobby", text: "hello", id: UUID().uuidString))
    }

    /// Compiled, not run: there is no such file.
    private func configure(_ hub: InMemoryHub) async throws -> ConnectionHandler {
        var catalog = Catalog()
        catalog.add(.socketIO)
        catalog.add(.webSocket)
        catalog.add(.inMemory(hub))
        catalog.add(ServiceFactory("counter") { _ in ConnectionCounter() })

        let loaded = try ConfigurationLoader(catalog: catalog).load(file: "app.yaml")
        let messaging = try await Messaging.start(loaded.plan)
        let connection = try messaging.connect()
        return connection
    }

    final class ConnectionCounter: ConnectionObserving {
        let name: ServiceName = "counter"
        let count = Mutex(0)

        func on(_ event: Stamped<ConnectionEvent>, _ scope: ServiceScope) async throws {
            guard case .connected = event.event.kind else { return }
            self.count.withLock { $0 += 1 }
        }
    }

    @Test("the counter of the README counts a connection over the in-memory hub", .timeLimit(.minutes(1)))
    func counterCounts() async throws {
        let counter = ConnectionCounter()
        let plan = MessagingPlan(
            url: "memory://lobby", transport: InMemoryTransport(hub: InMemoryHub()), services: [counter])
        let messaging = try await Messaging.start(plan)
        let connection = try messaging.connect()
        for await change in connection.stateChanges where change.to == .connected { break }
        await messaging.stop()
        #expect(counter.count.withLock { $0 } == 1)
    }
}
