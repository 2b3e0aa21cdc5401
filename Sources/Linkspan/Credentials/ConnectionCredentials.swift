internal import LinkspanRuntime
internal import Logging

/// The credentials of one connection: obtained for each attempt, renewed ahead of their expiry while it is up.
///
/// Confined to the connection's executor, as a part of its ``ConnectionCore``.
final class ConnectionCredentials {
    private let destination: Destination
    /// The newest ones, whose expiry counts.
    private var newest: IssuedCredentials?
    /// The generation of those that the server knows; 0 for none.
    private var shown: UInt64 = 0
    private var schedule: RenewalSchedule
    private var isUp = false
    /// Counts links and renewals, so that a late answer is recognised.
    private var turn: UInt64 = 0
    private var wait: CredentialWait?
    private var timer: (due: ContinuousClock.Instant, work: any ScheduledWork)?

    init(_ destination: Destination) {
        self.destination = destination
        self.schedule = RenewalSchedule(credentialDeadline: destination.options.credentialDeadline)
    }

    /// The instant at which the renewal ahead of the expiry is due, or the provider's deadline passes.
    var renewalDeadline: ContinuousClock.Instant? { self.schedule.deadline }

    /// Whether the server knows the credentials of this generation.
    func isShown(generation: UInt64) -> Bool { self.shown >= generation }

    /// An error without the credentials that the server may have repeated in it.
    func concealed(in error: LinkspanError) -> LinkspanError {
        let credentials: Credentials? =
            switch self.destination.source.kind {
            case .fixed(let credentials): credentials
            case .provider: self.newest?.credentials
            }
        var error = error
        error.message = (credentials ?? Credentials()).concealed(in: error.message, query: self.destination.url.query)
        return error
    }

    private func checked(_ issued: IssuedCredentials) -> Result<IssuedCredentials, LinkspanError> {
        do throws(LinkspanError) {
            _ = try issued.credentials.endpoint(insteadOf: self.destination.url, over: self.destination.transport)
            return .success(issued)
        } catch {
            return .failure(error)
        }
    }
}

// MARK: - For an attempt

extension ConnectionCredentials {
    /// Obtains the credentials for an attempt of `core`, which gets them in another turn, or in this one when they are
    /// fixed.
    ///
    /// - Parameters:
    ///   - reason: the reason for the request.
    ///   - core: the connection.
    ///   - completion: gets the credentials.
    /// - Returns: the wait, to cancel it; nil when there is none.
    func obtain(
        _ reason: CredentialRequest.Reason, for core: ConnectionCore,
        _ completion: @escaping @Sendable (ConnectionCore, Result<IssuedCredentials, LinkspanError>) -> Void
    ) -> CredentialWait? {
        switch self.destination.source.kind {
        case .fixed(let credentials):
            let issued = IssuedCredentials(credentials: credentials, generation: 0, issuedAt: core.now, reason: reason)
            completion(core, self.checked(issued))
            return nil
        case .provider(let shared):
            let (inbox, reference) = (core.inbox, core.reference)
            let request = CredentialRequest(url: self.destination.url, reason: reason)
            return shared.ask(request, held: self.shown, scheduler: core.environment.scheduler) { outcome in
                inbox.post(
                    { core in completion(core, core.credentials.obtained(outcome, reason, for: core)) }, to: reference)
            }
        }
    }

    private func obtained(
        _ outcome: Result<IssuedCredentials, LinkspanError>, _ reason: CredentialRequest.Reason,
        for core: ConnectionCore
    ) -> Result<IssuedCredentials, LinkspanError> {
        if case .success(let issued) = outcome {
            self.newest = issued
            self.shown = issued.generation
        }
        let checked = outcome.flatMap { self.checked($0) }
        switch checked {
        case .success(let issued):
            core.probe?.credentials(.obtained(reason, validFor: issued.credentials.validFor))
        case .failure(let error):
            core.probe?.credentials(.failed(reason, error, retryAfter: nil))
        }
        return checked
    }
}

// MARK: - While the connection is up

extension ConnectionCredentials {
    /// The connection is up: its credentials are renewed ahead of their expiry from now on.
    func linkOpened(_ core: ConnectionCore) {
        guard self.destination.source.isRenewable else { return }
        self.nextTurn()
        self.isUp = true
        self.schedule.follow(self.newest, now: core.now, random: core.environment.random())
        self.arm(core)
    }

    /// The connection is down.
    func linkEnded(_ core: ConnectionCore) {
        guard self.destination.source.isRenewable else { return }
        self.nextTurn()
        self.isUp = false
        self.schedule.stop()
        self.arm(core)
    }

    private func nextTurn() {
        self.turn += 1
        self.wait?()
        self.wait = nil
    }

    private func timerFired(_ core: ConnectionCore) {
        guard case .provider(let shared) = self.destination.source.kind else { return }
        switch self.schedule.timerFired(now: core.now, random: core.environment.random()) {
        case .ask:
            self.nextTurn()
            let (turn, inbox, reference) = (self.turn, core.inbox, core.reference)
            let request = CredentialRequest(url: self.destination.url, reason: .expiring)
            let held = self.newest?.generation ?? 0
            self.wait = shared.ask(request, held: held, scheduler: core.environment.scheduler) { outcome in
                inbox.post({ $0.credentials.renewed(outcome, turn: turn, $0) }, to: reference)
            }
        case .stopAsking:
            self.nextTurn()
        case .nothing:
            ()
        }
        self.arm(core)
    }

    private func renewed(_ outcome: Result<IssuedCredentials, LinkspanError>, turn: UInt64, _ core: ConnectionCore) {
        guard self.turn == turn else { return }
        self.nextTurn()
        switch outcome.flatMap({ self.checked($0) }) {
        case .success(let issued):
            self.newest = issued
            self.schedule.follow(issued, now: core.now, random: core.environment.random())
            let isShown = self.isUp && core.push(issued.credentials)
            if isShown { self.shown = max(self.shown, issued.generation) }
            core.probe?.credentials(.renewed(validFor: issued.credentials.validFor, isShown: isShown))
            core.environment.logger.debug(
                "Credentials renewed ahead of their expiry",
                metadata: ["url": "\(self.destination.url)", "pushed": "\(isShown)"])
        case .failure(let error):
            let now = core.now
            self.schedule.failed(now: now, random: core.environment.random())
            let retryAfter = self.schedule.deadline.map { now.duration(to: $0) }
            core.probe?.credentials(.failed(.expiring, error, retryAfter: retryAfter))
            core.environment.logger.warning(
                "Credentials not renewed",
                metadata: ["url": "\(self.destination.url)", "error": "\(error.code.rawValue): \(error.message)"])
        }
        self.arm(core)
    }

    /// Makes sure that a timer runs for the schedule's deadline, and for no other.
    private func arm(_ core: ConnectionCore) {
        guard self.schedule.deadline != self.timer?.due else { return }
        self.timer?.work.cancel()
        self.timer = nil
        guard let due = self.schedule.deadline else { return }
        let work = core.later(at: due) { core in
            guard core.credentials.timer?.due == due else { return }
            core.credentials.timer = nil
            core.credentials.timerFired(core)
        }
        self.timer = (due, work)
    }
}
