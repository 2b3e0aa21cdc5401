@testable import Linkspan
internal import LinkspanRuntime
internal import LinkspanTesting
internal import Testing

@Suite("The connection state machine")
struct StateMachineTests {
    private let start = Moment.now

    private func makeMachine(
        canRenew: Bool = false, retry: RetryPolicy = .standard, spacing: Duration = .zero,
        endpoints: EndpointRotation? = nil
    ) -> Attempts {
        var options = ConnectionOptions()
        options.retry = retry
        return Attempts(
            AttemptRules(sharedOptions: Boxed(options), spacing: spacing, canRenewCredentials: canRenew),
            endpoints: endpoints)
    }

    /// Opens the link of an attempt.
    private func open(_ machine: inout Attempts, _ epoch: UInt64, at now: Moment) {
        _ = machine.credentialsArrived(epoch: epoch, now: now)
        _ = machine.linkOpened(epoch: epoch, LinkInfo(), now: now)
    }

    private static let refusal = LinkspanError(.credentialsRefused, "refused in a test")

    @Test(arguments: 0..<200)
    func `random events lead to legal states only`(seed: Int) throws {
        var generator = SeededGenerator(seed: UInt64(seed))
        var walk = RandomWalk(machine: self.makeMachine(canRenew: seed.isMultiple(of: 2)), now: self.start)
        for _ in 0..<500 { try walk.step(using: &generator) }
        #expect(walk.changes.map(\.sequence) == (0..<walk.changes.count).map { UInt64($0) + 1 })
    }

    @Test
    func `news of a former epoch changes nothing`() throws {
        var machine = self.makeMachine()
        _ = try machine.connect(now: self.start)
        _ = machine.credentialsArrived(epoch: 1, now: self.start)
        _ = machine.linkOpened(epoch: 1, LinkInfo(), now: self.start)
        _ = machine.linkClosed(epoch: 1, .lost, now: self.start, random: 0)
        _ = machine.timerFired(now: self.start + .seconds(1), random: 0)
        let before = machine.progress
        #expect(machine.credentialsArrived(epoch: 1, now: self.start).isEmpty)
        #expect(machine.linkOpened(epoch: 1, LinkInfo(), now: self.start).isEmpty)
        #expect(machine.linkClosed(epoch: 1, .lost, now: self.start, random: 0).isEmpty)
        #expect(machine.credentialsFailed(epoch: 1, .lost, now: self.start, random: 0).isEmpty)
        #expect(machine.progress == before)
    }

    @Test
    func `a timer that fires early does nothing`() throws {
        var machine = self.makeMachine()
        _ = try machine.connect(now: self.start)
        #expect(machine.timerFired(now: self.start + .seconds(9), random: 0).isEmpty)
        #expect(machine.progress == .obtainingCredentials(attempt: 1))
    }

    /// The reason for which credentials are asked for.
    private func reason(_ outputs: [Attempts.Output]) -> CredentialRequest.Reason? {
        outputs.compactMap { if case .provideCredentials(_, let reason) = $0 { reason } else { nil } }.first
    }

    @Test
    func `refused credentials are renewed once within 250 ms, and once again after each connect`() throws {
        var machine = self.makeMachine(canRenew: true)
        let refusal = LinkspanError(.credentialsRefused, "refused in a test")
        var epoch: UInt64 = 0
        /// One attempt that the server refuses.
        func refuse() {
            epoch += 1
            _ = machine.credentialsArrived(epoch: epoch, now: self.start)
            _ = machine.linkClosed(epoch: epoch, refusal, now: self.start, random: 1)
        }
        for _ in 0..<2 {
            _ = try machine.connect(now: self.start)
            refuse()
            #expect(machine.deadline == self.start + .milliseconds(250))
            machine.admit(at: self.start)
            let outputs = machine.timerFired(now: self.start + .milliseconds(250), random: 0)
            #expect(self.reason(outputs) == .refused)
            refuse()
            #expect(machine.failure?.code == .credentialsRefused)
        }
    }

    @Test
    func `another place gets credentials as a new connection does, and may refuse them once`() throws {
        var machine = self.makeMachine(canRenew: true)
        let refusal = LinkspanError(.credentialsRefused, "refused in a test")
        #expect(self.reason(try machine.connect(now: self.start)) == .first)
        _ = machine.credentialsArrived(epoch: 1, now: self.start)
        _ = machine.linkClosed(epoch: 1, refusal, now: self.start, random: 1)
        let outputs = machine.move(LinkspanError(.moved, "moved in a test"), now: self.start)
        #expect(self.reason(outputs) == .first)
        _ = machine.credentialsArrived(epoch: 2, now: self.start)
        _ = machine.linkClosed(epoch: 2, refusal, now: self.start, random: 1)
        #expect(machine.deadline == self.start + .milliseconds(250))
    }

    @Test
    func `failures before a suspension do not lengthen the waits after it`() throws {
        var machine = self.makeMachine(retry: RetryPolicy { .seconds($0.failures) })
        _ = try machine.connect(now: self.start)
        _ = machine.credentialsFailed(epoch: 1, .lost, now: self.start, random: 0)
        #expect(machine.deadline == self.start + .seconds(1))
        _ = machine.suspend(LinkspanError(.suspended, "in a test"), patience: nil, now: self.start, random: 0)
        _ = machine.resume(after: .zero, now: self.start)
        machine.admit(at: self.start)
        _ = machine.timerFired(now: self.start, random: 0)
        _ = machine.credentialsFailed(epoch: 2, .lost, now: self.start, random: 0)
        #expect(machine.deadline == self.start + .seconds(1))
    }

    @Test
    func `an outage that starts over has counted nothing`() {
        var outage = Outage()
        outage.attempts = 3
        for _ in 0..<2 { outage.fail(LinkspanError(.protocolViolation, "in a test"), isAttempt: true) }
        #expect(outage.report(.lost, isFinal: false, isUnproven: false)?.isFirst == true)
        outage.startOver(now: self.start)
        #expect((outage.failures, outage.attempts, outage.violations) == (0, 0, 0))
        #expect(outage.start == self.start)
        #expect(outage.report(.lost, isFinal: false, isUnproven: false)?.isFirst == true)
    }

    @Test
    func `a connection with several endpoints moves when its next link leads elsewhere`() throws {
        let urls = try ["scripted://a", "scripted://b"].map { try ConnectionURL($0) }
        var target = AttemptTarget(EndpointRotation(urls, Endpoints(), random: { 0 }))
        let moves = [urls[0], urls[0], urls[1], urls[1]].map { target.moves(to: $0) }
        #expect(moves == [true, false, true, false])
        var single = AttemptTarget(nil)
        let movesAlone = urls.map { single.moves(to: $0) }
        #expect(movesAlone == [false, false])
    }

    @Test
    func `the same list of endpoints goes on where it was`() throws {
        let urls = try ["scripted://a", "scripted://b"].map { try ConnectionURL($0) }
        let rotation = EndpointRotation(urls, Endpoints(), random: { 0 })
        var target = AttemptTarget(rotation)
        for _ in 0..<2 { _ = target.endpoints?.fail(.lost) }
        target.adopt(rotation)
        #expect(target.endpoints?.rounds == 1)
    }

    @Test
    func `endpoints that a server names are added once, of its own scheme alone, and 32 at a time`() throws {
        var target = AttemptTarget(nil)
        _ = target.moves(to: try ConnectionURL("scripted://a"))
        target.learn(try ["scripted://a", "scripted://b", "plain://c"].map { try ConnectionURL($0) })
        #expect(target.endpoints?.urls.map(\.host) == ["a", "b"])
        target.learn(try (0..<40).map { try ConnectionURL("scripted://n\($0)") })
        #expect(target.endpoints?.urls.count == 34)
    }

    @Test
    func `a way back that is not due yet is not put off`() throws {
        let urls = try ["scripted://a", "scripted://b"].map { try ConnectionURL($0) }
        var rotation = EndpointRotation(urls, Endpoints(returnAfter: .seconds(60)), random: { 0 })
        _ = rotation?.fail(.lost)
        rotation?.putOffReturn(since: self.start, now: self.start + .milliseconds(59_500))
        #expect(rotation.flatMap { $0.returnDeadline(since: self.start) } == self.start + .seconds(60))
    }

    @Test
    func `behind a link all endpoints count as untried, those that refused included`() throws {
        let urls = try ["scripted://a", "scripted://b"].map { try ConnectionURL($0) }
        var rotation = EndpointRotation(urls, Endpoints(), random: { 0 })
        var outlooks = [rotation?.fail(.permanent), rotation?.fail(.lost)]
        #expect(rotation?.rounds == 1 && rotation?.index == 1)
        rotation?.connected()
        #expect(rotation?.rounds == 0)
        outlooks.append(rotation?.fail(.lost))
        #expect(outlooks == [.another, .roundOver, .another] && rotation?.index == 0)
    }

    @Test
    func `shuffled endpoints have no first one to return to`() throws {
        let urls = try ["scripted://a", "scripted://b"].map { try ConnectionURL($0) }
        var rules = Endpoints(returnAfter: .seconds(60))
        rules.isShuffled = true
        var rotation = EndpointRotation(urls, rules, random: { 0 })
        _ = rotation?.fail(.lost)
        #expect(rotation?.index == 1)
        #expect(rotation.flatMap { $0.returnDeadline(since: self.start) } == nil)
    }

    @Test
    func `resuming brings an attempt forward that is waited for, never back, and otherwise does nothing`() throws {
        var machine = self.makeMachine()
        #expect(machine.resume(after: .zero, now: self.start).isEmpty)
        #expect(machine.progress == .idle)
        _ = try machine.connect(now: self.start)
        _ = machine.credentialsFailed(epoch: 1, .lost, now: self.start, random: 0.9)
        #expect(machine.resume(after: .milliseconds(100), now: self.start).isEmpty)
        #expect(machine.deadline == self.start + .milliseconds(100))
        _ = machine.resume(after: .milliseconds(200), now: self.start)
        #expect(machine.deadline == self.start + .milliseconds(100))
        #expect(machine.timerFired(now: self.start + .milliseconds(100), random: 0).count == 1)
        #expect(machine.progress == .obtainingCredentials(attempt: 2))
    }

    @Test
    func `an attempt that was admitted and is not made is given back`() throws {
        let leaving: [(inout Attempts) throws -> [Attempts.Output]] = [
            { try $0.disconnect(now: self.start) }, { try $0.reconnectNow(now: self.start) },
            { $0.retire(.unoccupied, now: self.start) },
            { $0.suspend(.lost, patience: nil, now: self.start, random: 0) },
            { $0.suspend(.lost, patience: .seconds(60), now: self.start, random: 0) },
        ]
        for leave in leaving {
            var machine = self.makeMachine()
            _ = try machine.connect(now: self.start)
            _ = machine.credentialsFailed(epoch: 1, .lost, now: self.start, random: 0)
            #expect(machine.needsAdmission(now: self.start))
            machine.admit(at: self.start + .seconds(3))
            #expect(machine.deadline == self.start + .seconds(3))
            #expect(!machine.needsAdmission(now: self.start + .seconds(3)))
            let actions = try leave(&machine)
            #expect(actions.contains { if case .giveBackAdmission = $0 { true } else { false } })
            #expect(machine.deadline != self.start + .seconds(3))
        }
    }

    @Test
    func `a loss after a healthy time counts as the first failure of a new outage`() throws {
        let asked = Asked()
        var machine = self.makeMachine(
            retry: RetryPolicy { question in
                asked.record(question)
                return .zero
            })
        _ = try machine.connect(now: self.start)
        var now = self.start
        // Two links that die at once, then one that lives.
        for (epoch, life) in [(1, 0), (2, 0), (3, 60)] as [(UInt64, Int)] {
            _ = machine.credentialsArrived(epoch: epoch, now: now)
            _ = machine.linkOpened(epoch: epoch, LinkInfo(), now: now)
            now += .seconds(life)
            _ = machine.linkClosed(epoch: epoch, .lost, now: now, random: 0)
            _ = machine.timerFired(now: now, random: 0)
        }
        #expect(asked.questions.map(\.failures) == [1, 2, 1])
        #expect(asked.questions.last?.outage == .zero)
    }

    @Test
    func `patience puts a wait off, and shortens none that the server has asked for`() throws {
        var machine = self.makeMachine()
        _ = try machine.connect(now: self.start)
        _ = machine.credentialsArrived(epoch: 1, now: self.start)
        let busy = LinkspanError(.serverUnavailable, "busy", retryAfter: .seconds(200))
        _ = machine.linkClosed(epoch: 1, busy, now: self.start, random: 0)
        for (patience, wait) in [(60, 200), (300, 300)] {
            _ = machine.suspend(.lost, patience: .seconds(patience), now: self.start, random: 0)
            #expect(machine.deadline == self.start + .seconds(wait))
        }
    }

    @Test
    func `credentials that are refused over short links are renewed once, and the second refusal is reported`() throws {
        var machine = self.makeMachine(canRenew: true)
        _ = try machine.connect(now: self.start)
        self.open(&machine, 1, at: self.start)
        _ = machine.linkClosed(epoch: 1, Self.refusal, now: self.start, random: 1)
        #expect(machine.deadline == self.start + .milliseconds(250))
        _ = machine.timerFired(now: self.start + .seconds(1), random: 0)
        self.open(&machine, 2, at: self.start + .seconds(1))
        let outputs = machine.linkClosed(epoch: 2, Self.refusal, now: self.start + .seconds(2), random: 1)
        #expect(machine.failure?.code == .credentialsRefused)
        #expect(outputs.contains { if case .attemptFailed(let failure) = $0 { failure.isFinal } else { false } })
    }

    @Test
    func `credentials may be refused once more behind a link that lasted and was suspended`() throws {
        var machine = self.makeMachine(canRenew: true)
        _ = try machine.connect(now: self.start)
        _ = machine.credentialsArrived(epoch: 1, now: self.start)
        _ = machine.linkClosed(epoch: 1, Self.refusal, now: self.start, random: 1)
        _ = machine.timerFired(now: self.start + .seconds(1), random: 0)
        self.open(&machine, 2, at: self.start + .seconds(1))
        let later = self.start + .seconds(60)
        _ = machine.suspend(LinkspanError(.suspended, "in a test"), patience: nil, now: later, random: 0)
        _ = machine.resume(after: .zero, now: later)
        _ = machine.timerFired(now: later, random: 0)
        _ = machine.credentialsArrived(epoch: 3, now: later)
        _ = machine.linkClosed(epoch: 3, Self.refusal, now: later, random: 1)
        #expect(machine.deadline == later + .milliseconds(250))
    }

    @Test
    func `credentials that are not new are no renewal of those that were refused before`() throws {
        var machine = self.makeMachine(canRenew: true)
        _ = try machine.connect(now: self.start)
        for (epoch, error, isRenewed) in [(1, Self.refusal, false), (2, .lost, true), (3, Self.refusal, false)]
            as [(UInt64, LinkspanError, Bool)]
        {
            #expect(machine.failure == nil)
            _ = machine.credentialsArrived(epoch: epoch, isRenewed: isRenewed, now: self.start)
            _ = machine.linkClosed(epoch: epoch, error, now: self.start, random: 0)
            _ = machine.timerFired(now: self.start + .seconds(60), random: 0)
        }
        #expect(machine.failure?.code == .credentialsRefused)
    }

    @Test
    func `connect begins with the first endpoint, and what was suspended is then left by the app`() throws {
        let urls = try ["scripted://a", "scripted://b"].map { try ConnectionURL($0) }
        var machine = self.makeMachine(endpoints: EndpointRotation(urls, Endpoints(), random: { 0 }))
        _ = try machine.connect(now: self.start)
        _ = machine.credentialsFailed(epoch: 1, .lost, now: self.start, random: 0)
        #expect(machine.target.endpoints?.index == 1)
        _ = machine.suspend(LinkspanError(.suspended, "in a test"), patience: nil, now: self.start, random: 0)
        #expect(machine.lastError?.code == .suspended)
        _ = try machine.disconnect(now: self.start)
        #expect(machine.lastError == nil)
        _ = try machine.connect(now: self.start)
        #expect(machine.target.endpoints?.index == 0)
    }

    @Test
    func `a link is healthy from the time on that the options name`() throws {
        var machine = self.makeMachine(retry: RetryPolicy { .seconds($0.failures) })
        _ = try machine.connect(now: self.start)
        _ = machine.credentialsFailed(epoch: 1, .lost, now: self.start, random: 0)
        _ = machine.timerFired(now: self.start + .seconds(1), random: 0)
        self.open(&machine, 2, at: self.start + .seconds(1))
        let end = self.start + .seconds(1) + ConnectionOptions().healthyAfter
        _ = machine.linkClosed(epoch: 2, .lost, now: end, random: 0)
        #expect(machine.deadline == end + .seconds(1))
    }

    @Test
    func `an outage without a link before lasts since its first attempt`() throws {
        var machine = self.makeMachine(retry: RetryPolicy { $0.outage })
        _ = try machine.connect(now: self.start)
        _ = machine.credentialsFailed(epoch: 1, .lost, now: self.start + .seconds(5), random: 0)
        #expect(machine.deadline == self.start + .seconds(10))
    }

    @Test
    func `violations of the protocol over links that were up do not end the attempts`() throws {
        var machine = self.makeMachine()
        _ = try machine.connect(now: self.start)
        for epoch in UInt64(1)...4 {
            self.open(&machine, epoch, at: self.start)
            _ = machine.linkClosed(
                epoch: epoch, LinkspanError(.protocolViolation, "in a test"), now: self.start, random: 0)
            #expect(machine.state == .reconnecting)
            _ = machine.timerFired(now: self.start + .seconds(60), random: 0)
        }
    }

    @Test
    func `attempts at a server that comes and goes are spread behind their spacing`() throws {
        var machine = self.makeMachine(spacing: .seconds(1))
        _ = try machine.connect(now: self.start)
        self.open(&machine, 1, at: self.start)
        _ = machine.linkClosed(epoch: 1, .lost, hasSpoken: true, now: self.start, random: 1)
        #expect(machine.deadline == self.start + .milliseconds(1_250))
    }

    @Test
    func `patience holds for the attempts behind the wait that it puts off`() throws {
        var machine = self.makeMachine()
        _ = try machine.connect(now: self.start)
        _ = machine.credentialsFailed(epoch: 1, .lost, now: self.start, random: 0)
        _ = machine.suspend(.lost, patience: .seconds(60), now: self.start, random: 0)
        let next = self.start + .seconds(60)
        _ = machine.timerFired(now: next, random: 0)
        _ = machine.credentialsFailed(epoch: 2, .lost, now: next, random: 0)
        #expect(machine.deadline == next + .seconds(60))
    }

    @Test
    func `the last error is forgotten when a link opens, and behind a move`() throws {
        var machine = self.makeMachine()
        _ = try machine.connect(now: self.start)
        _ = machine.credentialsFailed(epoch: 1, .lost, now: self.start, random: 0)
        var moved = machine
        _ = moved.move(LinkspanError(.moved, "in a test"), now: self.start)
        #expect(machine.lastError?.code == .connectionLost && moved.lastError == nil)
        _ = machine.timerFired(now: self.start + .seconds(60), random: 0)
        self.open(&machine, 2, at: self.start + .seconds(60))
        #expect(machine.lastError == nil)
    }

    @Test
    func `the way back to the first endpoint begins a new outage`() throws {
        let urls = try ["scripted://a", "scripted://b"].map { try ConnectionURL($0) }
        let asked = Asked()
        var machine = self.makeMachine(
            retry: RetryPolicy { question in
                asked.record(question)
                return .zero
            }, endpoints: EndpointRotation(urls, Endpoints(returnAfter: .seconds(60))) { 0 })
        _ = try machine.connect(now: self.start)
        _ = machine.credentialsFailed(epoch: 1, .lost, now: self.start, random: 0)
        _ = machine.timerFired(now: self.start, random: 0)
        self.open(&machine, 2, at: self.start)
        let back = self.start + .seconds(60)
        _ = machine.timerFired(now: back, random: 0)
        _ = machine.credentialsFailed(epoch: 3, .lost, now: back, random: 0)
        #expect(asked.questions.map(\.failures) == [1, 1])
    }

    @Test
    func `a server no longer comes and goes once the last such loss is as old as a healthy link`() {
        var outage = Outage()
        outage.noteFlap(wasHealthy: false, hasSpoken: true, now: self.start)
        let flaps = [9, 10].map { outage.isFlapping(.lost, within: .seconds(10), now: self.start + .seconds($0)) }
        #expect(flaps == [true, false])
    }

    @Test
    func `a server does not come and go that asks for patience, whose path is away, or whose link lasted`() {
        var outage = Outage()
        outage.noteFlap(wasHealthy: false, hasSpoken: true, now: self.start)
        let isFlapping = { (error: LinkspanError) in
            outage.isFlapping(error, within: .seconds(10), now: self.start)
        }
        #expect(isFlapping(.lost))
        #expect(!isFlapping(LinkspanError(.serverUnavailable, "busy")))
        #expect(!isFlapping(LinkspanError(.connectionLost, "later", retryAfter: .seconds(1))))
        outage.patience = .seconds(60)
        #expect(!isFlapping(.lost))
        outage.patience = nil
        outage.noteFlap(wasHealthy: true, hasSpoken: true, now: self.start)
        #expect(!isFlapping(.lost))
    }

    @Test
    func `an outage begins with its first loss, and anew with that of a link that lasted`() {
        var outage = Outage()
        outage.noteLoss(wasHealthy: false, now: self.start)
        #expect(outage.start == self.start)
        outage.fail(.lost, isAttempt: true)
        let later = self.start + .seconds(1)
        outage.noteLoss(wasHealthy: false, now: later)
        #expect((outage.start, outage.failures) == (self.start, 1))
        outage.noteLoss(wasHealthy: true, now: later)
        #expect((outage.start, outage.failures) == (later, 0))
    }

    @Test(arguments: [LinkspanError.Code.pathLost, .suspended])
    func `an attempt that the device or the app ends is not reported`(code: LinkspanError.Code) {
        var outage = Outage()
        #expect(outage.report(LinkspanError(code, "in a test"), isFinal: false, isUnproven: false) == nil)
        #expect(outage.report(.lost, isFinal: false, isUnproven: false)?.isFirst == true)
    }
}

/// Feeds random events to a machine and checks what must hold after each.
private struct RandomWalk {
    var machine: Attempts
    var now: Moment
    private(set) var changes: [StateChange] = []
    /// The attempt or link that is under way, as its owner would see it.
    private var underWay: UInt64?
    private var lastEpoch: UInt64 = 0
    /// An attempt that was admitted, and neither made nor given back.
    private var isAdmitted = false

    init(machine: Attempts, now: Moment) {
        self.machine = machine
        self.now = now
    }

    mutating func step(using generator: inout SeededGenerator) throws {
        self.now += .milliseconds(Int.random(in: 0...4_000, using: &generator))
        let before = self.machine.state
        let old = self.machine
        let random = Double.random(in: 0..<1, using: &generator)
        // Mostly the present epoch, sometimes a former or an unknown one.
        let epoch =
            Bool.random(using: &generator)
            ? self.lastEpoch : UInt64.random(in: 0...self.lastEpoch + 1, using: &generator)
        let isStale = !old.isCurrent(epoch)
        let errors = [LinkspanError.lost, .permanent, LinkspanError(.credentialsRefused, "refused")]
        let error = errors[Int.random(in: 0..<10, using: &generator) < 8 ? 0 : Int.random(in: 1...2, using: &generator)]
        var actions: [Attempts.Output] = []
        let event = Int.random(in: 0..<14, using: &generator)
        switch event {
        case 0: actions = (try? self.machine.connect(now: self.now)) ?? []
        case 1: actions = (try? self.machine.disconnect(now: self.now)) ?? []
        case 2: if random < 0.02 { actions = (try? self.machine.release(now: self.now)) ?? [] }
        case 3: actions = self.machine.credentialsArrived(epoch: epoch, now: self.now)
        case 4: actions = self.machine.credentialsFailed(epoch: epoch, error, now: self.now, random: random)
        case 5, 6: if Self.isOpening(old) { actions = self.machine.linkOpened(epoch: epoch, LinkInfo(), now: self.now) }
        case 7: actions = self.machine.linkClosed(epoch: epoch, error, now: self.now, random: random)
        case 8: if random < 0.05 { actions = self.machine.retire(.unoccupied, now: self.now) }
        case 9: actions = self.machine.resume(after: .milliseconds(250) * random, now: self.now)
        case 10:
            let patience: Duration? = random < 0.5 ? .seconds(60) : nil
            actions = self.machine.suspend(error, patience: patience, now: self.now, random: random)
        case 11:
            guard self.machine.needsAdmission(now: self.now) else { break }
            #expect(!self.isAdmitted, "admitted twice")
            self.machine.admit(at: self.now + .seconds(2) * random)
            self.isAdmitted = true
        case 12: if random < 0.2 { actions = (try? self.machine.reconnectNow(now: self.now)) ?? [] }
        default: actions = self.machine.timerFired(now: self.now, random: random)
        }
        if isStale, (3...7).contains(event) { #expect(actions.isEmpty, "news of a former epoch was acted upon") }
        try self.check(actions, before: before)
    }

    private static func isOpening(_ machine: Attempts) -> Bool {
        if case .opening = machine.progress { true } else { false }
    }

    private mutating func check(_ actions: [Attempts.Output], before: ConnectionState) throws {
        var state = before
        for action in actions {
            switch action {
            case .announce(let change):
                #expect(change.from == state)
                #expect(change.from.canBecome(change.to), "\(change.from) became \(change.to)")
                #expect(change.sequence == (self.changes.last?.sequence ?? 0) + 1)
                #expect(change.time == self.now.instant)
                self.changes.append(change)
                state = change.to
            case .provideCredentials(let epoch, _):
                #expect(epoch == self.lastEpoch + 1, "epochs count up")
                #expect(self.underWay.map { !self.machine.isCurrent($0) } ?? true, "two attempts at once")
                self.lastEpoch = epoch
                self.underWay = epoch
                self.isAdmitted = false
            case .openLink(let attempt):
                #expect(self.machine.isCurrent(attempt.epoch))
            case .endLink(let epoch, _):
                #expect(!self.machine.isCurrent(epoch))
            case .giveBackAdmission:
                #expect(self.isAdmitted, "given back what was not admitted")
                self.isAdmitted = false
            case .attemptFailed(let failure):
                #expect(failure.isFinal == (self.machine.failure != nil))
            }
        }
        #expect(state == self.machine.state, "a change was not announced")
        self.checkLiveness()
    }

    /// No state without a running timer or a reason to stay.
    private func checkLiveness() {
        if case .waiting = self.machine.progress {
        } else {
            #expect(!self.isAdmitted, "an admission was kept")
        }
        switch self.machine.progress {
        case .suspended: #expect(self.machine.state == .disconnected && self.machine.lastError != nil)
        case .waiting, .opening, .obtainingCredentials: #expect(self.machine.deadline != nil)
        case .open: #expect(self.machine.state == .connected)
        case .idle: #expect([.created, .disconnected, .released].contains(self.machine.state))
        }
    }
}
