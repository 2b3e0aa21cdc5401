internal import Linkspan
internal import LinkspanLifecycle
internal import LinkspanMessaging
internal import LinkspanRuntime
internal import LinkspanTesting
internal import LinkspanServices
internal import ServiceFixtures
internal import TestSupport
internal import Testing

/// Gives out numbered tokens, and writes down who asks and what is told.
private final class TokenServer: Sendable {
    let recorder = EventRecorder()
    private let count = Lock(0)
    private let error = Lock<(any Error)?>(nil)

    func fail(_ error: (any Error)?) { self.error.withLock { $0 = error } }

    func source(_ scheduler: VirtualScheduler) -> TokenSource {
        TokenSource(scheduler: scheduler, random: { 0 }) { reason in
            let error = self.error.withLock { $0 }
            self.recorder.note("fetch \(reason)\(error == nil ? "" : " fails")")
            if let error { throw error }
            let number = self.count.withLock { count in
                count += 1
                return count
            }
            return Credentials(
                headers: [.init("Authorization", Secret("s3cret-\(number)"))], validFor: .seconds(1_000))
        }
    }

    /// Writes down what the registry hears of tokens.
    func listen(to registry: ServiceRegistry) -> Registration {
        registry.observe(weak: self, ConnectionEvent.self) { server, stamped in
            server.recorder.note("\(stamped.event.kind)")
        }
    }

    func wait(for note: String, count: Int = 1) async throws {
        try await self.recorder.wait(for: note) { entries in
            entries.count { $0.summary.hasPrefix("note: \(note)") } >= count
        }
    }
}

private struct ForeignError: Error {
    var text = "s3cret"
}

@Suite("Token refresh service")
struct TokenRefreshServiceTests {
    private let scheduler = VirtualScheduler()
    private let server = TokenServer()

    /// A connection that is up.
    private func connected(
        _ tokens: TokenSource, _ transport: ScriptedTransport, _ scheduler: VirtualScheduler
    ) async throws -> ConnectionHandler {
        let manager = ConnectionManager(
            options: .init {
                $0.scheduler = scheduler
                $0.random = { 0 }
            })
        let configuration = try ConnectionBuilder("scripted://server").transport(transport)
            .credentials(tokens.credentials).build()
        let handler = try manager.connect(configuration)
        await scheduler.run { handler.state == .connected }
        try #require(handler.state == .connected)
        return handler
    }

    /// Disconnects, and waits until it has: a connection that is still up renews its credentials itself.
    private func disconnect(_ handler: ConnectionHandler) async throws {
        let changes = handler.stateChanges
        try handler.disconnect()
        for await change in changes where change.to == .disconnected { return }
    }

    @Test(.timeLimit(.minutes(1)))
    func `tokens are renewed while disconnected, and reported without secrets`() async throws {
        let tokens = self.server.source(self.scheduler)
        let registry = ServiceRegistry()
        let observation = self.server.listen(to: registry)
        try registry.register(TokenRefreshService(tokens, options: .init(lead: .seconds(100), jitter: .zero))).keep()
        try await registry.start()
        let transport = ScriptedTransport(scheduler: self.scheduler)
        let handler = try await self.connected(tokens, transport, self.scheduler)
        try await self.server.wait(for: "credentialsRefreshed")
        try await self.disconnect(handler)
        self.scheduler.advance(by: .seconds(901))
        try await self.server.wait(for: "credentialsRefreshed", count: 2)
        #expect(self.server.recorder.notes.filter { $0.hasPrefix("fetch") } == ["fetch first", "fetch expiring"])
        #expect(!self.server.recorder.notes.contains { $0.contains("s3cret") })
        await registry.stop()
        self.scheduler.advance(by: .seconds(5_000))
        #expect(self.server.recorder.notes.filter { $0.hasPrefix("fetch") }.count == 2)
        observation.cancel()
    }

    @Test(.timeLimit(.minutes(1)))
    func `a failure is reported by its type and retried; a revocation is reported and final`() async throws {
        let tokens = self.server.source(self.scheduler)
        let registry = ServiceRegistry()
        let observation = self.server.listen(to: registry)
        try registry.register(TokenRefreshService(tokens, options: .init(lead: .seconds(100), jitter: .zero))).keep()
        try await registry.start()
        let transport = ScriptedTransport(scheduler: self.scheduler)
        let handler = try await self.connected(tokens, transport, self.scheduler)
        try await self.server.wait(for: "credentialsRefreshed")
        try await self.disconnect(handler)
        self.server.fail(ForeignError())
        // No further than the attempt: the next one may follow within a second.
        self.scheduler.advance(by: .seconds(900))
        try await self.server.wait(for: "credentialsFailed")
        #expect(self.server.recorder.notes.contains { $0.contains("ForeignError") })
        #expect(!self.server.recorder.notes.contains { $0.contains("s3cret") })
        self.server.fail(TokenRevoked())
        self.scheduler.advance(by: .seconds(2))
        try await self.server.wait(for: "credentialsRevoked")
        self.scheduler.advance(by: .seconds(5_000))
        #expect(self.server.recorder.notes.count { $0.hasPrefix("fetch") } == 3)
        await registry.stop()
        observation.cancel()
    }

    @Test(.timeLimit(.minutes(1)))
    func `a permanent refusal of a connection with the token revokes it, and one of another user does not`()
        async throws
    {
        let tokens = self.server.source(self.scheduler)
        let registry = ServiceRegistry()
        let observation = self.server.listen(to: registry)
        try registry.register(TokenRefreshService(tokens)).keep()
        try await registry.start()
        let refused = LinkspanError(.credentialsRefused, "no")
        let transport = ScriptedTransport(scheduler: self.scheduler) { _ in .refusing(refused) }
        let manager = ConnectionManager(options: .init { $0.scheduler = self.scheduler })
        let builder = ConnectionBuilder("scripted://server").transport(transport)
        let other = try builder.credentials(.fixed(try Credentials(auth: ["name": "eve"]))).connect(by: manager)
        await self.scheduler.run { other.state == .disconnected }
        #expect(self.server.recorder.notes.isEmpty)
        let own = try builder.credentials(tokens.credentials).connect(by: manager)
        // The second attempt, with the token fetched anew, may wait for its time.
        try await eventually(turn: { self.scheduler.advance(by: .milliseconds(100)) }) { own.state == .disconnected }
        try await self.server.wait(for: "credentialsRevoked")
        #expect(self.server.recorder.notes.first == "fetch first")
        #expect(self.server.recorder.notes.count { $0 == "credentialsRevoked" } == 1)
        await manager.shutdown()
        await registry.stop()
        observation.cancel()
    }

    @Test(.timeLimit(.minutes(1)))
    func `a connection that is up gets the renewed token, and nothing is fetched twice`() async throws {
        let tokens = self.server.source(self.scheduler)
        let registry = ServiceRegistry()
        let observation = self.server.listen(to: registry)
        try registry.register(TokenRefreshService(tokens, options: .init(lead: .seconds(400), jitter: .zero))).keep()
        try await registry.start()
        let transport = ScriptedTransport(scheduler: self.scheduler) { _ in
            var script = LinkScript.perfect
            script.showsRenewals = true
            return script
        }
        let handler = try await self.connected(tokens, transport, self.scheduler)
        self.scheduler.advance(by: .seconds(601))
        try await self.server.wait(for: "credentialsRefreshed", count: 2)
        // After four fifths of the first token's time the connection asks, and finds what was fetched.
        self.scheduler.advance(by: .seconds(199))
        await self.scheduler.run { transport.peers.first?.renewals.isEmpty == false }
        #expect(transport.peers.first?.renewals.count == 1)
        #expect(transport.peers.first?.renewals.first?.headers.first?.value.exposed == "s3cret-2")
        #expect(self.server.recorder.notes.count { $0.hasPrefix("fetch") } == 2)
        try await self.disconnect(handler)
        await registry.stop()
        observation.cancel()
    }

    @Test(.timeLimit(.minutes(1)))
    func `after a log-out no connection shows the former user's token`() async throws {
        let tokens = self.server.source(self.scheduler)
        let transport = ScriptedTransport(scheduler: self.scheduler)
        let manager = ConnectionManager(
            options: .init {
                $0.scheduler = self.scheduler
                $0.random = { 0 }
            })
        let configuration = try ConnectionBuilder("scripted://server").transport(transport)
            .credentials(tokens.credentials).build()
        let former = try manager.connect(configuration)
        await self.scheduler.run { former.state == .connected }
        // Runs beside the clock, which the end of the link needs.
        async let leaving: Void = manager.logOut(tokens.credentials)
        await self.scheduler.run { former.state == .released }
        await leaving
        self.server.fail(ForeignError())
        let next = try manager.connect(configuration)
        try await self.server.wait(for: "fetch first fails")
        self.server.fail(nil)
        // The next attempt asks again, if not at once, then within a few seconds.
        await self.scheduler.run {
            if case .waiting = next.status.progress { true } else { next.state == .connected }
        }
        self.scheduler.advance(by: .seconds(5))
        await self.scheduler.run { next.state == .connected }
        let shown = transport.peers.map { $0.request.credentials.headers.first?.value.exposed }
        #expect(shown == ["s3cret-1", "s3cret-2"])
        #expect(self.server.recorder.notes.filter { $0.hasPrefix("fetch expiring") }.isEmpty)
    }

    @available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
    @Test(.timeLimit(.minutes(1)))
    func `configuration alone switches it on and sets its times`() async throws {
        let tokens = self.server.source(self.scheduler)
        #expect(try services(.tokenRefresh(tokens), nil).isEmpty)
        let section = "enabled: [tokenrefresh]\ntokenrefresh: {lead: 90, jitter: 2.5, maxAttempts: 2}"
        let on = try services(.tokenRefresh(tokens), section)
        let service = try #require(on.first as? TokenRefreshService)
        #expect(service.options == .init(lead: .seconds(90), jitter: .seconds(2.5), maxAttempts: 2))
        // Off, the tokens are there all the same, and only when asked for.
        for services in [[], on] {
            let isOn = !services.isEmpty
            let server = TokenServer()
            let scheduler = VirtualScheduler()
            let tokens = server.source(scheduler)
            let plan = isOn ? [TokenRefreshService(tokens, options: service.options)] : []
            try await run(plan) { _ in
                let transport = ScriptedTransport(scheduler: scheduler)
                let handler = try await self.connected(tokens, transport, scheduler)
                try await self.disconnect(handler)
                // Behind the renewal, and before its time limit.
                scheduler.advance(by: .seconds(915))
                if isOn { try await server.wait(for: "fetch expiring") }
            }
            #expect(server.recorder.notes == (isOn ? ["fetch first", "fetch expiring"] : ["fetch first"]))
        }
    }
}
