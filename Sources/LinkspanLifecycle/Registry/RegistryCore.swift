internal import LinkspanRuntime

/// The state that a tree of registries shares: its decisions, its mailboxes, its threads.
final class RegistryCore: Sendable {
    typealias Member = RegistryStateMachine.Member

    private struct State: Sendable {
        var machine: RegistryStateMachine
        var fanout = Fanout()
        /// The starts that are under way.
        var starts: [ServiceID: CancelCall] = [:]
        /// The time that starts have to end since they were cancelled; nil before.
        var grace: Duration?
        /// The background work of services.
        var runs: [ServiceID: Task<Void, Never>] = [:]
        /// Closures that emit the running totals which have changed.
        var totals: [@Sendable () -> Void] = []
        /// The registry that this one is nested in.
        weak var home: RegistryCore?
        /// The registrations whose objects stay when nobody else holds the registration.
        var kept: [ObjectIdentifier: any AnyObject & Sendable] = [:]
    }

    let options: RegistryOptions
    let scheduler: any Scheduler
    /// The threads for services of urgency `normal`.
    let threads: ServiceThreads
    /// The threads for services of urgency `utility`.
    let watchers: ServiceThreads
    // Guards members, mailboxes and calls under way. Threads that emit contend with those that start, stop and feed
    // services.
    private let state: Lock<State>

    init(root: Group, options: RegistryOptions) {
        self.options = options
        self.scheduler = options.scheduler
        self.threads = ServiceThreads(base: options.threads, cap: options.threadLimit, priority: .normal)
        self.watchers = ServiceThreads(base: options.threads, cap: options.threadLimit, priority: .utility)
        self.state = Lock(State(machine: RegistryStateMachine(root: root)))
    }

    deinit {
        for task in self.state.withLock({ Array($0.runs.values) }) { task.cancel() }
        self.closeThreads()
    }

    /// Ends the threads once they have nothing to do.
    func closeThreads() {
        self.threads.close()
        self.watchers.close()
    }

    func threads(for urgency: Urgency) -> ServiceThreads { urgency == .normal ? self.threads : self.watchers }

    /// The registry that keeps the tree now: this one, or the one this one was nested in.
    var home: RegistryCore {
        var core = self
        while let next = core.state.withLock({ $0.home }) { core = next }
        return core
    }

    /// Nests this registry in another, or puts it on its own again.
    func setHome(_ home: RegistryCore?) { self.state.withLock { $0.home = home } }

    func scope(
        _ id: ServiceID, _ path: String, _ call: ServiceCall, deadline: ContinuousClock.Instant? = nil,
        cause: UInt64? = nil
    ) -> ServiceScope {
        ServiceScope(path: path, deadline: deadline, id: id, registry: self, call: call, cause: cause)
    }

    func keep(_ registration: any AnyObject & Sendable) {
        self.state.withLock { $0.kept[ObjectIdentifier(registration)] = registration }
    }

    func release(_ registration: AnyObject) {
        self.state.withLock { $0.kept[ObjectIdentifier(registration)] = nil }
    }

    func later(_ duration: Duration) -> ContinuousClock.Instant { self.scheduler.now.advanced(by: duration) }

    /// Waits for a call of the closure that `register` gets, until `deadline` if there is one; not at all if it returns false.
    func wait(
        until deadline: ContinuousClock.Instant? = nil, _ register: (@escaping @Sendable () -> Void) -> Bool
    ) async {
        let done = Promise<Void>()
        guard register({ done.fulfill() }) else { return }
        if let deadline { await done.wait(until: deadline, by: self.scheduler) } else { await done.value }
    }
}

// MARK: - State

extension RegistryCore {
    /// Decides about members, under the lock.
    func machine<Result, Failure: Error>(
        _ body: (inout RegistryStateMachine) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try self.state.withLock { state throws(Failure) in try body(&state.machine) }
    }

    /// Reads or changes mailboxes, under the lock.
    func fanout<Result>(_ body: (inout Fanout) -> Result) -> Result {
        self.state.withLock { body(&$0.fanout) }
    }

    /// Adds a closure that emits the running totals which have changed since it was last called.
    func addTotals(_ report: @escaping @Sendable () -> Void) { self.state.withLock { $0.totals.append(report) } }

    /// Takes out the closures that emit running totals, for the registry in which this one is nested.
    func takeTotals() -> [@Sendable () -> Void] {
        self.state.withLock { state in
            defer { state.totals = [] }
            return state.totals
        }
    }

    /// Emits the running totals that have changed: before a receiver comes, which counts from here on, and before one
    /// gets its last events.
    func reportTotals() {
        for report in self.state.withLock({ $0.totals }) { report() }
    }

    /// Notes a start that is under way.
    ///
    /// - Returns: the time that it has to end if it is in vain; nil otherwise.
    func beginStart(_ id: ServiceID, _ cancel: @escaping CancelCall) -> Duration? {
        self.state.withLock { state in
            state.starts[id] = cancel
            return state.machine.isInVain(id) ? state.grace ?? self.options.grace : nil
        }
    }

    /// Forgets a start that is over.
    func endStart(_ id: ServiceID) {
        // Let go of outside the lock, since it holds the service's task.
        _ = self.state.withLock { $0.starts.removeValue(forKey: id) }
    }

    /// The means to cancel a start that is under way.
    func start(of id: ServiceID) -> CancelCall? { self.state.withLock { $0.starts[id] } }

    /// Cancels the starts that are under way; one that is noted later has no more time to end.
    func cancelStarts(grace: Duration? = nil) {
        let grace = grace ?? self.options.grace
        let starts = self.state.withLock { state in
            state.grace = min(grace, state.grace ?? grace)
            return Array(state.starts.values)
        }
        for cancel in starts { cancel(grace) }
    }

    /// Settles a start, and opens the mailbox of a service that is ready in the same moment.
    ///
    /// A caller that sees that a service is ready may rely on a barrier to wait for it.
    ///
    /// - Returns: what follows; nil when the service is not being started.
    func settleStart(_ id: ServiceID, _ state: ServiceState) -> RegistryStateMachine.OnSettle? {
        self.state.withLock { own in
            let result = own.machine.settle(id, state)
            if result?.isReady == true { _ = own.fanout.open(id) }
            return result
        }
    }

    /// Notes the background work of a service.
    ///
    /// - Returns: whether the service still wants it; a removal may have come in between and found nothing to cancel.
    func beginRun(_ id: ServiceID, _ task: Task<Void, Never>) -> Bool {
        self.state.withLock { state in
            state.runs[id] = task
            return state.machine.members[id]?.state == .ready
        }
    }

    /// Takes the background work of a service, to end it.
    func takeRun(_ id: ServiceID) -> Task<Void, Never>? {
        self.state.withLock { $0.runs.removeValue(forKey: id) }
    }
}
