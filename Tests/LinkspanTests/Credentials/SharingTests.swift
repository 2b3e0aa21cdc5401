@testable import Linkspan
internal import LinkspanTesting
internal import Testing

@Suite("Connections that share a provider", .timeLimit(.minutes(1)))
struct SharingTests {
    @Test
    func `a thousand connections make one call`() async throws {
        let provider = GatedProvider()
        let fleet = try Fleet(1_000, .provider { try await provider.credentials(for: $0) })
        try fleet.connect()
        try await provider.called(1, fleet.scheduler)
        provider.answer(1, token: "a")
        try await fleet.open()
        #expect(fleet.connections.allSatisfy { $0.state == .connected })
        #expect(provider.reasons == [.first])
        #expect(fleet.tokens == Array(repeating: "a", count: 1_000))
    }

    @Test
    func `a thousand connections that are refused together are renewed by one call`() async throws {
        let provider = GatedProvider()
        let fleet = try Fleet(1_000, .provider { try await provider.credentials(for: $0) }, accepts: { $0 == "new" })
        try fleet.connect()
        try await provider.called(1, fleet.scheduler)
        provider.answer(1, token: "old")
        try await fleet.open()
        fleet.scheduler.advance(by: .milliseconds(250))
        try await provider.called(2, fleet.scheduler)
        provider.answer(2, token: "new")
        try await fleet.open()
        #expect(fleet.connections.allSatisfy { $0.state == .connected })
        #expect(provider.reasons == [.first, .refused])
    }

    @Test
    func `a connection refused after another's renewal uses its result`() async throws {
        let provider = GatedProvider()
        let fleet = try Fleet(2, .provider { try await provider.credentials(for: $0) })
        try fleet.connect()
        try await provider.called(1, fleet.scheduler)
        provider.answer(1, token: "old")
        try await fleet.open()
        let refusal = LinkspanError(.credentialsRefused, "expired in a test")
        fleet.transport.peers[0].drop(refusal)
        fleet.scheduler.advance(by: .milliseconds(250))
        try await provider.called(2, fleet.scheduler)
        provider.answer(2, token: "new")
        try await fleet.open()
        fleet.transport.peers[1].drop(refusal)
        fleet.scheduler.advance(by: .milliseconds(250))
        #expect(fleet.connections.map(\.state) == [.connected, .connected])
        #expect(fleet.tokens == ["old", "old", "new", "new"])
        #expect(provider.reasons == [.first, .refused])
    }

    @Test
    func `each waits for its own deadline, and a provider that hangs is cancelled after the last`() async throws {
        let provider = GatedProvider()
        let fleet = try Fleet(
            3, .provider { try await provider.credentials(for: $0) },
            options: { $1.credentialDeadline = .seconds(5 + 5 * min($0, 1)) })
        try fleet.connect()
        try await provider.called(1, fleet.scheduler)
        fleet.scheduler.advance(by: .milliseconds(4_999))
        #expect(fleet.connections.map(\.state) == [.created, .created, .created])
        fleet.scheduler.advance(by: .milliseconds(1))
        #expect(fleet.connections.map(\.state) == [.reconnecting, .created, .created])
        #expect(fleet.connections[0].status.lastError?.code == .credentialsUnavailable)
        // Tries again meanwhile, and waits for the same call.
        fleet.scheduler.advance(by: .milliseconds(4_999))
        #expect(provider.cancelled == [])
        #expect(provider.reasons == [.first])
        try fleet.connections[0].disconnect()
        fleet.scheduler.advance(by: .milliseconds(1))
        #expect(fleet.connections.map(\.state) == [.disconnected, .reconnecting, .reconnecting])
        try await eventually("the cancellation", fleet.scheduler) { provider.cancelled == [1] }
        #expect(fleet.transport.peers.isEmpty)
    }

    @Test
    func `one that gives up does not spoil it for another`() async throws {
        let provider = GatedProvider()
        let fleet = try Fleet(2, .provider { try await provider.credentials(for: $0) })
        try fleet.connect()
        try await provider.called(1, fleet.scheduler)
        try fleet.connections[0].disconnect()
        #expect(provider.cancelled == [])
        provider.answer(1, token: "a")
        try await fleet.open()
        #expect(fleet.connections.map(\.state) == [.disconnected, .connected])
        #expect(fleet.tokens == ["a"])
    }

    @Test
    func `when all have given up, the provider is cancelled and asked anew by the next`() async throws {
        let provider = GatedProvider()
        let fleet = try Fleet(2, .provider { try await provider.credentials(for: $0) })
        try fleet.connect()
        try await provider.called(1, fleet.scheduler)
        for connection in fleet.connections { try connection.disconnect() }
        try await eventually("the cancellation", fleet.scheduler) { provider.cancelled == [1] }
        try fleet.connections[0].connect()
        try await provider.called(2, fleet.scheduler)
        provider.answer(2, token: "a")
        try await fleet.open()
        #expect(fleet.connections.map(\.state) == [.connected, .disconnected])
        #expect(provider.reasons == [.first, .retry])
    }

    @Test
    func `a failure of the provider reaches all, and they ask again together`() async throws {
        let provider = GatedProvider()
        let fleet = try Fleet(3, .provider { try await provider.credentials(for: $0) })
        try fleet.connect()
        try await provider.called(1, fleet.scheduler)
        provider.fail(1)
        try await fleet.open()
        #expect(fleet.connections.allSatisfy { $0.status.lastError?.code == .credentialsUnavailable })
        fleet.scheduler.advance(by: .seconds(2))
        try await provider.called(2, fleet.scheduler)
        provider.answer(2, token: "a")
        try await fleet.open()
        #expect(fleet.connections.allSatisfy { $0.state == .connected })
        #expect(provider.reasons == [.first, .retry])
    }

    @Test
    func `two sources of the same provider share nothing`() async throws {
        let provider = GatedProvider()
        let fleets = try (1...2).map { _ in try Fleet(1, .provider { try await provider.credentials(for: $0) }) }
        for fleet in fleets { try fleet.connect() }
        try await provider.called(2, fleets[0].scheduler)
        #expect(provider.reasons == [.first, .first])
    }
}
