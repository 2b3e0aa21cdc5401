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
    let onRefusal: @Sendable (_ login: UInt64) -> Void
    /// Answers and calls: between the executors of all connections of one source and the tasks that ask the provider.
    private let machine: Lock<StateMachine>

    init(
        isForAllServers: Bool = false, onForget: @escaping @Sendable (_ login: UInt64) -> Void = { _ in },
        onRefusal: @escaping @Sendable (_ login: UInt64) -> Void = { _ in }, provide: @escaping Provide
    ) {
        self.provide = provide
        self.onForget = onForget
        self.onRefusal = onRefusal
        self.machine = Lock(StateMachine(isForAllServers: isForAllServers))
    }

    /// The number of log-outs so far.
    var login: UInt64 { self.machine.withLock { $0.login } }

    /// Asks for credentials.
    ///
    /// - Parameters:
    ///   - request: for what, and why now.
    ///   - login: the number of log-outs when the connection was made; after another one it gets an error.
    ///   - held: the generation of the credentials that were refused or expire; 0 for none.
    ///   - scheduler: the clock.
    ///   - answer: gets the outcome, once, at once or later, on any thread; never after it has left.
    /// - Returns: what leaves. The provider is cancelled when nobody waits for it any more.
    func ask(
        _ request: CredentialRequest, login: UInt64, held: UInt64, scheduler: any Scheduler,
        answer: @escaping @Sendable (Result<IssuedCredentials, LinkspanError>) -> Void
    ) -> CredentialWait {
        let now = scheduler.moment
        let (id, actions) = self.machine.withLock {
            $0.ask(request, login: login, held: held, now: now, answer: answer)
        }
        self.perform(actions, scheduler)
        return {
            let now = scheduler.moment
            self.perform(self.machine.withLock { $0.leave(id, now: now) }, scheduler)
        }
    }

    /// Asks the provider for newer credentials than there are, unless it is being asked.
    ///
    /// A failure comes with the number of log-outs so far, since a log-out is one.
    func renew(
        _ url: ConnectionURL, scheduler: any Scheduler, onFailure: @escaping @Sendable (_ login: UInt64) -> Void
    ) -> CredentialWait {
        let (held, login) = self.machine.withLock { ($0.generation, $0.login) }
        let request = CredentialRequest(url: url, reason: .expiring)
        return self.ask(request, login: login, held: held, scheduler: scheduler) {
            if case .failure = $0 { onFailure(self.login) }
        }
    }

    /// Forgets all answers; connections that were made before get none any more.
    ///
    /// - Returns: a call that cancels the provider where it is being asked, and fails those who wait for it.
    func forget() -> @Sendable () -> Void {
        let (login, (tasks, waiters)) = self.machine.withLock { machine in
            let forgotten = machine.forget()
            return (machine.login, forgotten)
        }
        return {
            for task in tasks { task.cancel() }
            self.onForget(login)
            for waiter in waiters { waiter.answer(.failure(StateMachine.loggedOut)) }
        }
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
                let now = scheduler.moment
                self.perform(self.machine.withLock { $0.answered(id, credentials, now: now) }, scheduler)
            } catch {
                let failure = LinkspanError(.credentialsUnavailable, "the credential provider failed", cause: error)
                let now = scheduler.moment
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
