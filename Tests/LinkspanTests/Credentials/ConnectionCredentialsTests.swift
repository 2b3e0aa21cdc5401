@testable import Linkspan
internal import LinkspanRuntime
internal import LinkspanTesting
internal import Testing

@Suite("The credentials of a connection, as a value")
struct ConnectionCredentialsTests {
    private let start = Moment.now

    private func issued(_ generation: UInt64) -> IssuedCredentials {
        IssuedCredentials(
            credentials: Credentials(validFor: .seconds(60)), generation: generation, issuedAt: self.start,
            reason: .first)
    }

    /// What a renewal is asked for, once it is due.
    private func renewal(_ outputs: [ConnectionCredentials.Output]) -> ConnectionCredentials.Purpose? {
        outputs.compactMap { if case .ask(_, _, held: 1, let purpose) = $0 { purpose } else { nil } }.first
    }

    private func makeState() throws -> ConnectionCredentials {
        let transport = ScriptedTransport(scheduler: VirtualScheduler()) { _ in .perfect }
        let configuration = try ConnectionBuilder("scripted://server").transport(transport)
            .credentials(.provider { _ in Credentials() }).build()
        return ConnectionCredentials(Destination(configuration))
    }

    @Test
    func `an answer to an attempt counts once, and what was shown stays so`() throws {
        var state = try self.makeState()
        let purpose = ConnectionCredentials.Purpose.attempt(epoch: 1, .first)
        _ = state.obtain(epoch: 1, .first, now: self.start)
        let keepsOther = state.keep({}, for: .attempt(epoch: 2, .first))
        #expect(!keepsOther)
        let first = state.answered(.success(self.issued(5)), for: purpose, now: self.start, random: 0)
        #expect(first.count == 2)
        #expect(state.answered(.success(self.issued(6)), for: purpose, now: self.start, random: 0).isEmpty)
        state.shown(self.issued(3))
        #expect(state.isShown(generation: 5))
    }

    @Test
    func `a renewal asks for newer credentials than the newest, whether those were shown or not`() throws {
        var state = try self.makeState()
        _ = state.obtain(epoch: 1, .first, now: self.start)
        _ = state.answered(.success(self.issued(1)), for: .attempt(epoch: 1, .first), now: self.start, random: 0)
        _ = state.linkOpened(now: self.start, random: 0)
        let due = self.start + .seconds(48)
        let purpose = try #require(self.renewal(state.timerFired(now: due, random: 0)))
        _ = state.answered(.success(self.issued(2)), for: purpose, now: due, random: 0)
        #expect(state.deadline == due + .seconds(1))
        let outputs = state.timerFired(now: due + .seconds(1), random: 0)
        #expect(outputs.contains { if case .ask(_, _, held: 2, _) = $0 { true } else { false } })
    }

    @Test(arguments: [(500, nil), (1_000, nil), (1_250, 1_000)] as [(Int, Int?)])
    func `credentials are renewed a second after the former ones, if they last as long`(lifetime: Int, due: Int?) {
        var schedule = RenewalSchedule(credentialDeadline: .seconds(10))
        schedule.follow(validFor: .milliseconds(lifetime), now: self.start, random: 0)
        #expect(schedule.deadline == due.map { self.start + .milliseconds($0) })
    }

    @Test
    func `renewals end after as many failures as there may be, or grow rare while they go on`() {
        let timing = RenewalSchedule.Timing(lead: .seconds(60), spread: .zero, maxFailures: 2)
        var (short, long) = (
            RenewalSchedule(credentialDeadline: .seconds(10), timing: timing),
            RenewalSchedule(credentialDeadline: .seconds(10))
        )
        func fail(_ schedule: inout RenewalSchedule) -> Duration? {
            guard let due = schedule.deadline else { return nil }
            _ = schedule.timerFired(now: due, random: 0)
            schedule.failed(now: due, random: 1)
            return schedule.deadline.map { due.duration(to: $0) }
        }
        short.follow(validFor: .seconds(600), now: self.start, random: 0)
        let waits = [fail(&short), fail(&short)]
        #expect(waits == [.seconds(1), nil])
        long.follow(validFor: .seconds(10_000), now: self.start, random: 0)
        let later = (0..<30).compactMap { _ in fail(&long) }
        #expect(later.last == .seconds(30))
    }

    @Test(arguments: [false, true])
    func `an answer to a renewal counts once, and not after the link has ended`(isLinkUp: Bool) throws {
        var state = try self.makeState()
        _ = state.obtain(epoch: 1, .first, now: self.start)
        _ = state.answered(.success(self.issued(1)), for: .attempt(epoch: 1, .first), now: self.start, random: 0)
        _ = state.linkOpened(now: self.start, random: 0)
        let due = try #require(state.deadline)
        let purpose = try #require(self.renewal(state.timerFired(now: due, random: 0)))
        if !isLinkUp { _ = state.linkEnded() }
        let keeps = state.keep({}, for: purpose)
        #expect(keeps == isLinkUp)
        let first = state.answered(.success(self.issued(2)), for: purpose, now: due, random: 0)
        #expect(first.count == (isLinkUp ? 1 : 0))
        #expect(state.answered(.success(self.issued(3)), for: purpose, now: due, random: 0).isEmpty)
        let keepsLater = state.keep({}, for: purpose)
        #expect(!keepsLater)
    }

    @Test
    func `a renewal is due before the expiry, not in the first half of the lifetime, and after a failure in a second`()
    {
        let timing = RenewalSchedule.Timing(lead: .seconds(60), spread: .seconds(10), maxFailures: 2)
        for (lifetime, random, due) in [(600, 0.0, 540), (600, 0.5, 535), (100, 0, 50)] {
            var schedule = RenewalSchedule(credentialDeadline: .seconds(10), timing: timing)
            schedule.follow(validFor: .seconds(lifetime), now: self.start, random: random)
            #expect(schedule.deadline == self.start + .seconds(due))
            let now = self.start + .seconds(due)
            guard case .ask = schedule.timerFired(now: now, random: 0) else {
                Issue.record("nothing is asked")
                continue
            }
            schedule.failed(now: now, random: 1)
            #expect(schedule.deadline == now + .seconds(1))
            schedule.stop()
            #expect(schedule.deadline == nil)
        }
    }
}
