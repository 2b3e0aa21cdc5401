internal import LinkspanRuntime

/// A provider, called once for all connections that wait for it at the same time.
///
/// Equal only to itself.
final class SharedCredentials: Sendable {
    /// Asks the provider; told how often all had been forgotten before.
    typealias Provide = @Sendable (CredentialRequest, _ login: UInt64) async throws -> Credentials

    /// Its hash, because an address may later be another's.
    private let number = ProcessNumber.next()
    private let provide: Provide
    private let onForget: @Sendable (_ login: UInt64) -> Void
    /// Answers and calls: between the executors of all connections of one source and the tasks that ask the provider.
    private let machine: Lock<StateMachine>

    init(
        isForAllServers: Bool = false, onForget: @escaping @Sendable (_ login: UInt64) -> Void = { _ in },
        provide: @escaping Provide
    ) {
        self.provide = provide
        self.onForget = onForget
        self.machine = Lock(StateMachine(isForAllServers: isForAllServers))
    }

    /// Asks for credentials.
    ///
    /// - Parameters:
    ///   - request: for what, and why now.
    ///   - held: the generation of the credentials that were refused or expire; 0 for none.
    ///   - scheduler: the clock.
    ///   - answer: gets the outcome, once, at once or later, on any thread; never after it has left.
    /// - Returns: what leaves. The provider is cancelled when nobody waits for it any more.
    func ask(
        _ request: CredentialRequest, held: UInt64, scheduler: any Scheduler,
        answer: @escaping @Sendable (Result<IssuedCredentials, LinkspanError>) -> Void
    ) -> CredentialWait {
        let now = scheduler.now
        let (id, actions) = self.machine.withLock { $0.ask(request, held: held, now: now, answer: answer) }
        self.perform(actions, scheduler)
        return {
            let now = scheduler.now
            self.perform(self.machine.withLock { $0.leave(id, now: now) }, scheduler)
        }
    }

    /// Asks the provider for newer credentials than there are, unless it is being asked.
    ///
    /// A failure comes with the number of log-outs so far, since a log-out is one.
    func renew(
        _ url: ConnectionURL, scheduler: any Scheduler, onFailure: @escaping @Sendable (_ login: UInt64) -> Void
    ) -> CredentialWait {
        let held = self.machine.withLock { $0.generation }
        return self.ask(CredentialRequest(url: url, reason: .expiring), held: held, scheduler: scheduler) {
            if case .failure = $0 { onFailure(self.machine.withLock { $0.login }) }
        }
    }

    /// Forgets all answers, cancels the calls that are under way and fails those who wait for them.
    func forget() {
        let (login, (tasks, waiters)) = self.machine.withLock { machine in
            let forgotten = machine.forget()
            return (machine.login, forgotten)
        }
        for task in tasks { task.cancel() }
        self.onForget(login)
        let error = LinkspanError(.credentialsUnavailable, "the credential source has been logged out")
        for waiter in waiters { waiter.answer(.failure(error)) }
    }

    private func perform(_ actions: [StateMachine.Action], _ scheduler: any Scheduler) {
        for action in actions {
            switch action {
            case .call(let id, let request, let login): self.call(id, request, login, scheduler)
            case .cancel(let task): task.cancel()
            case .answer(let waiters, let outcome): for waiter in waiters { waiter.answer(outcome) }
            }
        }
    }

    private func call(
        _ id: UInt64, _ request: CredentialRequest, _ login: UInt64, _ scheduler: any Scheduler
    ) {
        // No parent can own this task: it serves connections that come and go. It is cancelled when the last has gone.
        let task = Task {
            do {
                let credentials = try await self.provide(request, login)
                let now = scheduler.now
                self.perform(self.machine.withLock { $0.answered(id, credentials, now: now) }, scheduler)
            } catch {
                let failure = LinkspanError(.credentialsUnavailable, "the credential provider failed", cause: error)
                let now = scheduler.now
                self.perform(self.machine.withLock { $0.failed(id, failure, now: now) }, scheduler)
            }
        }
        if !self.machine.withLock({ $0.keep(task, for: id) }) { task.cancel() }
    }
}

extension SharedCredentials: Hashable {
    static func == (one: SharedCredentials, other: SharedCredentials) -> Bool { one === other }

    func hash(into hasher: inout Hasher) { hasher.combine(self.number) }
}
