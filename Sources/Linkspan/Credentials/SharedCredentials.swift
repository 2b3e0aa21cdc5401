internal import LinkspanRuntime

/// A provider, called once for all connections that wait for it at the same time.
///
/// Equal only to itself.
final class SharedCredentials: Sendable {
    private let provider: any CredentialProvider
    /// Between the executors of all connections of one source and the task that asks the provider.
    private let machine = Lock(StateMachine())

    init(provider: any CredentialProvider) { self.provider = provider }

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
        return CredentialWait {
            let now = scheduler.now
            self.perform(self.machine.withLock { $0.leave(id, now: now) }, scheduler)
        }
    }

    /// Forgets all answers, cancels the calls that are under way and fails those who wait for them.
    func forget() {
        let (tasks, waiters) = self.machine.withLock { $0.forget() }
        for task in tasks { task.cancel() }
        let error = LinkspanError(.credentialsUnavailable, "the credential source has been logged out")
        for waiter in waiters { waiter.answer(.failure(error)) }
    }

    private func perform(_ actions: [StateMachine.Action], _ scheduler: any Scheduler) {
        for action in actions {
            switch action {
            case .call(let id, let request): self.call(id, request, scheduler)
            case .cancel(let task): task.cancel()
            case .answer(let waiters, let outcome): for waiter in waiters { waiter.answer(outcome) }
            }
        }
    }

    private func call(_ id: UInt64, _ request: CredentialRequest, _ scheduler: any Scheduler) {
        // No parent can own this task: it serves connections that come and go. It is cancelled when the last has gone.
        let task = Task {
            do {
                let credentials = try await self.provider.credentials(for: request)
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

    func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}
