internal import Linkspan
internal import LinkspanLifecycle
internal import LinkspanMessaging
internal import LinkspanRuntime
internal import Testing

@testable internal import LinkspanTokenRefresh

/// The decisions alone, over a clock that the test moves.
@Suite("Token state machine")
struct TokenStateMachineTests {
    /// A machine, what it did, and the time.
    private struct Run {
        var machine: TokenStateMachine
        var now = ContinuousClock.now
        /// What it did, as text: `fetch 1 first`, `cancel 1`, `refreshed 60 1`, `failed 1 5`, `revoked`.
        var done: [String] = []
        let answers = Lock<[String]>([])

        init(lead: Int = 60, jitter: Int = 0, maxAttempts: Int = 3, isRunning: Bool = true) {
            let options = TokenRefreshService.Options(
                lead: .seconds(lead), jitter: .seconds(jitter), maxAttempts: maxAttempts)
            self.machine = TokenStateMachine(options: options, fetchLimit: .seconds(30))
            if isRunning { self.machine.start(options, now: self.now, random: 0) }
        }

        mutating func ask(_ reason: CredentialRequest.Reason) {
            let answers = self.answers
            self.perform(
                self.machine.ask(reason, now: self.now) { outcome in
                    let text =
                        switch outcome {
                        case .success(let credentials): "\(credentials.validFor?.components.seconds ?? -1)"
                        case .failure(let error): "\(error)"
                        }
                    answers.withLock { $0.append(text) }
                })
        }

        mutating func fetched(_ id: UInt64, validFor: Int?, random: Double = 0) {
            let credentials = Credentials(validFor: validFor.map { .seconds($0) })
            self.perform(self.machine.fetched(id, credentials, now: self.now, random: random))
        }

        mutating func failed(_ id: UInt64, isRevoked: Bool = false, random: Double = 1) {
            self.perform(
                self.machine.failed(
                    id, LinkspanError(.connectionLost, "no"), reason: "no", isRevoked: isRevoked, now: self.now,
                    random: random))
        }

        mutating func pass(_ seconds: Int) {
            self.now += .seconds(seconds)
            self.perform(self.machine.timerFired(now: self.now, random: 1))
        }

        /// In how many seconds something is due.
        var due: Int64? { self.machine.deadline.map { self.now.duration(to: $0).components.seconds } }

        private mutating func perform(_ actions: [TokenStateMachine.Action]) {
            for action in actions {
                switch action {
                case .fetch(let id, let reason): self.done.append("fetch \(id) \(reason)")
                case .cancel(let id): self.done.append("cancel \(id)")
                case .answer(let waiters, let outcome): for waiter in waiters { waiter(outcome) }
                case .emit(.refreshed(let validFor, let attempt)):
                    self.done.append("refreshed \(validFor?.components.seconds ?? 0) \(attempt)")
                case .emit(.refreshFailed(let attempt, _, let pause)):
                    self.done.append("failed \(attempt) \(pause.map { "\($0.components.seconds)" } ?? "never")")
                case .emit(.revoked): self.done.append("revoked")
                case .emit: self.done.append("?")
                }
            }
        }
    }

    @Test("all who ask share one fetch, and then the token with what is left of it")
    func sharing() {
        var run = Run()
        run.ask(.first)
        run.ask(.first)
        #expect(run.done == ["fetch 1 first"])
        run.fetched(1, validFor: 600)
        #expect(run.answers.withLock { $0 } == ["600", "600"])
        run.pass(100)
        run.ask(.retry)
        #expect(run.answers.withLock { $0.last } == "500")
        #expect(run.done == ["fetch 1 first", "refreshed 600 1"])
    }

    @Test("a token is renewed ahead of its end, whoever is connected")
    func ahead() {
        var run = Run(lead: 60, jitter: 20)
        run.ask(.first)
        run.fetched(1, validFor: 600, random: 0.5)
        #expect(run.due == 530)
        run.pass(529)
        #expect(run.done.count == 2)
        run.pass(1)
        #expect(run.done.last == "fetch 2 expiring")
        run.fetched(2, validFor: 600)
        // The connection asks when four fifths of the token that it knows are over; there is a newer one.
        run.ask(.expiring)
        run.ask(.refused)
        #expect(run.answers.withLock { $0 } == ["600", "600"])
        // The same one was refused now.
        #expect(run.done.last == "fetch 3 refused")
    }

    @Test("without the service nothing is renewed ahead")
    func stopped() {
        var run = Run(isRunning: false)
        run.ask(.first)
        run.fetched(1, validFor: 600)
        #expect(run.due == nil)
        run.pass(550)
        #expect(run.done == ["fetch 1 first", "refreshed 600 1"])
        run.ask(.retry)
        #expect(run.done.last == "fetch 2 expiring")
    }

    @Test("a short token is used for half of its time at least", arguments: [(600, 540), (100, 50), (1, 1), (0, nil)])
    func shortTokens(validFor: Int, due: Int64?) {
        var run = Run(lead: 60)
        run.ask(.first)
        run.fetched(1, validFor: validFor)
        #expect(run.due == due)
    }

    @Test("failures are repeated with growing pauses, so often and not more; then asking begins again")
    func failures() {
        var run = Run(maxAttempts: 3)
        run.ask(.first)
        run.fetched(1, validFor: 600)
        run.pass(540)
        run.failed(2)
        #expect(run.due == 1)
        // What is left is still handed out.
        run.ask(.retry)
        #expect(run.answers.withLock { $0.last } == "60")
        run.pass(1)
        run.failed(3)
        #expect(run.due == 2)
        run.pass(2)
        run.failed(4)
        #expect(run.due == nil)
        #expect(
            run.done == [
                "fetch 1 first", "refreshed 600 1", "fetch 2 expiring", "failed 1 1", "fetch 3 expiring", "failed 2 2",
                "fetch 4 expiring", "failed 3 never",
            ])
        run.pass(100)
        run.ask(.retry)
        #expect(run.done.last == "fetch 5 expiring")
        run.fetched(5, validFor: 600)
        #expect(run.done.last == "refreshed 600 4")
        #expect(run.due == 540)
    }

    @Test("a fetch that does not come back is given up, and its late answer does not count")
    func limit() {
        var run = Run()
        run.ask(.first)
        #expect(run.due == 30)
        run.pass(30)
        #expect(run.done == ["fetch 1 first", "cancel 1", "failed 1 never"])
        #expect(run.answers.withLock { $0.first?.hasPrefix("timedOut") } == true)
        run.fetched(1, validFor: 600)
        #expect(run.done.count == 3)
        run.ask(.retry)
        #expect(run.done.last == "fetch 2 first")
    }

    @Test("a token that was refused is not handed out again, also when no other is to be had")
    func refusal() {
        var run = Run()
        run.ask(.first)
        run.fetched(1, validFor: 600)
        run.ask(.refused)
        run.failed(2)
        run.ask(.retry)
        #expect(run.done.last == "fetch 3 refused")
        run.fetched(3, validFor: 500)
        #expect(run.answers.withLock { $0.last } == "500")
    }

    @Test("a revocation is told once, and ends the renewals")
    func revocation() {
        var run = Run()
        run.ask(.first)
        run.fetched(1, validFor: 600)
        run.pass(540)
        run.failed(2, isRevoked: true)
        #expect(run.done.suffix(2) == ["fetch 2 expiring", "revoked"])
        #expect(run.due == nil)
        run.ask(.retry)
        #expect(run.done.last == "fetch 3 first")
        run.failed(3, isRevoked: true)
        #expect(run.done.last == "fetch 3 first")
        run.ask(.retry)
        run.fetched(4, validFor: 600)
        #expect(run.done.last == "refreshed 600 1")
        #expect(run.due == 540)
    }

    @Test("a token of unknown lifetime is fetched for each attempt")
    func unknownLifetime() {
        var run = Run()
        run.ask(.first)
        run.fetched(1, validFor: nil)
        #expect(run.due == nil)
        run.ask(.retry)
        #expect(run.done == ["fetch 1 first", "refreshed 0 1", "fetch 2 expiring"])
    }

    @Test("changed options move the renewal")
    func options() {
        var run = Run(lead: 60)
        run.ask(.first)
        run.fetched(1, validFor: 600)
        run.machine.change(
            TokenRefreshService.Options(lead: .seconds(200), jitter: .zero), now: run.now, random: 0)
        #expect(run.due == 400)
    }
}
