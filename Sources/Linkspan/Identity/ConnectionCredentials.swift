internal import LinkspanRuntime
internal import Logging

/// The credentials of one connection: obtained for each attempt, renewed ahead of their expiry while it is up.
///
/// Confined to the connection's executor, as a part of its ``ConnectionCore``.
final class ConnectionCredentials {
    /// The state of credentials that a provider gives.
    private final class Renewal {
        /// The newest ones, whose expiry counts.
        var newest: IssuedCredentials?
        /// The generation of those that the server knows; 0 for none.
        var shown: UInt64 = 0
        var schedule: RenewalSchedule
        var isUp = false
        /// Counts links and renewals, so that a late answer is recognised.
        var turn: UInt64 = 0
        var wait: CredentialWait?
        var timer: (due: Moment, work: any ScheduledWork)?

        init(_ schedule: RenewalSchedule) { self.schedule = schedule }

        func nextTurn() {
            self.turn += 1
            self.wait?()
            self.wait = nil
        }
    }

    private let destination: Destination
    /// Nil for fixed credentials, which are never renewed.
    private let renewal: Renewal?

    init(_ destination: Destination) {
        self.destination = destination
        self.renewal =
            destination.source.isRenewable
            ? Renewal(RenewalSchedule(credentialDeadline: destination.options.credentialDeadline)) : nil
    }

    /// The instant at which the renewal ahead of the expiry is due, or the provider's deadline passes.
    var renewalDeadline: Moment? { self.renewal?.schedule.deadline }

    /// Whether the server knows the credentials of this generation.
    func isShown(generation: UInt64) -> Bool { self.renewal?.shown ?? 0 >= generation }

    /// An error without the credentials that the server may have repeated in it.
    func concealed(in error: LinkspanError) -> LinkspanError {
        let credentials: Credentials? =
            switch self.destination.source.kind {
            case .fixed(let credentials): credentials
            case .provider: self.renewal?.newest?.credentials
            }
        var error = error
        error.message = (credentials ?? Credentials()).concealed(in: error.message, query: self.destination.url.query)
        return error
    }

    /// The connection has given up because the server accepts none.
    func refused() { self.destination.source.refused(login: self.destination.login) }

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
            return shared.ask(
                request, login: self.destination.login, held: self.renewal?.shown ?? 0,
                scheduler: core.environment.scheduler
            ) { outcome in
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
            self.renewal?.newest = issued
            self.renewal?.shown = issued.generation
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
        guard let renewal = self.renewal else { return }
        renewal.nextTurn()
        renewal.isUp = true
        renewal.schedule.follow(renewal.newest, now: core.now, random: core.environment.random())
        self.arm(core)
    }

    /// The connection is down.
    func linkEnded(_ core: ConnectionCore) {
        guard let renewal = self.renewal else { return }
        renewal.nextTurn()
        renewal.isUp = false
        renewal.schedule.stop()
        self.arm(core)
    }

    private func timerFired(_ core: ConnectionCore) {
        guard let renewal = self.renewal, case .provider(let shared) = self.destination.source.kind else { return }
        switch renewal.schedule.timerFired(now: core.now, random: core.environment.random()) {
        case .ask:
            renewal.nextTurn()
            let (turn, inbox, reference) = (renewal.turn, core.inbox, core.reference)
            let request = CredentialRequest(url: self.destination.url, reason: .expiring)
            let held = renewal.newest?.generation ?? 0
            renewal.wait = shared.ask(
                request, login: self.destination.login, held: held, scheduler: core.environment.scheduler
            ) { outcome in
                inbox.post({ $0.credentials.renewed(outcome, turn: turn, $0) }, to: reference)
            }
        case .stopAsking:
            renewal.nextTurn()
        case .nothing:
            ()
        }
        self.arm(core)
    }

    private func renewed(_ outcome: Result<IssuedCredentials, LinkspanError>, turn: UInt64, _ core: ConnectionCore) {
        guard let renewal = self.renewal, renewal.turn == turn else { return }
        renewal.nextTurn()
        switch outcome.flatMap({ self.checked($0) }) {
        case .success(let issued):
            renewal.newest = issued
            renewal.schedule.follow(issued, now: core.now, random: core.environment.random())
            let isShown = renewal.isUp && core.push(issued.credentials)
            if isShown { renewal.shown = max(renewal.shown, issued.generation) }
            core.probe?.credentials(.renewed(validFor: issued.credentials.validFor, isShown: isShown))
            core.environment.logger.debug(
                "Credentials renewed ahead of their expiry",
                metadata: ["url": "\(self.destination.url)", "pushed": "\(isShown)"])
        case .failure(let error):
            let now = core.now
            renewal.schedule.failed(now: now, random: core.environment.random())
            let retryAfter = renewal.schedule.deadline.map { now.duration(to: $0) }
            core.probe?.credentials(.failed(.expiring, error, retryAfter: retryAfter))
            core.environment.logger.warning(
                "Credentials not renewed",
                metadata: ["url": "\(self.destination.url)", "error": "\(error.code.rawValue): \(error.message)"])
        }
        self.arm(core)
    }

    /// Makes sure that a timer runs for the schedule's deadline, and for no other.
    private func arm(_ core: ConnectionCore) {
        guard let renewal = self.renewal, renewal.schedule.deadline != renewal.timer?.due else { return }
        renewal.timer?.work.cancel()
        renewal.timer = nil
        guard let due = renewal.schedule.deadline else { return }
        let work = core.later(at: due) { core in
            guard core.credentials.renewal?.timer?.due == due else { return }
            core.credentials.renewal?.timer = nil
            core.credentials.timerFired(core)
        }
        renewal.timer = (due, work)
    }
}
