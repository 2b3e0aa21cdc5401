@testable import Linkspan
internal import LinkspanTesting
internal import Testing

@Suite("A renewal after a refusal", .timeLimit(.minutes(1)))
struct RenewalTests {
    private static let refusal = LinkspanError(.credentialsRefused, "not you")

    @Test(arguments: ["hangs", "fails"])
    func `a renewal that does not come about is still owed`(how: String) async throws {
        let provider = GatedProvider()
        let fleet = try Fleet(1, .provider { try await provider.credentials(for: $0) }, accepts: { $0 == "new" })
        try fleet.connect()
        try await provider.called(1, fleet.scheduler)
        provider.answer(1, token: "old")
        try await fleet.open()
        fleet.scheduler.advance(by: .milliseconds(250))
        try await provider.called(2, fleet.scheduler)
        if how == "fails" { provider.fail(2) } else { fleet.scheduler.advance(by: .seconds(10)) }
        try await fleet.open()
        #expect(fleet.connections[0].status.lastError?.code == .credentialsUnavailable)
        #expect(fleet.connections[0].state == .reconnecting)
        fleet.scheduler.advance(by: .seconds(5))
        try await provider.called(3, fleet.scheduler)
        provider.answer(3, token: "new")
        try await fleet.open()
        #expect(fleet.connections[0].state == .connected)
        #expect(provider.reasons == [.first, .refused, .refused])
    }

    @Test
    func `credentials that were refused are not used again, however long they say they are good`() async throws {
        let provider = GatedProvider()
        let fleet = try Fleet(2, .provider { try await provider.credentials(for: $0) }, accepts: { $0 == "new" })
        try fleet.connections[0].connect()
        try await provider.called(1, fleet.scheduler)
        provider.answer(1, token: "old", validFor: .seconds(3_600))
        try await fleet.open()
        fleet.scheduler.advance(by: .milliseconds(250))
        try await provider.called(2, fleet.scheduler)
        try fleet.connections[1].connect()
        provider.answer(2, token: "new")
        try await fleet.open()
        #expect(fleet.connections.map(\.state) == [.connected, .connected])
        #expect(fleet.tokens == ["old", "new", "new"])
    }

    @Test
    func `refused twice, it reports that and the remedy`() async throws {
        let provider = GatedProvider()
        let fleet = try Fleet(1, .provider { try await provider.credentials(for: $0) }, accepts: { _ in false })
        let connection = fleet.connections[0]
        try fleet.connect()
        for call in 1...2 {
            try await provider.called(call, fleet.scheduler)
            provider.answer(call, token: "old")
            try await fleet.open()
            fleet.scheduler.advance(by: .milliseconds(250))
        }
        #expect(connection.state == .disconnected)
        #expect(connection.status.facts.refusals == 2)
        #expect(
            connection.explain()
                == "The connection to scripted://server/1 is down and is not retried. "
                + "The reason: scripted://server/1: refused in a test (credentialsRefused). "
                + "The server refused the credentials and the renewed ones, so they are not renewed automatically again. "
                + "Sign in again or correct the provider, then call connect(), which asks for a renewal."
        )
        fleet.scheduler.advance(by: .seconds(3_600))
        #expect(fleet.transport.peers.count == 2)
        try connection.connect()
        try await provider.called(3, fleet.scheduler)
        #expect(provider.reasons == [.first, .refused, .refused])
    }

    @Test
    func `given up by the app after one refusal, it says that others are asked for`() async throws {
        let provider = GatedProvider()
        let fleet = try Fleet(1, .provider { try await provider.credentials(for: $0) }, accepts: { _ in false })
        try fleet.connect()
        try await provider.called(1, fleet.scheduler)
        provider.answer(1, token: "old")
        try await fleet.open()
        try fleet.connections[0].disconnect()
        #expect(
            fleet.connections[0].explain().hasSuffix("connect() asks the provider for new ones."))
    }

    @Test
    func `without a provider, it says that there are no others`() throws {
        let harness = try Harness(credentials: .fixed(Credentials())) { _ in .refusing(Self.refusal) }
        try harness.connection.connect()
        harness.scheduler.settle()
        #expect(
            harness.connection.explain()
                == "The connection to scripted://server/ is down and is not retried. "
                + "The reason: scripted://server: not you (credentialsRefused). They are fixed, so connect() "
                + "would send the same again: connect with other credentials.")
    }
}
