import Foundation
import LinkspanKit
import Synchronization
import Testing

/// The examples of the article "Getting started", word for word; the first program is in Samples/FirstSteps.
@Suite("Getting started")
struct GettingStartedExample {
    private struct Line: Codable, Sendable {
        var room: String
        var text: String
        var id: String
    }

    private struct Session: Sendable {
        func token() async -> String { "secret" }
    }

    /// Compiled, not run: the README's first lines.
    private func talk() throws {
        let connection = try ConnectionBuilder("http://localhost:3000")
            .transport(.socketIO).connect()
        try connection.on("news") { message in print(message.payload) }
        try connection.send("hello", "world")
    }

    /// Compiled, not run: there is no server at chat.example.
    private func connect(_ session: Session, show: @escaping @Sendable (Line) -> Void) async throws -> [String] {
        let connection = try ConnectionBuilder("https://chat.example")
            .transport(.socketIO)
            .credentials(
                .provider { _ in try Credentials(auth: ["token": await session.token()]) }
            )
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
        try await connection.deliver(
            "say", Line(room: "lobby", text: "hello", id: UUID().uuidString))
    }

    final class ConnectionCounter: ConnectionObserving {
        let name: ServiceName = "counter"
        let count = Mutex(0)

        func on(_ event: Stamped<ConnectionEvent>, _ scope: ServiceScope) async throws {
            guard case .connected = event.event.kind else { return }
            self.count.withLock { $0 += 1 }
        }
    }

    @Test(.timeLimit(.minutes(1)))
    func `a service counts a connection over the in-memory hub`() async throws {
        let counter = ConnectionCounter()
        let plan = MessagingPlan(
            url: "memory://lobby", transport: InMemoryTransport(hub: InMemoryHub()), services: [counter])
        let messaging = try await Messaging.start(plan)
        let connection = try await messaging.connect()
        for await change in connection.stateChanges where change.to == .connected { break }
        await messaging.stop()
        #expect(counter.count.withLock { $0 } == 1)
    }
}
