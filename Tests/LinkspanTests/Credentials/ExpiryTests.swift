@testable import Linkspan
internal import LinkspanRuntime
internal import LinkspanTesting
internal import Testing

@Suite("Credentials that expire while the connection is up", .timeLimit(.minutes(1)))
struct ExpiryTests {
    /// A connection that is up with credentials that are good for 1,000 s, so that they are renewed after 775 s.
    private struct Setup {
        static let renewal = Duration.milliseconds(775_000)

        let provider = GatedProvider()
        let harness: Harness

        var connection: PooledConnection { self.harness.connection }
        var scheduler: VirtualScheduler { self.harness.scheduler }
        var due: Duration? { self.connection.renewalDeadline.map { self.scheduler.start.duration(to: $0.instant) } }

        init(script: @escaping @Sendable (Int) -> LinkScript = { _ in .perfect }) async throws {
            self.harness = try Harness(
                credentials: .provider { [provider = self.provider] in try await provider.credentials(for: $0) },
                script: script)
            try self.connection.connect()
            try await self.provider.called(1, self.scheduler)
            self.provider.answer(1, token: "1", validFor: .seconds(1_000))
            let harness = self.harness
            try await eventually("the first attempt", harness.scheduler) { harness.recorder.changes.count == 1 }
            #expect(self.connection.state == .connected)
        }

        /// Goes on to the call that renews.
        func expire() async throws {
            self.scheduler.advance(by: Self.renewal - self.scheduler.elapsed)
            try await self.provider.called(2, self.scheduler)
        }

        func renew(_ call: Int, token: String, validFor: Duration? = nil) async throws {
            let before = self.due
            self.provider.answer(call, token: token, validFor: validFor)
            try await eventually("the renewal", self.scheduler) { self.due != before }
        }

        /// The connection never went down.
        func checkUndisturbed() {
            #expect(self.connection.state == .connected)
            #expect(self.harness.recorder.changes.map(\.to) == [.connected])
            #expect(self.harness.peers.count == 1)
        }
    }

    @Test
    func `they are renewed ahead of time, and the new ones are for the next attempt`() async throws {
        let setup = try await Setup()
        #expect(setup.due == Setup.renewal)
        setup.scheduler.advance(by: Setup.renewal - .milliseconds(1))
        #expect(setup.provider.reasons == [.first])
        try await setup.expire()
        #expect(setup.provider.reasons == [.first, .expiring])
        try await setup.renew(2, token: "2", validFor: .seconds(1_000))
        setup.checkUndisturbed()
        #expect(setup.due == Setup.renewal * 2, "and so on")
        setup.harness.peers[0].drop()
        setup.scheduler.advance(by: .seconds(2))
        #expect(setup.harness.peers.map(\.request.token) == ["1", "2"])
        #expect(setup.connection.state == .connected)
        #expect(setup.provider.reasons == [.first, .expiring])
    }

    @Test
    func `a link that can shows the new ones to the server`() async throws {
        let setup = try await Setup { _ in .init { $0.showsRenewals = true } }
        try await setup.expire()
        try await setup.renew(2, token: "2")
        try await eventually("the push", setup.scheduler) { setup.harness.peers[0].renewals.count == 1 }
        #expect(setup.harness.peers[0].renewals.map(\.auth?.text) == ["\"2\""])
        setup.checkUndisturbed()
        #expect(setup.due == nil, "they do not say how long they are good")
    }

    @Test
    func `a server that refuses the former ones at their end is shown the renewed ones without another call`()
        async throws
    {
        let setup = try await Setup()
        try await setup.expire()
        try await setup.renew(2, token: "2", validFor: .seconds(1_000))
        setup.harness.peers[0].drop(LinkspanError(.credentialsRefused, "expired in a test"))
        setup.scheduler.advance(by: .milliseconds(250))
        #expect(setup.harness.peers.map(\.request.token) == ["1", "2"])
        #expect(setup.connection.state == .connected)
        #expect(setup.provider.reasons == [.first, .expiring])
    }

    @Test
    func `when the renewed ones are refused, too, there is still one renewal, and no more`() async throws {
        let setup = try await Setup { number in
            number == 1 ? .perfect : .refusing(LinkspanError(.credentialsRefused, "refused in a test"))
        }
        try await setup.expire()
        try await setup.renew(2, token: "2", validFor: .seconds(1_000))
        setup.scheduler.advance(by: .seconds(120))
        setup.harness.peers[0].drop(LinkspanError(.credentialsRefused, "revoked in a test"))
        setup.scheduler.advance(by: .milliseconds(500))
        try await setup.provider.called(3, setup.scheduler)
        #expect(setup.provider.reasons == [.first, .expiring, .refused])
        setup.provider.answer(3, token: "3")
        try await eventually("the end", setup.scheduler) { setup.harness.recorder.changes.last?.to == .disconnected }
        setup.scheduler.advance(by: .seconds(600))
        #expect(setup.harness.peers.map(\.request.token) == ["1", "2", "3"])
        #expect(setup.provider.requests.count == 3)
        #expect(setup.connection.status.facts.refusals == 2)
    }

    @Test
    func `a server that refuses what it was shown has them renewed`() async throws {
        let setup = try await Setup { _ in .init { $0.showsRenewals = true } }
        try await setup.expire()
        try await setup.renew(2, token: "2", validFor: .seconds(1_000))
        try await eventually("the push", setup.scheduler) { setup.harness.peers[0].renewals.count == 1 }
        // The note that they were shown is made after the push.
        try await eventually("the note", setup.scheduler) { setup.connection.isShown(generation: 2) }
        setup.harness.peers[0].drop(LinkspanError(.credentialsRefused, "refused in a test"))
        setup.scheduler.advance(by: .milliseconds(250))
        try await setup.provider.called(3, setup.scheduler)
        #expect(setup.provider.reasons == [.first, .expiring, .refused])
    }

    @Test
    func `a provider that fails is asked again until they expire, and the connection stays up`() async throws {
        let setup = try await Setup()
        try await setup.expire()
        var call = 2
        while let due = setup.due {
            // Before the answer, what is waited for is the provider's deadline.
            setup.provider.fail(call)
            try await eventually("the failure", setup.scheduler) { setup.due != due }
            guard let next = setup.due else { break }
            #expect(next > setup.scheduler.elapsed && next < .seconds(1_000))
            setup.scheduler.advance(by: next - setup.scheduler.elapsed)
            call += 1
            try await setup.provider.called(call, setup.scheduler)
        }
        #expect(call > 10)
        #expect(setup.provider.reasons.dropFirst().allSatisfy { $0 == .expiring })
        setup.scheduler.advance(by: .seconds(3_600))
        setup.checkUndisturbed()
        #expect(setup.provider.requests.count == call)
    }

    @Test
    func `a provider that hangs is cancelled at its deadline and asked again`() async throws {
        let setup = try await Setup()
        try await setup.expire()
        setup.scheduler.advance(by: .milliseconds(9_999))
        #expect(setup.provider.cancelled == [])
        setup.scheduler.advance(by: .milliseconds(1))
        try await eventually("the cancellation", setup.scheduler) { setup.provider.cancelled == [2] }
        setup.scheduler.advance(by: .seconds(2))
        try await setup.provider.called(3, setup.scheduler)
        try await setup.renew(3, token: "3", validFor: .seconds(1_000))
        setup.checkUndisturbed()
    }

    @Test
    func `a connection that goes down has nothing renewed, and the provider is cancelled`() async throws {
        let setup = try await Setup()
        try await setup.expire()
        try setup.connection.disconnect()
        try await eventually("the cancellation", setup.scheduler) { setup.provider.cancelled == [2] }
        #expect(setup.due == nil)
        setup.scheduler.advance(by: .seconds(3_600))
        #expect(setup.provider.requests.count == 2)
    }

    @Test
    func `renewed credentials that name a URL which will not do count as a failure`() async throws {
        let setup = try await Setup()
        try await setup.expire()
        let before = setup.due
        setup.provider.answer(2, Credentials(url: try ConnectionURL("ftp://server"), validFor: .seconds(1_000)))
        try await eventually("the failure", setup.scheduler) { setup.due != before }
        #expect(setup.due.map { $0 < Setup.renewal + .seconds(3) } == true)
        setup.checkUndisturbed()
    }

    @Test
    func `connections that share a provider have them renewed by one call`() async throws {
        let provider = GatedProvider()
        let fleet = try Fleet(100, .provider { try await provider.credentials(for: $0) })
        try fleet.connect()
        try await provider.called(1, fleet.scheduler)
        provider.answer(1, token: "1", validFor: .seconds(1_000))
        try await eventually("the connections", fleet.scheduler) {
            fleet.connections.allSatisfy { $0.renewalDeadline != nil }
        }
        fleet.scheduler.advance(by: .seconds(775))
        try await provider.called(2, fleet.scheduler)
        let before = fleet.connections.map(\.renewalDeadline)
        provider.answer(2, token: "2", validFor: .seconds(1_000))
        try await eventually("the renewals", fleet.scheduler) {
            zip(before, fleet.connections).allSatisfy { $0 != $1.renewalDeadline }
        }
        fleet.scheduler.advance(by: .seconds(700))
        #expect(provider.reasons == [.first, .expiring])
        #expect(fleet.connections.allSatisfy { $0.state == .connected })
        #expect(fleet.transport.peers.count == 100)
    }
}

@Suite("The schedule of renewals")
struct RenewalScheduleTests {
    private let start = Moment.now

    private func due(_ validFor: Duration?, random: Double = 0, age: Duration = .zero) -> Duration? {
        var schedule = RenewalSchedule(credentialDeadline: .seconds(10))
        let issued = IssuedCredentials(
            credentials: Credentials(validFor: validFor), generation: 1, issuedAt: self.start, reason: .first)
        schedule.follow(issued, now: self.start + age, random: random)
        return schedule.deadline.map { self.start.duration(to: $0) }
    }

    @Test
    func `renewals fall between 75 and 80 per cent of the lifetime`() throws {
        #expect(self.due(.seconds(100)) == .seconds(80))
        let earliest = try #require(self.due(.seconds(100), random: 1))
        #expect(earliest == .seconds(75))
    }

    @Test
    func `nothing is due without a lifetime, or when there is too little left of it`() {
        #expect(self.due(nil) == nil)
        #expect(self.due(.zero) == nil)
        #expect(self.due(.seconds(-5)) == nil)
        #expect(self.due(.seconds(1)) == nil)
        #expect(self.due(.seconds(100), age: .seconds(99)) == nil)
    }

    @Test
    func `credentials that are old already are renewed soon, but not at once`() {
        #expect(self.due(.seconds(100), age: .seconds(90)) == .seconds(91))
        #expect(self.due(.milliseconds(1_100)) == .seconds(1))
    }

    @Test
    func `a timer that fires early or late for something else does nothing`() {
        var schedule = RenewalSchedule(credentialDeadline: .seconds(10))
        #expect(schedule.timerFired(now: self.start, random: 0) == .nothing)
        let issued = IssuedCredentials(
            credentials: Credentials(validFor: .seconds(100)), generation: 1, issuedAt: self.start, reason: .first)
        schedule.follow(issued, now: self.start, random: 0)
        #expect(schedule.timerFired(now: self.start + .seconds(79), random: 0) == .nothing)
        #expect(schedule.timerFired(now: self.start + .seconds(80), random: 0) == .ask)
        #expect(schedule.timerFired(now: self.start + .seconds(80), random: 0) == .nothing)
        schedule.stop()
        schedule.failed(now: self.start + .seconds(81), random: 0)
        #expect(schedule.deadline == nil)
    }
}
