internal import DequeModule
internal import LinkspanRuntime

/// Everything a connection knows, as one value behind its lock: the state machine, the commands, and what is to be done.
///
/// Methods decide and leave effects; they call nobody.
struct ConnectionCore: Sendable {
    private(set) var machine: ConnectionStateMachine
    private(set) var commands: CommandStateMachine
    private(set) var link: (any Link)?
    private let isGreeted: Bool
    private var credentials = Credentials.none
    private var credentialWait: CredentialWait?
    private var greetingTask: Task<Void, Never>?
    var effects: Deque<Effect> = []
    var isDraining = false
    private(set) var armed: ContinuousClock.Instant?
    var timer: (any ScheduledWork)?
    /// Links that were told to end and have not said that they did.
    private var endingLinks = 0
    private var farewells: [Promise<Void>] = []
    /// How many listen to what is sent.
    var outgoingListeners = 0
    var isWatched: Bool
    var trace: FrameTrace

    init(machine: ConnectionStateMachine, commands: CommandStateMachine, isGreeted: Bool, trace: FrameTrace) {
        self.machine = machine
        self.commands = commands
        self.isGreeted = isGreeted
        self.trace = trace
        self.isWatched = trace.isOn
    }

    var isReleased: Bool { self.machine.state == .released }

    /// Goes by other rules from now on.
    mutating func adopt(
        _ options: ConnectionOptions, _ timing: ConnectionStateMachine.Timing, canRenewCredentials: Bool
    ) {
        self.machine.adopt(timing, options.retry, canRenewCredentials: canRenewCredentials)
        self.commands.adopt(options)
        guard options.trace != self.trace.capacity else { return }
        self.trace = FrameTrace(capacity: options.trace)
        self.change(outgoingListeners: 0)
    }

    /// Lets something happen to the commands.
    mutating func command<Result, Failure: Error>(
        _ event: (inout CommandStateMachine, inout Deque<Effect>) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try event(&self.commands, &self.effects)
    }
}

// MARK: - Effects

extension ConnectionCore {
    /// Whether the caller has become the one who performs the effects.
    mutating func beginDraining() -> Bool {
        guard !self.isDraining, !self.effects.isEmpty else { return false }
        self.isDraining = true
        return true
    }

    /// The effects that were left since; empty when the draining has ended.
    mutating func takeEffects() -> Deque<Effect> {
        defer { self.effects = [] }
        self.isDraining = !self.effects.isEmpty
        return self.effects
    }

    /// Lets an observer of states hear the latest, behind the effects that are being performed.
    mutating func introduce(observer: UInt64) { self.effects.append(.introduce(observer: observer)) }

    /// Makes sure that a timer runs for the earliest deadline.
    mutating func rearm() {
        guard let wanted = [self.machine.deadline, self.commands.deadline].compactMap({ $0 }).min() else { return }
        if let armed = self.armed, armed <= wanted { return }
        self.armed = wanted
        self.effects.append(.arm(wanted))
    }

    mutating func timerBegan() { self.armed = nil }
}

// MARK: - The state machine's actions

extension ConnectionCore {
    mutating func run<Failure: Error>(
        _ event: (inout ConnectionStateMachine) throws(Failure) -> [ConnectionStateMachine.Action]
    ) throws(Failure) {
        for action in try event(&self.machine) { self.carryOut(action) }
    }

    mutating func credentialsArrived(epoch: UInt64, _ issued: IssuedCredentials, now: ContinuousClock.Instant) {
        guard self.machine.isCurrent(epoch) else { return }
        self.credentials = issued.credentials
        self.credentialWait = nil
        let isRenewed = issued.isAnswerToRefusal(at: now)
        for action in self.machine.credentialsArrived(epoch: epoch, isRenewed: isRenewed, now: now) {
            self.carryOut(action)
        }
    }

    /// Keeps what stops the waiting for credentials; refuses when the attempt is over already.
    mutating func keep(_ wait: CredentialWait, epoch: UInt64) -> Bool {
        guard self.machine.isCurrent(epoch), case .obtainingCredentials = self.machine.progress else { return false }
        self.credentialWait = wait
        return true
    }

    /// Keeps the task that greets, to cancel it; refuses when the link or the greeting is over already.
    mutating func keep(greeting task: Task<Void, Never>, epoch: UInt64) -> Bool {
        guard self.commands.isGreeting(epoch) else { return false }
        self.greetingTask = task
        return true
    }

    /// Keeps a link that is about to open; refuses when the attempt is over already.
    mutating func keep(_ link: any Link, epoch: UInt64) -> Bool {
        guard self.machine.isCurrent(epoch) else { return false }
        self.link = link
        return true
    }

    /// The link, if it is that of `epoch`.
    func link(of epoch: UInt64) -> (any Link)? { self.machine.isCurrent(epoch) ? self.link : nil }

    private mutating func carryOut(_ action: ConnectionStateMachine.Action) {
        switch action {
        case .announce(let change):
            self.effects.append(.announce(change))
            self.follow(change)
        case .provideCredentials(let epoch, let reason):
            self.link = nil
            self.stopWaitingForCredentials()
            self.effects.append(.provideCredentials(epoch: epoch, reason: reason))
        case .openLink(let epoch, let attempt):
            self.effects.append(.openLink(epoch: epoch, attempt: attempt, self.credentials))
            self.credentials = .none
        case .endLink(_, let politely):
            self.stopWaitingForCredentials()
            if let link = self.link.take() {
                self.endingLinks += 1
                self.effects.append(.endLink(link, politely: politely))
            }
        case .giveBackAdmission: self.effects.append(.giveBackAdmission)
        }
    }

    /// A link that was told to end has ended.
    ///
    /// - Returns: those who wait for the last one.
    mutating func formerLinkEnded() -> [Promise<Void>] {
        self.endingLinks = max(0, self.endingLinks - 1)
        guard self.endingLinks == 0 else { return [] }
        defer { self.farewells = [] }
        return self.farewells
    }

    /// Notes who waits until no link is left that was told to end; false when there is none.
    mutating func awaitFarewell(_ waiter: Promise<Void>) -> Bool {
        guard self.endingLinks > 0 else { return false }
        self.farewells.append(waiter)
        return true
    }

    private mutating func stopWaitingForCredentials() {
        if let wait = self.credentialWait { self.effects.append(.stopWaiting(wait)) }
        self.credentialWait = nil
    }

    private mutating func endGreeting() {
        if let task = self.greetingTask { self.effects.append(.cancelTask(task)) }
        self.greetingTask = nil
    }

    private mutating func follow(_ change: StateChange) {
        if change.from == .connected {
            self.link = nil
            self.endGreeting()
            self.commands.linkLost(change.reason.error, effects: &self.effects)
        }
        switch change.to {
        case .connected:
            guard let link = self.link else { return }
            let epoch = self.isGreeted ? self.machine.epoch : nil
            self.commands.linkOpened(link, greetedAs: epoch, effects: &self.effects)
        case .disconnected:
            guard case .failed(let error) = change.reason else { return }
            self.commands.givenUp(error, effects: &self.effects)
        case .released:
            self.commands.end(effects: &self.effects)
        case .created, .reconnecting:
            ()
        }
    }
}
