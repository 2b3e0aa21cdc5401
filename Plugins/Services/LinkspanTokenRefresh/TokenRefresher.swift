internal import Linkspan
internal import LinkspanLifecycle
internal import LinkspanMessaging
internal import LinkspanRuntime

/// Carries out the decisions of the state machine: fetches, answers, waits.
final class TokenRefresher: Sendable {
    typealias Fetch = @Sendable (CredentialRequest.Reason) async throws -> Credentials

    fileprivate struct State: Sendable {
        var machine: TokenStateMachine
        var tasks: [UInt64: Task<Void, Never>] = [:]
        var events: (stream: AsyncStream<AuthenticationEvent>, sink: AsyncStream<AuthenticationEvent>.Continuation)?
        /// The options of the latest service that renews ahead, which other services must not see.
        var own: (owner: Owner, options: TokenRefreshService.Options)?
        var armed: (number: UInt64, deadline: ContinuousClock.Instant)?
        var timers: UInt64 = 0
    }

    /// Identifies a service.
    final class Owner: Sendable {}

    private let fetch: Fetch
    private let scheduler: any Scheduler
    private let random: @Sendable () -> Double
    // Guards token, fetch and timers: connections that ask contend with fetches, timers and the service.
    private let state: Lock<State>

    init(
        fetchLimit: Duration, scheduler: any Scheduler, random: @escaping @Sendable () -> Double,
        fetch: @escaping Fetch
    ) {
        self.fetch = fetch
        self.scheduler = scheduler
        self.random = random
        self.state = Lock(
            State(machine: TokenStateMachine(options: TokenRefreshService.Options(), fetchLimit: fetchLimit)))
    }

    /// A token: the present one, or that of the fetch that all callers share.
    func credentials(_ reason: CredentialRequest.Reason) async throws -> Credentials {
        let (answers, answer) = AsyncStream<Result<Credentials, any Error>>.makeStream()
        self.change { machine, now, _ in
            machine.ask(reason, now: now) {
                answer.yield($0)
                answer.finish()
            }
        }
        for await outcome in answers { return try outcome.get() }
        // The stream ends without an answer when the task is cancelled; the fetch goes on for others.
        throw CancellationError()
    }

    /// The events since the start; nil while no service renews ahead.
    var events: AsyncStream<AuthenticationEvent>? { self.state.withLock { $0.events?.stream } }

    /// The options that a service has set; nil for its first ones.
    func options(of owner: Owner) -> TokenRefreshService.Options? {
        self.state.withLock { $0.own.flatMap { $0.owner === owner ? $0.options : nil } }
    }

    /// Renews tokens ahead from now on.
    func start(_ options: TokenRefreshService.Options, of owner: Owner) {
        let events = AsyncStream<AuthenticationEvent>.makeStream(bufferingPolicy: .bufferingNewest(64))
        self.state.withLock { state in
            state.own = (owner, options)
            state.events = (events.stream, events.continuation)
        }
        self.change { machine, now, random in
            machine.start(options, now: now, random: random)
            return []
        }
    }

    func stop() {
        let sink = self.state.withLock { state in
            state.machine.stop()
            defer { state.events = nil }
            return state.events?.sink
        }
        sink?.finish()
    }

    func apply(_ options: TokenRefreshService.Options, of owner: Owner) {
        self.state.withLock { $0.own = (owner, options) }
        self.change { machine, now, random in
            machine.change(options, now: now, random: random)
            return []
        }
    }

    func revoke() { self.change { machine, _, _ in machine.revoke() } }

    /// Decides under the lock, and acts outside.
    private func change(
        _ body: (inout TokenStateMachine, ContinuousClock.Instant, _ random: Double) -> [TokenStateMachine.Action]
    ) {
        let (now, random) = (self.scheduler.now, self.random())
        let (actions, timer) = self.state.withLock { state in
            (body(&state.machine, now, random), state.nextTimer())
        }
        for action in actions { self.perform(action) }
        guard let (number, deadline) = timer else { return }
        _ = self.scheduler.schedule(at: deadline) { [weak self] in self?.timerFired(number) }
    }

    private func timerFired(_ number: UInt64) {
        let counts = self.state.withLock { state in
            guard state.armed?.number == number else { return false }
            state.armed = nil
            return true
        }
        guard counts else { return }
        self.change { machine, now, random in machine.timerFired(now: now, random: random) }
    }

    private func perform(_ action: TokenStateMachine.Action) {
        switch action {
        case .fetch(let id, let reason): self.fetch(id, reason)
        case .cancel(let id): self.state.withLock { $0.tasks.removeValue(forKey: id) }?.cancel()
        case .answer(let waiters, let outcome): for waiter in waiters { waiter(outcome) }
        case .emit(let kind): self.state.withLock { $0.events?.sink }?.yield(AuthenticationEvent(kind: kind))
        }
    }

    private func fetch(_ id: UInt64, _ reason: CredentialRequest.Reason) {
        // No parent can own this task: it serves connections and a service that come and go. It has a time limit.
        let task = Task {
            do {
                let credentials = try await self.fetch(reason)
                self.change { machine, now, random in
                    machine.fetched(id, credentials, now: now, random: random)
                }
            } catch {
                self.change { machine, now, random in
                    machine.failed(
                        id, error, reason: Self.reason(of: error), isRevoked: error is TokenRevoked, now: now,
                        random: random)
                }
            }
            self.state.withLock { $0.tasks[id] = nil }
        }
        self.state.withLock { state in if state.machine.isFetching(id) { state.tasks[id] = task } }
    }

    /// The code or type of an error; texts of foreign errors may hold secrets.
    private static func reason(of error: any Error) -> String {
        (error as? LinkspanError)?.code.rawValue ?? "\(type(of: error))"
    }
}

extension TokenRefresher.State {
    /// The timer to be set, unless one that is set comes early enough.
    fileprivate mutating func nextTimer() -> (number: UInt64, deadline: ContinuousClock.Instant)? {
        guard let deadline = self.machine.deadline else { return nil }
        if let armed, armed.deadline <= deadline { return nil }
        self.timers += 1
        self.armed = (self.timers, deadline)
        return self.armed
    }
}
