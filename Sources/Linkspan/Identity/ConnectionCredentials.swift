internal import LinkspanRuntime

/// The credentials of one connection: asked for before each attempt, renewed ahead of their expiry while it is up.
///
/// A value: answers, time and chance come in, outputs go out.
struct ConnectionCredentials {
    /// The purpose of a question to the provider, by which a late answer is recognised.
    enum Purpose: Sendable, Hashable {
        case attempt(epoch: UInt64, CredentialRequest.Reason)
        case renewal(number: UInt64)
    }

    /// Something that is to be done about credentials.
    enum Output {
        /// Asks a provider; `held` is the generation of the credentials that were refused or expire.
        case ask(SharedCredentials, CredentialRequest, held: UInt64, Purpose)
        /// Waits no longer for a provider.
        case stopWaiting(CredentialWait)
        /// An attempt has its credentials, or gets none.
        case provide(epoch: UInt64, Result<IssuedCredentials, LinkspanError>)
        /// Shows renewed credentials to the server; see ``shown(_:)``.
        case show(IssuedCredentials)
        /// Reports to the observer.
        case report(CredentialEvent)
    }

    /// The state of credentials that a provider gives.
    private struct Renewal {
        /// The newest ones, whose expiry counts.
        var newest: IssuedCredentials?
        /// The generation of those that the server knows; 0 for none.
        var shown: UInt64 = 0
        var schedule: RenewalSchedule
        /// Counts links and renewals, so that a late answer is recognised.
        var number: UInt64 = 0
        /// Ends the wait for a renewal.
        var wait: CredentialWait?

        mutating func next() -> [Output] {
            self.number += 1
            return self.wait.take().map { [.stopWaiting($0)] } ?? []
        }
    }

    private let destination: Destination
    /// The attempt that waits for credentials, and what ends its wait.
    private var attempt: (epoch: UInt64, wait: CredentialWait?)?
    /// Nil for fixed credentials, which are never renewed.
    private var renewal: Boxed<Renewal>?

    init(_ destination: Destination) {
        self.destination = destination
        if destination.source.isRenewable {
            let schedule = RenewalSchedule(credentialDeadline: destination.options.credentialDeadline)
            self.renewal = Boxed(Renewal(schedule: schedule))
        }
    }

    /// The instant at which the renewal ahead of the expiry is due, or the provider's deadline passes.
    var deadline: Moment? { self.renewal?.value.schedule.deadline }

    /// Whether the server knows the credentials of this generation.
    func isShown(generation: UInt64) -> Bool { self.renewal?.value.shown ?? 0 >= generation }

    /// The server was shown credentials.
    mutating func shown(_ issued: IssuedCredentials) {
        let newest = max(self.renewal?.value.shown ?? 0, issued.generation)
        self.renewal?.value.shown = newest
    }

    /// An error without the credentials that the server may have repeated in it.
    func concealed(in error: LinkspanError) -> LinkspanError {
        let credentials: Credentials? =
            switch self.destination.source.kind {
            case .fixed(let credentials): credentials
            case .provider: self.renewal?.value.newest?.credentials
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

// MARK: - Questions to the provider

extension ConnectionCredentials {
    /// Obtains the credentials for an attempt.
    mutating func obtain(epoch: UInt64, _ reason: CredentialRequest.Reason, now: Moment) -> [Output] {
        switch self.destination.source.kind {
        case .fixed(let credentials):
            let issued = IssuedCredentials(credentials: credentials, generation: 0, issuedAt: now, reason: reason)
            return [.provide(epoch: epoch, self.checked(issued))]
        case .provider(let shared):
            self.attempt = (epoch, nil)
            let request = CredentialRequest(url: self.destination.url, reason: reason)
            return [
                .ask(shared, request, held: self.renewal?.value.shown ?? 0, .attempt(epoch: epoch, reason))
            ]
        }
    }

    /// Keeps what ends the wait for a provider; false when nothing waits for it any more.
    mutating func keep(_ wait: @escaping CredentialWait, for purpose: Purpose) -> Bool {
        switch purpose {
        case .attempt(let epoch, _):
            guard self.attempt?.epoch == epoch else { return false }
            self.attempt?.wait = wait
        case .renewal(let number):
            guard self.renewal?.value.number == number else { return false }
            self.renewal?.value.wait = wait
        }
        return true
    }

    /// The attempt waits no longer.
    mutating func stopWaiting() -> [Output] {
        self.attempt.take().flatMap(\.wait).map { [.stopWaiting($0)] } ?? []
    }

    /// The provider has answered.
    mutating func answered(
        _ outcome: Result<IssuedCredentials, LinkspanError>, for purpose: Purpose, now: Moment, random: Double
    ) -> [Output] {
        switch purpose {
        case .attempt(let epoch, let reason):
            guard self.attempt?.epoch == epoch else { return [] }
            self.attempt = nil
            return self.obtained(outcome, epoch: epoch, reason)
        case .renewal(let number):
            guard self.renewal?.value.number == number else { return [] }
            return self.renewed(outcome, now: now, random: random)
        }
    }

    private mutating func obtained(
        _ outcome: Result<IssuedCredentials, LinkspanError>, epoch: UInt64, _ reason: CredentialRequest.Reason
    ) -> [Output] {
        if case .success(let issued) = outcome {
            self.renewal?.value.newest = issued
            self.renewal?.value.shown = issued.generation
        }
        let checked = outcome.flatMap { self.checked($0) }
        let event: CredentialEvent =
            switch checked {
            case .success(let issued): .obtained(reason, validFor: issued.credentials.validFor)
            case .failure(let error): .failed(reason, error, retryAfter: nil)
            }
        return [.report(event), .provide(epoch: epoch, checked)]
    }
}

// MARK: - While the connection is up

extension ConnectionCredentials {
    /// The connection is up: its credentials are renewed ahead of their expiry from now on.
    mutating func linkOpened(now: Moment, random: Double) -> [Output] {
        guard let outputs = self.renewal?.value.next() else { return [] }
        let newest = self.renewal?.value.newest
        self.renewal?.value.schedule.follow(newest, now: now, random: random)
        return outputs
    }

    /// The connection is down.
    mutating func linkEnded() -> [Output] {
        self.renewal?.value.schedule.stop()
        return self.renewal?.value.next() ?? []
    }

    /// The deadline may have passed.
    mutating func timerFired(now: Moment, random: Double) -> [Output] {
        guard case .provider(let shared) = self.destination.source.kind else { return [] }
        switch self.renewal?.value.schedule.timerFired(now: now, random: random) {
        case .ask:
            guard let renewal = self.renewal, let outputs = self.renewal?.value.next() else { return [] }
            let request = CredentialRequest(url: self.destination.url, reason: .expiring)
            let held = renewal.value.newest?.generation ?? 0
            let purpose = Purpose.renewal(number: self.renewal?.value.number ?? 0)
            return outputs + [.ask(shared, request, held: held, purpose)]
        case .stopAsking: return self.renewal?.value.next() ?? []
        case .nothing, nil: return []
        }
    }

    private mutating func renewed(
        _ outcome: Result<IssuedCredentials, LinkspanError>, now: Moment, random: Double
    ) -> [Output] {
        _ = self.renewal?.value.next()
        switch outcome.flatMap({ self.checked($0) }) {
        case .success(let issued):
            self.renewal?.value.newest = issued
            self.renewal?.value.schedule.follow(issued, now: now, random: random)
            return [.show(issued)]
        case .failure(let error):
            self.renewal?.value.schedule.failed(now: now, random: random)
            return [.report(.failed(.expiring, error, retryAfter: self.deadline.map { now.duration(to: $0) }))]
        }
    }
}
