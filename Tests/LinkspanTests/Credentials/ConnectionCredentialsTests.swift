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

    @Test(arguments: [false, true])
    func `an answer to a renewal counts once, and not after the link has ended`(isLinkUp: Bool) throws {
        let transport = ScriptedTransport(scheduler: VirtualScheduler()) { _ in .perfect }
        let configuration = try ConnectionBuilder("scripted://server").transport(transport)
            .credentials(.provider { _ in Credentials() }).build()
        var state = ConnectionCredentials(Destination(configuration))
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
