internal import Linkspan
internal import LinkspanMessaging
internal import LinkspanRuntime

// An actor for the newest token: the core's calls contend with timers and the service.
/// Fetches tokens when the core asks, and has it ask ahead of their expiry while a service wants that.
///
/// The core lets one fetch be under way at most, shares its outcome among all waiters, and decides when to renew.
actor TokenRefresher {
    typealias Fetch = @Sendable (CredentialRequest.Reason) async throws -> Credentials

    private struct Token: Sendable {
        var credentials: Credentials
        var expiry: Moment?
        /// Whether a server has refused it.
        var isRefused = false
    }

    /// The renewals ahead of expiry that a running service requests, and their outcomes.
    private struct Renewals: Sendable {
        let owner: ObjectIdentifier
        let source: CredentialSource
        var schedule: RenewalSchedule
        let stream: AsyncStream<ConnectionEvent>
        let sink: AsyncStream<ConnectionEvent>.Continuation
    }

    private let fetchLimit: Duration
    private let scheduler: any Scheduler
    private let random: @Sendable () -> Double
    private let fetch: Fetch
    private var newest: Token?
    /// Fetches in a row that have failed.
    private var failures = 0
    private var isRevoked = false
    /// The number of log-outs so far: a token that was fetched before the latest one is not used.
    private var login: UInt64 = 0
    /// The endpoint that the core asked for last.
    private var url: ConnectionURL?
    private var renewals: Renewals?
    /// The timing that a service was given while it ran, which other services must not see.
    private var changed: (owner: ObjectIdentifier, timing: RenewalSchedule.Timing)?
    private var wait: (@Sendable () -> Void)?
    private var timer: (due: Moment, work: any ScheduledWork)?

    init(
        fetchLimit: Duration, scheduler: any Scheduler, random: @escaping @Sendable () -> Double,
        fetch: @escaping Fetch
    ) {
        self.fetchLimit = fetchLimit
        self.scheduler = scheduler
        self.random = random
        self.fetch = fetch
    }
}

// MARK: - For the core

extension TokenRefresher {
    /// Fetches a token.
    func credentials(for request: CredentialRequest, login: UInt64) async throws -> Credentials {
        self.loggedOut(login)
        self.url = request.url
        if request.reason == .refused { self.newest?.isRefused = true }
        let reason: CredentialRequest.Reason =
            if request.reason == .refused || self.newest?.isRefused == true {
                .refused
            } else {
                self.newest == nil ? .first : .expiring
            }
        do {
            let credentials = try await self.fetchInTime(reason)
            guard login == self.login else { throw CancellationError() }
            self.fetched(credentials)
            return credentials
        } catch {
            // Nobody waits for it any more.
            guard login == self.login, !Task.isCancelled else { throw error }
            self.failed(error)
            guard let rest = self.rest(for: request.reason) else { throw error }
            return rest
        }
    }

    /// Forgets the token of a user who has signed out.
    func loggedOut(_ login: UInt64) {
        guard login > self.login else { return }
        self.login = login
        (self.newest, self.failures, self.isRevoked) = (nil, 0, false)
        self.renewals?.schedule.stop()
        self.arm()
    }

    private nonisolated func fetchInTime(_ reason: CredentialRequest.Reason) async throws -> Credentials {
        let outcome = Promise<Result<Credentials, any Error>>()
        // No parent can own this task: one that ignores its cancellation must not hold up the waiters for the token.
        let task = Task { [fetch] in
            do {
                outcome.fulfill(.success(try await fetch(reason)))
            } catch {
                outcome.fulfill(.failure(error))
            }
        }
        let timer = self.scheduler.schedule(at: self.scheduler.now + self.fetchLimit) {
            outcome.fulfill(.failure(LinkspanError(.timedOut, "the token was not fetched in time")))
            task.cancel()
        }
        defer { timer.cancel() }
        return try await withTaskCancellationHandler {
            try await outcome.value.get()
        } onCancel: {
            outcome.fulfill(.failure(CancellationError()))
            task.cancel()
        }
    }

    /// A token that cannot be renewed is used until it expires.
    private func rest(for reason: CredentialRequest.Reason) -> Credentials? {
        guard reason == .first || reason == .retry, let newest, !newest.isRefused, let expiry = newest.expiry else {
            return nil
        }
        let rest = self.scheduler.moment.duration(to: expiry)
        guard rest > .zero else { return nil }
        var credentials = newest.credentials
        credentials.validFor = rest
        return credentials
    }
}

// MARK: - Outcomes

extension TokenRefresher {
    private func fetched(_ credentials: Credentials) {
        let attempt = self.failures + 1
        (self.failures, self.isRevoked) = (0, false)
        let now = self.scheduler.moment
        let validFor = credentials.validFor.flatMap { $0 > .zero ? $0 : nil }
        self.newest = Token(credentials: credentials, expiry: validFor.map { now + $0 })
        self.renewals?.schedule.follow(validFor: validFor, now: now, random: self.random())
        self.arm()
        self.emit(.credentialsRefreshed(validFor: validFor, attempt: attempt))
    }

    private func failed(_ error: any Error) {
        guard !(error is TokenRevoked) else { return self.revoke() }
        self.failures += 1
        let now = self.scheduler.moment
        self.renewals?.schedule.failed(now: now, random: self.random())
        self.arm()
        // Its code or type; texts of foreign errors may hold secrets.
        let reason = (error as? LinkspanError)?.code.rawValue ?? "\(type(of: error))"
        let pause = self.renewals?.schedule.deadline.map { now.duration(to: $0) }
        self.emit(.credentialsFailed(attempt: self.failures, reason: reason, retryAfter: pause))
    }

    /// A connection has given up because its credentials were refused.
    func refused(login: UInt64) {
        // A refusal of the former user does not concern the present one.
        if login >= self.login { self.revoke() }
    }

    /// The server no longer accepts the user; nothing is renewed before the next request.
    private func revoke() {
        (self.newest, self.failures) = (nil, 0)
        self.renewals?.schedule.stop()
        self.arm()
        guard !self.isRevoked else { return }
        self.isRevoked = true
        self.emit(.credentialsRevoked)
    }

    private func emit(_ kind: ConnectionEvent.Kind) {
        self.renewals?.sink.yield(ConnectionEvent(connection: 0, endpoint: "", kind: kind))
    }
}

// MARK: - For a service

extension TokenRefresher {
    /// Renews tokens ahead from now on.
    func start(_ timing: RenewalSchedule.Timing, of owner: ObjectIdentifier, _ source: CredentialSource) {
        self.renewals?.sink.finish()
        let (stream, sink) = AsyncStream.makeStream(
            of: ConnectionEvent.self, bufferingPolicy: .bufferingNewest(64))
        let timing = self.changed.flatMap { $0.owner == owner ? $0.timing : nil } ?? timing
        self.renewals = Renewals(
            owner: owner, source: source, schedule: self.schedule(timing), stream: stream, sink: sink)
        self.arm()
    }

    /// The events since the start; nil while the service does not renew ahead.
    func events(of owner: ObjectIdentifier) -> AsyncStream<ConnectionEvent>? {
        self.renewals.flatMap { $0.owner == owner ? $0.stream : nil }
    }

    /// Applies another timing.
    func apply(_ timing: RenewalSchedule.Timing, of owner: ObjectIdentifier) {
        self.changed = (owner, timing)
        guard self.renewals?.owner == owner else { return }
        self.renewals?.schedule = self.schedule(timing)
        self.arm()
    }

    func stop(_ owner: ObjectIdentifier) {
        guard self.renewals?.owner == owner else { return }
        self.renewals?.sink.finish()
        self.renewals = nil
        self.wait?()
        self.wait = nil
        self.arm()
    }

    private func schedule(_ timing: RenewalSchedule.Timing) -> RenewalSchedule {
        // Later than the time limit of the fetch, so that a fetch that takes too long ends by its own limit.
        var schedule = RenewalSchedule(credentialDeadline: self.fetchLimit + .seconds(1), timing: timing)
        let now = self.scheduler.moment
        if let expiry = self.newest?.expiry, expiry > now {
            schedule.follow(validFor: now.duration(to: expiry), now: now, random: self.random())
        }
        return schedule
    }

    /// The instant at which the next renewal is due, or a fetch would be late.
    var deadline: Moment? { self.renewals?.schedule.deadline }

    private func timerFired(_ due: Moment) {
        guard self.timer?.due == due else { return }
        switch self.renewals?.schedule.timerFired(now: self.scheduler.moment, random: self.random()) {
        case .ask:
            self.renew()
        case .stopAsking:
            self.wait?()
            self.wait = nil
        case .nothing, nil: ()
        }
        self.arm()
    }

    private func renew() {
        guard let source = self.renewals?.source, let url else { return }
        self.wait = source.renew(url, scheduler: self.scheduler) { [weak self] login in
            // No parent can own this task: the answer comes from outside all tasks.
            Task { await self?.renewalFailed(login) }
        }
    }

    /// A failure that is not recorded belongs to a call that was under way when the renewal came due: it is requested again.
    func renewalFailed(_ login: UInt64) {
        // A log-out fails the call, too, and may be told later than that.
        self.loggedOut(login)
        if self.renewals?.schedule.isAsking == true { self.renew() }
    }

    /// Makes sure that a timer runs for the schedule's deadline, and for no other.
    private func arm() {
        let due = self.renewals?.schedule.deadline
        guard due != self.timer?.due else { return }
        self.timer?.work.cancel()
        self.timer = nil
        guard let due else { return }
        let work = self.scheduler.schedule(at: due) { [weak self] in
            // No parent can own this task: a timer calls from outside all tasks.
            Task { await self?.timerFired(due) }
        }
        self.timer = (due, work)
    }
}

/// Thrown by a fetch when there will be no more tokens for this user.
public struct TokenRevoked: Error, Sendable, Hashable {
    /// Makes the error.
    public init() {}
}
