internal import Linkspan
internal import LinkspanLifecycle
internal import LinkspanMessaging

/// Decides when tokens are fetched, and who gets which.
///
/// Pure: time and chance come in, actions go out. One fetch is under way at most.
struct TokenStateMachine: Sendable {
    typealias Answer = @Sendable (Result<Credentials, any Error>) -> Void

    enum Action: Sendable {
        case fetch(UInt64, CredentialRequest.Reason)
        case cancel(UInt64)
        case answer([Answer], Result<Credentials, any Error>)
        case emit(AuthenticationEvent.Kind)
    }

    private struct Token: Sendable {
        var credentials: Credentials
        var generation: UInt64
        var expiry: ContinuousClock.Instant?
        /// When it is renewed, unless somebody asks before.
        var due: ContinuousClock.Instant?
        /// Whether a server did not accept it, or one before it.
        var isRefused = false
    }

    private struct Fetch: Sendable {
        var id: UInt64
        var deadline: ContinuousClock.Instant
        var waiters: [Answer] = []
    }

    /// The shortest time before a renewal, whatever the token says.
    private static let shortestPeriod = Duration.seconds(1)
    private static let longestPause = Duration.seconds(60)

    private var options: TokenRefreshService.Options
    private let fetchLimit: Duration
    private var isRunning = false
    private var newest: Token?
    private var fetch: Fetch?
    private var lastFetch: UInt64 = 0
    /// The newest token that anybody got.
    private var handedOut: UInt64 = 0
    private var failures = 0
    private var isRevoked = false

    init(options: TokenRefreshService.Options, fetchLimit: Duration) {
        self.options = options
        self.fetchLimit = fetchLimit
    }

    /// Whether this fetch is under way.
    func isFetching(_ id: UInt64) -> Bool { self.fetch?.id == id }

    /// When ``timerFired(now:random:)`` is due.
    var deadline: ContinuousClock.Instant? {
        if let fetch { return fetch.deadline }
        return self.isRunning ? self.newest?.due : nil
    }
}

// MARK: - Asking

extension TokenStateMachine {
    /// A connection wants a token.
    mutating func ask(
        _ reason: CredentialRequest.Reason, now: ContinuousClock.Instant, _ answer: @escaping Answer
    ) -> [Action] {
        if self.fetch == nil, let newest, self.suffices(newest, for: reason, now: now) {
            return [self.handOut(newest, to: [answer], now: now)]
        }
        if reason == .refused { self.newest?.isRefused = true }
        let actions = self.fetch == nil ? self.begin(isRefused: reason == .refused, now: now) : []
        self.fetch?.waiters.append(answer)
        return actions
    }

    private func suffices(_ token: Token, for reason: CredentialRequest.Reason, now: ContinuousClock.Instant) -> Bool {
        guard !token.isRefused, let expiry = token.expiry, now < expiry else { return false }
        switch reason {
        // While it cannot be renewed, what is left of it is better than nothing.
        case .first, .retry: return self.failures > 0 || token.due.map { now < $0 } ?? false
        // Fetched ahead, and not seen by any connection.
        case .refused, .expiring: return token.generation > self.handedOut
        }
    }

    private mutating func handOut(_ token: Token, to waiters: [Answer], now: ContinuousClock.Instant) -> Action {
        self.handedOut = token.generation
        var credentials = token.credentials
        credentials.validFor = token.expiry.map { now.duration(to: $0) }
        return .answer(waiters, .success(credentials))
    }

    private mutating func begin(isRefused: Bool = false, now: ContinuousClock.Instant) -> [Action] {
        self.lastFetch += 1
        self.fetch = Fetch(id: self.lastFetch, deadline: now + self.fetchLimit)
        let reason: CredentialRequest.Reason =
            if isRefused || self.newest?.isRefused == true { .refused } else { self.newest == nil ? .first : .expiring }
        return [.fetch(self.lastFetch, reason)]
    }
}

// MARK: - Outcomes

extension TokenStateMachine {
    /// The token has come.
    mutating func fetched(
        _ id: UInt64, _ credentials: Credentials, now: ContinuousClock.Instant, random: Double
    ) -> [Action] {
        guard let fetch, fetch.id == id else { return [] }
        let attempt = self.failures + 1
        (self.fetch, self.failures, self.isRevoked) = (nil, 0, false)
        let validFor = credentials.validFor.flatMap { $0 > .zero ? $0 : nil }
        let token = Token(
            credentials: credentials, generation: id, expiry: validFor.map { now + $0 },
            due: validFor.map { now + self.patience(of: $0, random: random) })
        self.newest = token
        let event = Action.emit(.refreshed(validFor: validFor, attempt: attempt))
        return fetch.waiters.isEmpty ? [event] : [event, self.handOut(token, to: fetch.waiters, now: now)]
    }

    /// The fetch has failed; `isRevoked` says that there is no more hope.
    mutating func failed(
        _ id: UInt64, _ error: any Error, reason: String, isRevoked: Bool, now: ContinuousClock.Instant, random: Double
    ) -> [Action] {
        guard let fetch, fetch.id == id else { return [] }
        self.fetch = nil
        let answers: [Action] = fetch.waiters.isEmpty ? [] : [.answer(fetch.waiters, .failure(error))]
        if isRevoked { return self.revoke() + answers }
        self.failures += 1
        let pause = self.pause(random: random)
        self.newest?.due = pause.map { now + $0 }
        return [.emit(.refreshFailed(attempt: self.failures, reason: reason, retryAfter: pause))] + answers
    }

    /// The server no longer accepts the user; nothing is renewed before somebody asks again.
    mutating func revoke() -> [Action] {
        (self.newest, self.failures) = (nil, 0)
        guard !self.isRevoked else { return [] }
        self.isRevoked = true
        return [.emit(.revoked)]
    }

    /// How long a token is used: until `lead` and some jitter before its end, but half of its time at least.
    private func patience(of validFor: Duration, random: Double) -> Duration {
        let ahead = self.options.lead + self.options.jitter * random
        return max(validFor - ahead, validFor / 2, min(Self.shortestPeriod, validFor))
    }

    /// How long to wait before the next try: it doubles, with half of it left to chance; nil when it was the last one.
    private func pause(random: Double) -> Duration? {
        guard self.isRunning, self.newest != nil, self.failures < self.options.maxAttempts else { return nil }
        let longest = min(Self.longestPause, .seconds(1 << min(self.failures - 1, 10)))
        return longest / 2 + longest / 2 * random
    }
}

// MARK: - Time

extension TokenStateMachine {
    /// Something may be due.
    mutating func timerFired(now: ContinuousClock.Instant, random: Double) -> [Action] {
        guard let deadline, deadline <= now else { return [] }
        guard let fetch else { return self.begin(now: now) }
        let error = LinkspanError(.timedOut, "no token came in time")
        return [.cancel(fetch.id)]
            + self.failed(fetch.id, error, reason: "timedOut", isRevoked: false, now: now, random: random)
    }

    /// Tokens are renewed ahead from now on.
    mutating func start(_ options: TokenRefreshService.Options, now: ContinuousClock.Instant, random: Double) {
        self.isRunning = true
        self.change(options, now: now, random: random)
    }

    /// Tokens are fetched only when somebody asks.
    mutating func stop() { self.isRunning = false }

    /// Goes by other options from now on.
    mutating func change(
        _ options: TokenRefreshService.Options, now: ContinuousClock.Instant, random: Double
    ) {
        guard options != self.options else { return }
        self.options = options
        guard self.failures == 0, let expiry = self.newest?.expiry else { return }
        let due = now + self.patience(of: max(.zero, now.duration(to: expiry)), random: random)
        self.newest?.due = due
    }
}
