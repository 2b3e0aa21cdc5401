#if Metrics && Tracing && ServiceLifecycle && OUTBOX && Encryption && (canImport(Combine) || OpenCombine)
internal import LinkspanKit
internal import LinkspanServices
internal import LinkspanTelemetry
internal import LinkspanServiceLifecycle
internal import Logging
internal import ServiceLifecycle
internal import TestSupport
internal import Testing
internal import UnixSignals

/// What the article about the services shows.
@Suite("The article about services")
struct ServicesExample {
    private struct Session: Sendable {
        func token(renewed: Bool) async throws -> (text: String, lifetime: Duration) { ("t0ken", .seconds(600)) }
    }

    private let session = Session()

    private func attach(_ report: String) { #expect(report.contains("entries")) }

    @Test(.timeLimit(.minutes(1)))
    func `its services run`() async throws {
        let session = self.session
        var plan = MessagingPlan(url: "memory://lobby", transport: .inMemory(InMemoryHub()))
        let tokens = TokenSource { reason in
            let token = try await session.token(renewed: reason != .first)
            return Credentials(
                headers: [.init("Authorization", Secret("Bearer \(token.text)"))],
                validFor: token.lifetime)
        }
        plan.credentials = tokens.credentials
        var catalog = Catalog.standard
        catalog.add(.tokenRefresh(tokens))
        plan.services = try catalog.services.values.map { factory throws(LinkspanError) in try PlannedService(factory) }

        let messaging = try await Messaging.start(
            plan, connections: .init { $0.logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() } })
        let connection = try await messaging.connect()
        try connection.send("line", "Hello")
        let presence = try messaging.services.service(of: PresenceService.self)
        presence.noteActivity()
        let journal = try messaging.services.service(of: JournalService.self)
        attach(journal.report)
        for await change in connection.stateChanges where change.to == .connected { break }
        #expect(await messaging.stop().isClean)
    }

    @Test(.timeLimit(.minutes(1)))
    func `its service group runs and ends`() async throws {
        let hub = InMemoryHub()
        let plan = MessagingPlan(url: "memory://lobby", transport: .inMemory(hub))
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        let task = Task {
            let service = MessagingService(plan) { messaging, connection in
                try connection.on("news") { message in print(message) }
            }
            let group = ServiceGroup(
                services: [service], gracefulShutdownSignals: [.sigterm], logger: logger)
            try await group.run()
        }
        try await eventually("the connection") { !hub.peers.isEmpty }
        task.cancel()
        _ = await task.result
        try await eventually("the end of the connection") { hub.peers.isEmpty }
    }
}
#endif
