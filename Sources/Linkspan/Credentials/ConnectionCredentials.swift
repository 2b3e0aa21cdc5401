internal import LinkspanRuntime
internal import Logging

/// The credentials of one connection: obtained for each attempt, renewed ahead of their expiry while it is up.
final class ConnectionCredentials: Sendable {
    private struct State: Sendable {
        /// The newest ones, whose expiry counts.
        var newest: IssuedCredentials?
        /// The generation of those that the server knows; 0 for none.
        var shown: UInt64 = 0
        var schedule: RenewalSchedule
        /// Gives renewed credentials to the open link; false when it cannot take them.
        var push: (@Sendable (Credentials) -> Bool)?
        /// Counts links and renewals, so that a late answer is recognised.
        var turn: UInt64 = 0
        var wait: CredentialWait?
        var timer: (any ScheduledWork)?
        var timers: UInt64 = 0
    }

    private let url: ConnectionURL
    private let transport: any Transport
    private let source: CredentialSource
    private let environment: ConnectionEnvironment
    private let state: Lock<State>

    init(configuration: ConnectionConfiguration, environment: ConnectionEnvironment) {
        self.url = configuration.url
        self.transport = configuration.transport
        self.source = configuration.credentials
        self.environment = environment
        self.state = Lock(
            State(schedule: RenewalSchedule(credentialDeadline: configuration.options.credentialDeadline)))
    }

    /// Whether a refusal can be answered with other credentials.
    var isRenewable: Bool { self.source.isRenewable }

    /// What the renewal ahead of the expiry waits for next: its time, or the provider's deadline.
    var renewalDeadline: ContinuousClock.Instant? { self.state.withLock { $0.schedule.deadline } }

    /// Whether the server knows the credentials of this generation.
    func isShown(generation: UInt64) -> Bool { self.state.withLock { $0.shown >= generation } }

    /// Obtains the credentials for an attempt.
    ///
    /// - Parameters:
    ///   - reason: why.
    ///   - completion: gets them, at once or later, on any thread.
    /// - Returns: what stops the waiting; nil when there is nothing to wait for.
    func obtain(
        _ reason: CredentialRequest.Reason,
        _ completion: @escaping @Sendable (Result<IssuedCredentials, LinkspanError>) -> Void
    ) -> CredentialWait? {
        switch self.source.kind {
        case .fixed(let credentials):
            let issued = IssuedCredentials(
                credentials: credentials, generation: 0, issuedAt: self.environment.scheduler.now, reason: reason)
            completion(self.checked(issued))
            return nil
        case .provider(let shared):
            let request = CredentialRequest(url: self.url, reason: reason)
            let held = self.state.withLock { $0.shown }
            return shared.ask(request, held: held, scheduler: self.environment.scheduler) { [weak self] outcome in
                guard let self else { return }
                if case .success(let issued) = outcome {
                    self.state.withLock { state in
                        state.newest = issued
                        state.shown = issued.generation
                    }
                }
                let checked = outcome.flatMap { self.checked($0) }
                switch checked {
                case .success(let issued):
                    self.environment.probe?.credentials(.obtained(validFor: issued.credentials.validFor))
                case .failure(let error):
                    self.environment.probe?.credentials(.failed(error.code, retryAfter: nil))
                }
                completion(checked)
            }
        }
    }

    private func checked(_ issued: IssuedCredentials) -> Result<IssuedCredentials, LinkspanError> {
        do throws(LinkspanError) {
            _ = try issued.credentials.endpoint(insteadOf: self.url, over: self.transport)
            return .success(issued)
        } catch {
            return .failure(error)
        }
    }
}

// MARK: - While the connection is up

extension ConnectionCredentials {
    /// The connection is up: its credentials are renewed ahead of their expiry from now on.
    ///
    /// - Parameter push: gives renewed ones to the link; false when it cannot take them.
    func linkOpened(push: @escaping @Sendable (Credentials) -> Bool) {
        guard self.source.isRenewable else { return }
        self.change { state, now, random in
            state.turn += 1
            state.push = push
            state.schedule.follow(state.newest, now: now, random: random)
        }
    }

    /// The connection is down.
    func linkEnded() {
        guard self.source.isRenewable else { return }
        self.change { state, _, _ in
            state.turn += 1
            state.push = nil
            state.schedule.stop()
        }
    }

    private func timerFired(_ number: UInt64) {
        guard case .provider(let shared) = self.source.kind else { return }
        let question = self.change { state, now, random -> (turn: UInt64, held: UInt64)? in
            guard state.timers == number else { return nil }
            switch state.schedule.timerFired(now: now, random: random) {
            case .ask:
                state.turn += 1
                return (state.turn, state.newest?.generation ?? 0)
            case .stopAsking:
                state.turn += 1
                return nil
            case .nothing:
                return nil
            }
        }
        guard let (turn, held) = question else { return }
        let request = CredentialRequest(url: self.url, reason: .expiring)
        let wait = shared.ask(request, held: held, scheduler: self.environment.scheduler) { [weak self] outcome in
            self?.renewed(outcome, turn: turn)
        }
        let isKept = self.state.withLock { state in
            guard state.turn == turn else { return false }
            state.wait = wait
            return true
        }
        if !isKept { wait.cancel() }
    }

    private func renewed(_ outcome: Result<IssuedCredentials, LinkspanError>, turn: UInt64) {
        switch outcome.flatMap({ self.checked($0) }) {
        case .success(let issued):
            let push = self.change { state, now, random -> (@Sendable (Credentials) -> Bool)? in
                guard state.turn == turn else { return nil }
                state.turn += 1
                state.newest = issued
                state.schedule.follow(issued, now: now, random: random)
                return state.push
            }
            guard let push else { return }
            let isShown = push(issued.credentials)
            self.state.withLock { if isShown { $0.shown = max($0.shown, issued.generation) } }
            self.environment.probe?.credentials(.renewed(validFor: issued.credentials.validFor))
            self.environment.logger.debug(
                "Credentials renewed ahead of their expiry",
                metadata: ["url": "\(self.url.redacted)", "pushed": "\(isShown)"])
        case .failure(let error):
            let retryAfter = self.change { state, now, random -> Duration?? in
                guard state.turn == turn else { return nil }
                state.turn += 1
                state.schedule.failed(now: now, random: random)
                return .some(state.schedule.deadline.map { now.duration(to: $0) })
            }
            if let retryAfter { self.environment.probe?.credentials(.failed(error.code, retryAfter: retryAfter)) }
            self.environment.logger.info(
                "Credentials not renewed",
                metadata: ["url": "\(self.url.redacted)", "error": "\(error.code.rawValue): \(error.message)"])
        }
    }

    /// Decides under the lock, then lets go of a wait that is over and sees to the timer.
    @discardableResult
    private func change<Outcome: Sendable>(
        _ body: (inout State, ContinuousClock.Instant, _ random: Double) -> Outcome
    ) -> Outcome {
        let now = self.environment.scheduler.now
        let random = self.environment.random()
        let (outcome, wait, timer, due) = self.state.withLock { state in
            let before = (turn: state.turn, deadline: state.schedule.deadline)
            let outcome = body(&state, now, random)
            var (wait, timer): (CredentialWait?, (any ScheduledWork)?)
            if state.turn != before.turn { swap(&wait, &state.wait) }
            var due: (instant: ContinuousClock.Instant, number: UInt64)?
            if state.schedule.deadline != before.deadline {
                swap(&timer, &state.timer)
                state.timers += 1
                due = state.schedule.deadline.map { ($0, state.timers) }
            }
            return (outcome, wait, timer, due)
        }
        wait?.cancel()
        timer?.cancel()
        if let due { self.arm(due.instant, due.number) }
        return outcome
    }

    private func arm(_ instant: ContinuousClock.Instant, _ number: UInt64) {
        let timer = self.environment.scheduler.schedule(at: instant) { [weak self] in self?.timerFired(number) }
        let isCurrent = self.state.withLock { state in
            guard state.timers == number else { return false }
            state.timer = timer
            return true
        }
        if !isCurrent { timer.cancel() }
    }
}
