internal import LinkspanRuntime

/// The states of a connection and its attempts to be up.
///
/// A value: news, time and chance come in, outputs go out.
///
/// Three kinds of illegal input: a call the app may not make in this state throws `wrongState`; news about a link or a
/// credential request that is no longer ours (another epoch) is dropped without a word, because it is an ordinary race;
/// everything else cannot happen by construction.
struct Attempts: Sendable {
    /// A step for the owner; several are taken in order.
    enum Output: Sendable {
        case announce(StateChange)
        case provideCredentials(epoch: UInt64, reason: CredentialRequest.Reason)
        case openLink(PendingAttempt)
        case endLink(epoch: UInt64, LinkClosing?)
        /// The attempt that was admitted will not be made.
        case giveBackAdmission
        case attemptFailed(AttemptFailure)
    }

    private enum Phase {
        case created(Attempt?)
        case connected(epoch: UInt64, since: Moment)
        case disconnected(isGivenUp: Bool)
        case suspended(LinkspanError)
        case waiting(Wait)
        case attempting(Attempt)
        case released
    }

    private struct Wait {
        var until: Moment
        /// Whether the attempt has been admitted; see ``admit(at:)``.
        var isAdmitted = false
    }

    private struct Attempt {
        enum Step { case credentials, opening }
        var epoch: UInt64
        var step: Step
        var deadline: Moment
    }

    private var rules: AttemptRules
    var target: AttemptTarget
    private var phase: Phase = .created(nil)
    private var lastEpoch: UInt64 = 0
    private var changes: UInt64 = 0
    private var outage = Outage()
    private var wasEverAttempted = false
    private(set) var wasEverConnected = false
    /// Whether the first link goes on with a session of an earlier process, or would if the server could.
    private var followsSession = false
    /// The number of times the server has refused the provider's credentials since it last accepted some.
    private(set) var refusals = 0
    /// The newest credentials were refused, and the provider has not given others since.
    private var mustRenew = false
    private var lastAttempt: Moment?
    private(set) var lastError: LinkspanError?
    /// Whether the next link is to end as if the server had refused the credentials; an inspector asks for that.
    var refusesNext = false

    init(_ rules: AttemptRules, endpoints: EndpointRotation? = nil) {
        self.target = AttemptTarget(endpoints)
        self.rules = rules
    }
}

// MARK: - What is

extension Attempts {
    var facts: ConnectionFacts {
        ConnectionFacts(
            state: self.state, progress: self.progress, lastError: self.lastError, failure: self.failure,
            refusals: self.refusals, place: self.place)
    }

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
        case .waiting(let wait): .waiting(until: wait.until.instant, attempt: self.outage.attempts + 1)
        case .created(let attempt?), .attempting(let attempt):
            switch attempt.step {
            case .credentials: .obtainingCredentials(attempt: self.outage.attempts)
            case .opening: .opening(attempt: self.outage.attempts)
            }
        }
    }

    /// The reason why commands wait, as far as it is known; nil while the connection is up.
    func reasonToWait(openingStage: String?) -> LinkspanError? {
        if case .disconnected(isGivenUp: false) = self.phase { return .disconnectedByApp }
        return self.lastError
            ?? openingStage.map { self.target.placed(LinkspanError(.timedOut, "no connection yet, still \($0)")) }
    }

    /// The instant at which ``timerFired(now:random:openingStage:)`` is due.
    var deadline: Moment? {
        switch self.phase {
        case .created(let attempt): attempt?.deadline
        case .attempting(let attempt): attempt.deadline
        case .waiting(let wait): wait.until
        case .connected(_, let since): self.target.endpoints?.returnDeadline(since: since)
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

extension Attempts {
    mutating func connect(now: Moment) throws(LinkspanError) -> [Output] {
        switch self.phase {
        case .created(nil):
            return self.beginAttempt(now: now, announcing: nil)
        case .disconnected, .suspended:
            self.outage.startOver(now: now)
            self.outage.patience = nil
            self.refusals = 0
            self.target.endpoints?.startOver()
            let change = self.change(from: .disconnected, to: .reconnecting, .requested, now: now, nextAttempt: now)
            return self.beginAttempt(now: now, announcing: change)
        case .created, .connected, .waiting, .attempting, .released:
            throw self.state.wrongState("connect")
        }
    }

    /// Makes the attempt that is waited for at once; see ``Connection/reconnectNow()``.
    mutating func reconnectNow(now: Moment) throws(LinkspanError) -> [Output] {
        switch self.phase {
        case .waiting: return self.ending() + self.beginAttempt(now: now, announcing: nil)
        case .created(.some), .connected, .attempting: return []
        case .created(nil), .disconnected, .suspended: return try self.connect(now: now)
        case .released: throw self.state.wrongState("reconnectNow")
        }
    }

    mutating func disconnect(_ closing: LinkClosing = .standard, now: Moment) throws(LinkspanError) -> [Output] {
        switch self.phase {
        case .suspended:
            // Nothing to announce: it is down already, but from now on by request.
            self.phase = .disconnected(isGivenUp: false)
            self.lastError = nil
            return []
        case .created(.some), .connected, .disconnected, .waiting, .attempting:
            return self.retire(.requested, closing, now: now)
        case .created(nil), .released:
            throw self.state.wrongState("disconnect")
        }
    }

    mutating func release(now: Moment) throws(LinkspanError) -> [Output] {
        guard self.state == .disconnected else { throw self.state.wrongState("release") }
        let change = self.change(from: .disconnected, to: .released, .requested, now: now)
        self.phase = .released
        return [.announce(change)]
    }

    /// Goes to `disconnected` from wherever it is.
    mutating func retire(
        _ reason: StateChange.Reason, _ closing: LinkClosing = .standard, now: Moment
    ) -> [Output] {
        let (from, ending) = (self.state, self.ending(closing))
        guard from != .disconnected, from != .released else { return [] }
        self.phase = .disconnected(isGivenUp: false)
        return ending + [.announce(self.change(from: from, to: .disconnected, reason, now: now))]
    }

    /// Ends the link, the attempt or the wait under way.
    private func ending(_ closing: LinkClosing? = .standard) -> [Output] {
        switch self.phase {
        case .created(let attempt?), .attempting(let attempt): [.endLink(epoch: attempt.epoch, nil)]
        case .connected(let epoch, _): [.endLink(epoch: epoch, closing)]
        case .waiting(let wait): wait.isAdmitted ? [.giveBackAdmission] : []
        case .created(nil), .disconnected, .suspended, .released: []
        }
    }
}

// MARK: - What happens

extension Attempts {
    /// The deadline may have passed; the link says what its opening waits for.
    mutating func timerFired(
        now: Moment, random: Double, openingStage: String? = nil
    ) -> [Output] {
        guard let deadline = self.deadline, deadline <= now else { return [] }
        switch self.phase {
        case .waiting:
            return self.beginAttempt(now: now, announcing: nil)
        case .created(let attempt?), .attempting(let attempt):
            let isOpening = attempt.step == .opening
            let error = isOpening ? self.rules.openTimeout(openingStage) : self.rules.credentialTimeout
            return [.endLink(epoch: attempt.epoch, nil)]
                + self.afterFailure(error, from: self.state, now: now, random: random)
        case .connected(let epoch, _):
            return self.returnToFirst(epoch, now: now)
        case .created, .disconnected, .suspended, .released:
            return []
        }
    }

    /// There are credentials for the attempt; renewed ones if the provider gave them because the former were refused.
    mutating func credentialsArrived(
        _ credentials: Credentials = Credentials(), epoch: UInt64, isRenewed: Bool = true, now: Moment
    ) -> [Output] {
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
        return [.openLink(PendingAttempt(epoch: epoch, number: self.outage.attempts, credentials: credentials))]
    }

    mutating func credentialsFailed(
        epoch: UInt64, _ error: LinkspanError, now: Moment, random: Double
    ) -> [Output] {
        guard self.isCurrent(epoch) else { return [] }
        return self.afterFailure(error, from: self.state, now: now, random: random)
    }

    mutating func linkOpened(epoch: UInt64, _ info: LinkInfo, now: Moment) -> [Output] {
        guard self.isCurrent(epoch) else { return [] }
        let from = self.state
        guard from.canBecome(.connected) else { return [] }
        self.phase = .connected(epoch: epoch, since: now)
        self.lastError = nil
        self.outage.patience = nil
        self.outage.isReported = false
        self.target.learn(info.endpoints)
        self.target.endpoints?.connected()
        defer { self.outage.attempts = 0 }
        var change = self.change(from: from, to: .connected, .established(info), now: now)
        if self.wasEverConnected || self.followsSession {
            change.continuity = info.isContinuous ? .continuous : .gap(.reconnected)
        }
        self.wasEverConnected = true
        return [.announce(change)]
    }

    /// The server has named nodes of its cluster while the link was open.
    mutating func learn(_ endpoints: [ConnectionURL]) -> [Output] {
        self.target.learn(endpoints)
        return []
    }

    /// There was a session before that of the first link.
    mutating func followsFormerSession() { self.followsSession = true }

    /// The connection gives its link up: the greeting failed, or an inspector drops it.
    ///
    /// - Parameters:
    ///   - epoch: the link's.
    ///   - error: the reason.
    ///   - closing: how the server is notified; nil when it is not.
    ///   - hasSpoken: whether the server had sent something over it.
    ///   - now: the present.
    ///   - random: from 0 up to 1.
    /// - Returns: the outputs.
    mutating func linkGivenUp(
        epoch: UInt64, _ error: LinkspanError, _ closing: LinkClosing?, hasSpoken: Bool = false, now: Moment,
        random: Double
    ) -> [Output] {
        guard self.isCurrent(epoch) else { return [] }
        return [.endLink(epoch: epoch, closing)]
            + self.linkClosed(epoch: epoch, error, hasSpoken: hasSpoken, now: now, random: random)
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
    ) -> [Output] {
        guard self.isCurrent(epoch) else { return [] }
        guard case .connected(_, let since) = self.phase else {
            return self.afterFailure(error, from: self.state, now: now, random: random)
        }
        let wasHealthy = self.noteLoss(since: since, now: now)
        self.outage.noteFlap(wasHealthy: wasHealthy, hasSpoken: hasSpoken, now: now)
        return self.afterFailure(error, from: .connected, wasHealthy: wasHealthy, now: now, random: random)
    }

    /// A link that was up since then was lost.
    ///
    /// - Returns: whether it had lasted.
    private mutating func noteLoss(since: Moment, now: Moment) -> Bool {
        let wasHealthy = since.duration(to: now) >= self.rules.healthyAfter
        // An open link alone proves nothing: over some transports the server refuses the credentials only afterwards.
        if wasHealthy { self.refusals = 0 }
        self.outage.noteLoss(wasHealthy: wasHealthy, now: now)
        return wasHealthy
    }
}

// MARK: - Attempts

extension Attempts {
    private func opening(_ epoch: UInt64, now: Moment) -> Attempt {
        Attempt(epoch: epoch, step: .opening, deadline: now + self.rules.openDeadline)
    }

    private mutating func beginAttempt(now: Moment, announcing change: StateChange?) -> [Output] {
        self.lastEpoch += 1
        self.outage.attempts += 1
        self.lastAttempt = now
        if self.outage.start == nil { self.outage.start = now }
        let attempt = Attempt(
            epoch: self.lastEpoch, step: .credentials, deadline: now + self.rules.credentialDeadline)
        let reason: CredentialRequest.Reason =
            self.mustRenew ? .refused : self.wasEverAttempted ? .retry : .first
        self.wasEverAttempted = true
        if case .created = self.phase {
            self.phase = .created(attempt)
        } else {
            self.phase = .attempting(attempt)
        }
        let announcement: [Output] = change.map { [.announce($0)] } ?? []
        return announcement + [.provideCredentials(epoch: attempt.epoch, reason: reason)]
    }

    /// The link ended or could not be opened: goes to `disconnected`, and on to `reconnecting` when that can help.
    ///
    /// A link that was healthy is tried for again where it was; see ``Endpoints``.
    private mutating func afterFailure(
        _ error: LinkspanError, from: ConnectionState, wasHealthy: Bool = false, now: Moment,
        random: Double
    ) -> [Output] {
        let error = from == .connected ? error : self.target.placed(error)
        self.lastError = error
        let outlook = wasHealthy ? nil : self.target.endpoints?.fail(error)
        self.outage.fail(error, isAttempt: from != .connected)
        let delay = self.delay(after: error, outlook, now: now, random: random)
        // One renewal of credentials may follow at once: it happens once only.
        let isRenewal = error.code == .credentialsRefused && self.refusals == 1
        let isUnproven = !self.wasEverConnected && outlook != .another
        let isMended = from == .connected && delay != nil
        let failure =
            isMended || isRenewal
            ? nil : self.outage.report(self.target.placed(error), isFinal: delay == nil, isUnproven: isUnproven)
        let failed: [Output] = failure.map { [.attemptFailed($0)] } ?? []
        guard let delay else {
            self.phase = .disconnected(isGivenUp: true)
            return failed + [.announce(self.change(from: from, to: .disconnected, .failed(error), now: now))]
        }
        let wanted = now + max(delay, self.outage.patience ?? .zero)
        var spaced = self.earliestSpaced ?? wanted
        // Never in step with a server that comes and goes.
        let period = self.rules.healthyAfter
        if self.outage.isFlapping(error, within: period, now: now) { spaced += delay }
        // The policy may have the second attempt of an outage follow the first at once: that happens once only, too.
        let isImmediate = delay == .zero && from != .connected && self.outage.attempts == 1
        let next = isRenewal || isImmediate ? wanted : max(wanted, spaced)
        self.phase = .waiting(Wait(until: next))
        guard from != .reconnecting else { return failed }
        let down = self.change(from: from, to: .disconnected, .lost(error), now: now)
        let up = self.change(from: .disconnected, to: .reconnecting, .lost(error), now: now, nextAttempt: next)
        return failed + [.announce(down), .announce(up)]
    }

    private mutating func delay(
        after error: LinkspanError, _ outlook: EndpointRotation.Outlook?, now: Moment, random: Double
    ) -> Duration? {
        if error.code == .credentialsRefused {
            self.mustRenew = true
            if self.rules.canRenewCredentials { self.refusals += 1 }
            // One renewal: asked for at once, spread a little, because a herd may have been refused together.
            if self.refusals == 1 { return .milliseconds(250) * random }
        }
        return self.rules.delay(
            after: error, outlook, rounds: self.target.endpoints?.rounds, self.outage, now: now, random: random)
    }

    private mutating func change(
        from: ConnectionState, to: ConnectionState, _ reason: StateChange.Reason, now: Moment,
        nextAttempt: Moment? = nil
    ) -> StateChange {
        self.changes += 1
        var change = StateChange(
            from: from, to: to, reason: reason, attempt: self.outage.attempts,
            time: now.instant, nextAttempt: nextAttempt?.instant)
        change.sequence = self.changes
        return change
    }
}

// MARK: - Admission

extension Attempts {
    /// Whether the attempt that is due has to be admitted first.
    func needsAdmission(now: Moment) -> Bool {
        guard case .waiting(let wait) = self.phase else { return false }
        return !wait.isAdmitted && wait.until <= now
    }

    /// Begins the attempt that is due at `instant`.
    mutating func admit(at instant: Moment) {
        guard case .waiting = self.phase else { return }
        self.phase = .waiting(Wait(until: instant, isAdmitted: true))
    }

    private var earliestSpaced: Moment? { self.lastAttempt.map { $0 + self.rules.spacing } }
}

// MARK: - Suspension

extension Attempts {
    /// Drops the link or the attempt, because the path is gone or the app is out of sight.
    ///
    /// With a `patience`, attempts follow as after any loss, but at least that far apart. Without one there is none
    /// before ``resume(after:now:)`` or ``connect(now:)``.
    mutating func suspend(
        _ error: LinkspanError, patience: Duration?, now: Moment, random: Double
    ) -> [Output] {
        let (from, ending) = (self.state, self.ending(patience == nil ? .standard : nil))
        switch self.phase {
        case .created(nil), .disconnected, .suspended, .released: return []
        case .created, .attempting: ()
        case .connected(_, let since): _ = self.noteLoss(since: since, now: now)
        case .waiting(let wait):
            if let patience {
                self.lastError = error
                self.outage.patience = patience
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
        self.outage.patience = patience
        return ending + self.afterFailure(error, from: from, now: now, random: random)
    }

    /// Tries after `delay`, when an attempt is waited for or the connection is suspended.
    ///
    /// The spacing of attempts holds all the same. What the server asked for does not: the device has moved, or its
    /// user is there again.
    mutating func resume(after delay: Duration, now: Moment) -> [Output] {
        let next = max(now + delay, self.earliestSpaced ?? now)
        let wasHeld = self.outage.patience != nil
        self.outage.patience = nil
        switch self.phase {
        case .waiting(let wait):
            if wasHeld { (self.outage.failures, self.outage.start) = (0, now) }
            // What has been admitted already has its turn.
            if !wait.isAdmitted, next < wait.until { self.phase = .waiting(Wait(until: next)) }
            return []
        case .suspended(let error):
            (self.outage.failures, self.outage.start) = (0, now)
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

extension Attempts {
    /// Applies other rules, and another list of endpoints from the next attempt on.
    mutating func adopt(_ rules: AttemptRules, endpoints: EndpointRotation?) {
        self.rules = rules
        self.target.adopt(endpoints)
    }

    /// Leaves its link or attempt for a first attempt somewhere else, at once.
    ///
    /// What is down on purpose stays down; what was given up tries there.
    mutating func move(_ reason: LinkspanError, now: Moment) -> [Output] {
        var (from, outputs) = (self.state, self.ending())
        self.forgetFormerPlace(now: now)
        switch self.phase {
        case .created(nil), .disconnected(isGivenUp: false), .suspended, .released: return []
        // On its way: nothing to announce.
        case .created, .attempting, .waiting: return outputs + self.beginAttempt(now: now, announcing: nil)
        case .connected:
            outputs.append(.announce(self.change(from: from, to: .disconnected, .lost(reason), now: now)))
            from = .disconnected
        case .disconnected(isGivenUp: true): ()
        }
        let up = self.change(from: from, to: .reconnecting, .lost(reason), now: now, nextAttempt: now)
        return outputs + self.beginAttempt(now: now, announcing: up)
    }

    /// Forgets what was learned about the former server, which says nothing about the next.
    private mutating func forgetFormerPlace(now: Moment) {
        self.outage = Outage(start: now)
        self.refusals = 0
        self.mustRenew = false
        self.wasEverAttempted = false
        self.lastError = nil
        self.target.endpoints?.startOver()
    }
}

// MARK: - Endpoints

extension Attempts {
    /// The place in the list.
    private var place: EndpointPlace? {
        if case .connected(_, let since) = self.phase {
            self.target.place(upSince: since)
        } else {
            self.target.place(upSince: nil)
        }
    }

    /// Puts the way back to the first endpoint off while requests are under way.
    mutating func putOffReturn(now: Moment) {
        if case .connected(_, let since) = self.phase { self.target.endpoints?.putOffReturn(since: since, now: now) }
    }

    /// Leaves the link for an attempt at the first endpoint.
    private mutating func returnToFirst(_ epoch: UInt64, now: Moment) -> [Output] {
        let reason = LinkspanError(.moved, "the connection returns to its first endpoint")
        self.target.endpoints?.beginReturn()
        self.outage.startOver(now: now)
        let down = self.change(from: .connected, to: .disconnected, .lost(reason), now: now)
        let up = self.change(from: .disconnected, to: .reconnecting, .lost(reason), now: now, nextAttempt: now)
        return [.endLink(epoch: epoch, .standard), .announce(down)] + self.beginAttempt(now: now, announcing: up)
    }
}
