internal import LinkspanRuntime

/// Decides what a connection does.
///
/// Pure: time and chance come in, actions go out.
///
/// Three kinds of illegal input: a call the app may not make in this state throws `wrongState`; news about a link or a
/// credential request that is no longer ours (another epoch) is dropped without a word, because it is an ordinary race;
/// everything else cannot happen by construction.
struct ConnectionStateMachine: Sendable {
    /// The steps for the owner, in order.
    enum Action: Sendable {
        case announce(StateChange)
        case provideCredentials(epoch: UInt64, reason: CredentialRequest.Reason)
        case openLink(epoch: UInt64, attempt: Int)
        case endLink(epoch: UInt64, politely: Bool)
        /// The attempt that was admitted will not be made.
        case giveBackAdmission
    }

    struct Timing: Sendable, Hashable {
        var credentialDeadline: Duration
        var openDeadline: Duration
        /// The time that a link must have been up before a loss counts as the first failure of a new outage.
        var healthyAfter: Duration
        /// The shortest time between the beginnings of two attempts that nobody asked for.
        var attemptSpacing: Duration
    }

    enum Phase {
        case created(Attempt?)
        case connected(epoch: UInt64, since: Moment)
        case disconnected(isGivenUp: Bool)
        case suspended(LinkspanError)
        case waiting(Wait)
        case attempting(Attempt)
        case released
    }

    struct Wait {
        var until: Moment
        /// Whether the attempt has been admitted; see ``admit(at:)``.
        var isAdmitted = false
    }

    struct Attempt {
        enum Step { case credentials, opening }
        var epoch: UInt64
        var step: Step
        var deadline: Moment
    }

    private var timing: Timing
    private var retry: RetryPolicy
    private var canRenew: Bool
    private var rotation: Boxed<EndpointRotation>?
    /// The earliest moment at which the way back to the first endpoint begins, when that was put off.
    var returnNotBefore: Moment?
    var phase: Phase = .created(nil)
    private var lastEpoch: UInt64 = 0
    private var changes: UInt64 = 0
    var failures = 0
    var attempts = 0
    var outageStart: Moment?
    private var wasEverAttempted = false
    private(set) var wasEverConnected = false
    /// Whether the first link goes on with a session of an earlier process, or would if the server could.
    private var followsSession = false
    /// The number of times the server has refused the provider's credentials since it last accepted some.
    private(set) var refusals = 0
    /// The newest credentials were refused, and the provider has not given others since.
    private var mustRenew = false
    /// The shortest wait while the path is said to be away.
    private var patience: Duration?
    private var lastAttempt: Moment?
    /// The time of the latest loss of a link over which the server had sent something, and which had not lasted.
    private var lastFlap: Moment?
    private(set) var lastError: LinkspanError?

    init(
        timing: Timing, retry: RetryPolicy, canRenewCredentials: Bool, endpoints: EndpointRotation? = nil
    ) {
        self.rotation = endpoints.map { Boxed($0) }
        self.timing = timing
        self.retry = retry
        self.canRenew = canRenewCredentials
    }

    /// The endpoints to choose from; nil for the connection's own URL alone.
    var endpoints: EndpointRotation? {
        get { self.rotation?.value }
        set { self.rotation = newValue.map { Boxed($0) } }
    }
}

// MARK: - What is

extension ConnectionStateMachine {
    var state: ConnectionState {
        switch self.phase {
        case .created: .created
        case .connected: .connected
        case .disconnected, .suspended: .disconnected
        case .waiting, .attempting: .reconnecting
        case .released: .released
        }
    }

    /// The reason why it was given up for good, until the app asks for a link; nil when it was not.
    var failure: LinkspanError? { if case .disconnected(isGivenUp: true) = self.phase { self.lastError } else { nil } }

    /// Whether it was left on purpose, or given up for good.
    var isLeft: Bool {
        switch self.phase {
        case .disconnected, .released: true
        case .created, .connected, .suspended, .waiting, .attempting: false
        }
    }

    var progress: ConnectionProgress {
        switch self.phase {
        case .created(nil), .disconnected, .released: .idle
        case .suspended: .suspended
        case .connected: .open
        case .waiting(let wait): .waiting(until: wait.until.instant, attempt: self.attempts + 1)
        case .created(let attempt?), .attempting(let attempt):
            switch attempt.step {
            case .credentials: .obtainingCredentials(attempt: self.attempts)
            case .opening: .opening(attempt: self.attempts)
            }
        }
    }

    /// The instant at which ``timerFired(now:random:openingStage:)`` is due.
    var deadline: Moment? {
        switch self.phase {
        case .created(let attempt): attempt?.deadline
        case .attempting(let attempt): attempt.deadline
        case .waiting(let wait): wait.until
        case .connected(_, let since): self.returnDeadline(since: since)
        case .disconnected, .suspended, .released: nil
        }
    }

    func isCurrent(_ epoch: UInt64) -> Bool { self.epoch == epoch }

    /// The attempt that is going on, or the link that is up.
    var epoch: UInt64? {
        switch self.phase {
        case .created(let attempt): attempt?.epoch
        case .attempting(let attempt): attempt.epoch
        case .connected(let epoch, _): epoch
        case .disconnected, .suspended, .waiting, .released: nil
        }
    }
}

// MARK: - What the app asks

extension ConnectionStateMachine {
    mutating func connect(now: Moment) throws(LinkspanError) -> [Action] {
        switch self.phase {
        case .created(nil):
            return self.beginAttempt(now: now, announcing: nil)
        case .disconnected, .suspended:
            self.failures = 0
            self.attempts = 0
            self.refusals = 0
            self.patience = nil
            self.outageStart = now
            self.endpoints?.startOver()
            let change = self.change(from: .disconnected, to: .reconnecting, .requested, now: now, nextAttempt: now)
            return self.beginAttempt(now: now, announcing: change)
        case .created, .connected, .waiting, .attempting, .released:
            throw self.state.wrongState("connect")
        }
    }

    mutating func disconnect(now: Moment) throws(LinkspanError) -> [Action] {
        switch self.phase {
        case .suspended:
            // Nothing to announce: it is down already, but from now on by request.
            self.phase = .disconnected(isGivenUp: false)
            self.lastError = nil
            return []
        case .created(.some), .connected, .disconnected, .waiting, .attempting:
            return self.retire(.requested, now: now)
        case .created(nil), .released:
            throw self.state.wrongState("disconnect")
        }
    }

    mutating func release(now: Moment) throws(LinkspanError) -> [Action] {
        guard self.state == .disconnected else { throw self.state.wrongState("release") }
        let change = self.change(from: .disconnected, to: .released, .requested, now: now)
        self.phase = .released
        return [.announce(change)]
    }

    /// Goes to `disconnected` from wherever it is.
    mutating func retire(_ reason: StateChange.Reason, now: Moment) -> [Action] {
        switch self.phase {
        case .disconnected, .suspended, .released: []
        case .created(let attempt): self.end(attempt?.epoch, politely: false, reason, now: now)
        case .connected(let epoch, _): self.end(epoch, politely: true, reason, now: now)
        case .attempting(let attempt): self.end(attempt.epoch, politely: false, reason, now: now)
        case .waiting: self.end(nil, politely: false, reason, now: now)
        }
    }
}

// MARK: - What happens

extension ConnectionStateMachine {
    /// The deadline may have passed; the link says what its opening waits for.
    mutating func timerFired(
        now: Moment, random: Double, openingStage: String? = nil
    ) -> [Action] {
        guard let deadline = self.deadline, deadline <= now else { return [] }
        switch self.phase {
        case .waiting:
            return self.beginAttempt(now: now, announcing: nil)
        case .created(let attempt?), .attempting(let attempt):
            let error =
                switch attempt.step {
                case .credentials:
                    LinkspanError(.credentialsUnavailable, "the credential provider did not answer in time")
                case .opening:
                    LinkspanError(
                        .timedOut,
                        "no connection within \(self.timing.openDeadline)"
                            + (openingStage.map { ", still \($0)" } ?? "")
                    )
                }
            return [.endLink(epoch: attempt.epoch, politely: false)]
                + self.attemptFailed(error, now: now, random: random)
        case .connected(let epoch, _):
            return self.returnToFirst(epoch, now: now)
        case .created, .disconnected, .suspended, .released:
            return []
        }
    }

    /// There are credentials for the attempt; renewed ones if the provider gave them because the former were refused.
    mutating func credentialsArrived(
        epoch: UInt64, isRenewed: Bool = true, now: Moment
    ) -> [Action] {
        switch self.phase {
        case .created(let attempt?) where attempt.epoch == epoch && attempt.step == .credentials:
            self.phase = .created(self.opening(epoch, now: now))
        case .attempting(let attempt) where attempt.epoch == epoch && attempt.step == .credentials:
            self.phase = .attempting(self.opening(epoch, now: now))
        case .created, .connected, .disconnected, .suspended, .waiting, .attempting, .released:
            return []
        }
        // Newer ones that had been there already were no renewal, and are not counted as one.
        if self.mustRenew, !isRenewed { self.refusals = max(0, self.refusals - 1) }
        self.mustRenew = false
        return [.openLink(epoch: epoch, attempt: self.attempts)]
    }

    mutating func credentialsFailed(
        epoch: UInt64, _ error: LinkspanError, now: Moment, random: Double
    ) -> [Action] {
        guard self.isCurrent(epoch) else { return [] }
        return self.attemptFailed(error, now: now, random: random)
    }

    mutating func linkOpened(epoch: UInt64, _ info: LinkInfo, now: Moment) -> [Action] {
        guard self.isCurrent(epoch) else { return [] }
        let from = self.state
        guard from.canBecome(.connected) else { return [] }
        self.phase = .connected(epoch: epoch, since: now)
        self.lastError = nil
        self.patience = nil
        self.endpoints?.connected()
        self.returnNotBefore = nil
        defer { self.attempts = 0 }
        var change = self.change(from: from, to: .connected, .established(info), now: now)
        if self.wasEverConnected || self.followsSession {
            change.continuity = info.isContinuous ? .continuous : .gap(.reconnected)
        }
        self.wasEverConnected = true
        return [.announce(change)]
    }

    /// There was a session before that of the first link.
    mutating func followsFormerSession() { self.followsSession = true }

    /// The app will not have this link: its greeting failed.
    mutating func linkGivenUp(
        epoch: UInt64, _ error: LinkspanError, now: Moment, random: Double
    ) -> [Action] {
        guard self.isCurrent(epoch), case .connected = self.phase else { return [] }
        return [.endLink(epoch: epoch, politely: true)]
            + self.linkClosed(epoch: epoch, error, now: now, random: random)
    }

    /// The link has ended.
    ///
    /// - Parameters:
    ///   - epoch: the link's.
    ///   - error: why.
    ///   - hasSpoken: whether the server had sent something over it.
    ///   - now: the present.
    ///   - random: from 0 up to 1.
    /// - Returns: what is to be done.
    mutating func linkClosed(
        epoch: UInt64, _ error: LinkspanError, hasSpoken: Bool = false, now: Moment, random: Double
    ) -> [Action] {
        guard self.isCurrent(epoch) else { return [] }
        guard case .connected(_, let since) = self.phase else {
            return self.attemptFailed(error, now: now, random: random)
        }
        self.noteLoss(since: since, now: now)
        let wasHealthy = since.duration(to: now) >= self.timing.healthyAfter
        // One link that ends before its first answer changes nothing: the server's next time up may be longer.
        if wasHealthy { self.lastFlap = nil } else if hasSpoken { self.lastFlap = now }
        return self.afterFailure(error, from: .connected, wasHealthy: wasHealthy, now: now, random: random)
    }

    private mutating func noteLoss(since: Moment, now: Moment) {
        let wasHealthy = since.duration(to: now) >= self.timing.healthyAfter
        // An open link alone proves nothing: over some transports the server refuses what came with it only afterwards.
        if wasHealthy { self.refusals = 0 }
        if wasHealthy || self.outageStart == nil {
            self.failures = 0
            self.outageStart = now
        }
    }
}

// MARK: - Attempts

extension ConnectionStateMachine {
    private func opening(_ epoch: UInt64, now: Moment) -> Attempt {
        Attempt(epoch: epoch, step: .opening, deadline: now + self.timing.openDeadline)
    }

    mutating func beginAttempt(now: Moment, announcing change: StateChange?) -> [Action] {
        self.lastEpoch += 1
        self.attempts += 1
        self.lastAttempt = now
        if self.outageStart == nil { self.outageStart = now }
        let attempt = Attempt(
            epoch: self.lastEpoch, step: .credentials, deadline: now + self.timing.credentialDeadline)
        let reason: CredentialRequest.Reason =
            self.mustRenew ? .refused : self.wasEverAttempted ? .retry : .first
        self.wasEverAttempted = true
        if case .created = self.phase {
            self.phase = .created(attempt)
        } else {
            self.phase = .attempting(attempt)
        }
        let announcement: [Action] = change.map { [.announce($0)] } ?? []
        return announcement + [.provideCredentials(epoch: attempt.epoch, reason: reason)]
    }

    private mutating func attemptFailed(
        _ error: LinkspanError, now: Moment, random: Double
    ) -> [Action] {
        self.afterFailure(error, from: self.state, now: now, random: random)
    }

    /// The link ended or could not be opened: goes to `disconnected`, and on to `reconnecting` when that can help.
    ///
    /// A link that was healthy is tried for again where it was; see ``Endpoints``.
    private mutating func afterFailure(
        _ error: LinkspanError, from: ConnectionState, wasHealthy: Bool = false, now: Moment,
        random: Double
    ) -> [Action] {
        self.lastError = error
        let outlook = wasHealthy ? nil : self.endpoints?.fail(error)
        // While the path is away, failures say nothing about the server.
        self.failures = self.patience == nil ? self.failures + 1 : 1
        guard let delay = self.delay(after: error, outlook, now: now, random: random) else {
            self.phase = .disconnected(isGivenUp: true)
            return [.announce(self.change(from: from, to: .disconnected, .failed(error), now: now))]
        }
        let wanted = now + max(delay, self.patience ?? .zero)
        // One renewal of credentials may follow at once: it happens once only.
        let isRenewal = error.code == .credentialsRefused && self.refusals == 1
        var spaced = self.earliestSpaced ?? wanted
        // Never in step with a server that comes and goes.
        if self.isFlapping(error, now: now) { spaced += delay }
        let next = isRenewal ? wanted : max(wanted, spaced)
        self.phase = .waiting(Wait(until: next))
        guard from != .reconnecting else { return [] }
        let down = self.change(from: from, to: .disconnected, .lost(error), now: now)
        let up = self.change(from: .disconnected, to: .reconnecting, .lost(error), now: now, nextAttempt: next)
        return [.announce(down), .announce(up)]
    }

    private mutating func delay(
        after error: LinkspanError, _ outlook: EndpointRotation.Outlook?, now: Moment, random: Double
    ) -> Duration? {
        if error.code == .credentialsRefused {
            self.mustRenew = true
            if self.canRenew { self.refusals += 1 }
            // One renewal: asked for at once, spread a little, because a herd may have been refused together.
            if self.refusals == 1 { return .milliseconds(250) * random }
        }
        let outage = self.outageStart?.duration(to: now) ?? .zero
        var question = RetryQuestion(
            error: error, failures: self.failures, outage: outage, isFlapping: self.isFlapping(error, now: now),
            random: random)
        if let endpoints = self.endpoints { question.rounds = outlook == .another ? 1 : max(1, endpoints.rounds) }
        if outlook == .another || outlook == .roundOver && error.isPermanent {
            // What one endpoint says does not hold for another.
            question.error = LinkspanError(.connectionLost, error.message, cause: error)
        }
        return self.retry.delay(for: question).map { max(.zero, $0) }
    }

    /// Whether the server comes and goes, and has not asked for patience.
    private func isFlapping(_ error: LinkspanError, now: Moment) -> Bool {
        guard let lastFlap = self.lastFlap, lastFlap.duration(to: now) < self.timing.healthyAfter else { return false }
        return error.code != .serverUnavailable && error.retryAfter == nil && self.patience == nil
    }

    private mutating func end(
        _ epoch: UInt64?, politely: Bool, _ reason: StateChange.Reason, now: Moment
    ) -> [Action] {
        let change = self.change(from: self.state, to: .disconnected, reason, now: now)
        let unused = self.unusedAdmission
        self.phase = .disconnected(isGivenUp: false)
        let ending: [Action] = epoch.map { [.endLink(epoch: $0, politely: politely)] } ?? []
        return ending + unused + [.announce(change)]
    }

    mutating func change(
        from: ConnectionState, to: ConnectionState, _ reason: StateChange.Reason, now: Moment,
        nextAttempt: Moment? = nil
    ) -> StateChange {
        self.changes += 1
        return StateChange(
            sequence: self.changes, from: from, to: to, reason: reason, attempt: self.attempts, time: now.instant,
            nextAttempt: nextAttempt?.instant)
    }
}

// MARK: - Admission

extension ConnectionStateMachine {
    /// Whether the attempt that is due has to be admitted first.
    func needsAdmission(now: Moment) -> Bool {
        guard case .waiting(let wait) = self.phase else { return false }
        return !wait.isAdmitted && wait.until <= now
    }

    /// Begins the attempt that is waited for at `instant`.
    mutating func admit(at instant: Moment) {
        guard case .waiting(let wait) = self.phase else { return }
        self.phase = .waiting(Wait(until: max(wait.until, instant), isAdmitted: true))
    }

    private var unusedAdmission: [Action] {
        if case .waiting(let wait) = self.phase, wait.isAdmitted { [.giveBackAdmission] } else { [] }
    }

    private var earliestSpaced: Moment? {
        self.lastAttempt.map { $0 + self.timing.attemptSpacing }
    }
}

// MARK: - Suspension

extension ConnectionStateMachine {
    /// Drops the link or the attempt, because the path is gone or the app is out of sight.
    ///
    /// With a `patience`, attempts follow as after any loss, but at least that far apart. Without one there is none
    /// before ``resume(after:now:)`` or ``connect(now:)``.
    mutating func suspend(
        _ error: LinkspanError, patience: Duration?, now: Moment, random: Double
    ) -> [Action] {
        let from = self.state
        var ending: [Action] = []
        switch self.phase {
        case .created(nil), .disconnected, .suspended, .released:
            return []
        case .created(let attempt?), .attempting(let attempt):
            ending = [.endLink(epoch: attempt.epoch, politely: false)]
        case .connected(let epoch, let since):
            self.noteLoss(since: since, now: now)
            ending = [.endLink(epoch: epoch, politely: patience == nil)]
        case .waiting(let wait):
            ending = self.unusedAdmission
            if let patience {
                self.lastError = error
                self.patience = patience
                self.phase = .waiting(Wait(until: max(wait.until, now + patience)))
                return ending
            }
        }
        guard let patience else {
            self.lastError = error
            let change = self.change(from: from, to: .disconnected, .lost(error), now: now)
            self.phase = .suspended(error)
            return ending + [.announce(change)]
        }
        self.patience = patience
        return ending + self.afterFailure(error, from: from, now: now, random: random)
    }

    /// Tries after `delay`, when an attempt is waited for or the connection is suspended.
    ///
    /// The spacing of attempts holds all the same. What the server asked for does not: the device has moved, or its
    /// user is there again.
    mutating func resume(after delay: Duration, now: Moment) -> [Action] {
        let next = max(now + delay, self.earliestSpaced ?? now)
        let wasHeld = self.patience != nil
        self.patience = nil
        switch self.phase {
        case .waiting(let wait):
            if wasHeld {
                self.failures = 0
                self.outageStart = now
            }
            // What has been admitted already has its turn.
            if !wait.isAdmitted, next < wait.until { self.phase = .waiting(Wait(until: next)) }
            return []
        case .suspended(let error):
            self.failures = 0
            self.outageStart = now
            let change = self.change(
                from: .disconnected, to: .reconnecting, .lost(error), now: now, nextAttempt: next)
            self.phase = .waiting(Wait(until: next))
            return [.announce(change)]
        case .created, .connected, .disconnected, .attempting, .released:
            return []
        }
    }
}

// MARK: - Moving

extension ConnectionStateMachine {
    /// Applies other times and rules.
    mutating func adopt(
        _ timing: Timing, _ retry: RetryPolicy, canRenewCredentials: Bool, endpoints: EndpointRotation? = nil
    ) {
        self.adopt(endpoints)
        self.timing = timing
        self.retry = retry
        self.canRenew = canRenewCredentials
    }

    /// Leaves its link or attempt for a first attempt somewhere else, at once.
    ///
    /// What is down on purpose stays down; what was given up tries there.
    mutating func move(_ reason: LinkspanError, now: Moment) -> [Action] {
        let from = self.state
        var ending: [Action] = []
        switch self.phase {
        case .created(nil), .disconnected(isGivenUp: false), .suspended, .released:
            self.forgetFormerPlace(now: now)
            return []
        case .disconnected(isGivenUp: true):
            self.forgetFormerPlace(now: now)
            let up = self.change(from: from, to: .reconnecting, .lost(reason), now: now, nextAttempt: now)
            return self.beginAttempt(now: now, announcing: up)
        case .created(let attempt?):
            // Still on its first way: nothing to announce.
            self.phase = .created(nil)
            ending = [.endLink(epoch: attempt.epoch, politely: false)]
        case .attempting(let attempt):
            ending = [.endLink(epoch: attempt.epoch, politely: false)]
        case .waiting:
            ending = self.unusedAdmission
        case .connected(let epoch, _):
            let down = self.change(from: from, to: .disconnected, .lost(reason), now: now)
            ending = [.endLink(epoch: epoch, politely: true), .announce(down)]
        }
        self.forgetFormerPlace(now: now)
        guard from == .connected else { return ending + self.beginAttempt(now: now, announcing: nil) }
        let up = self.change(from: .disconnected, to: .reconnecting, .lost(reason), now: now, nextAttempt: now)
        return ending + self.beginAttempt(now: now, announcing: up)
    }

    /// Forgets what was learned about the former server, which says nothing about the next.
    private mutating func forgetFormerPlace(now: Moment) {
        self.failures = 0
        self.attempts = 0
        self.refusals = 0
        self.mustRenew = false
        self.wasEverAttempted = false
        self.patience = nil
        self.lastFlap = nil
        self.outageStart = now
        self.lastError = nil
        self.endpoints?.startOver()
    }
}

extension ConnectionStateMachine.Timing {
    /// The times of these options.
    init(_ options: ConnectionOptions, attemptSpacing: Duration) {
        self.init(
            credentialDeadline: options.credentialDeadline, openDeadline: options.openDeadline,
            healthyAfter: options.healthyAfter, attemptSpacing: attemptSpacing)
    }
}
