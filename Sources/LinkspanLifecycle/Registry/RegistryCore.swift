internal import LinkspanRuntime

/// What a tree of registries shares: its decisions, its mailboxes, its threads.
final class RegistryCore: Sendable {
    typealias Member = ServiceRegistry.StateMachine.Member

    let options: ServiceRegistry.Options
    let scheduler: any Scheduler
    /// The threads on which services are called that do something for a user.
    let threads: ServiceThreads
    /// The threads on which services are called that only watch.
    let watchers: ServiceThreads
    let machine: Lock<ServiceRegistry.StateMachine>
    let fanout = Lock(Fanout())
    /// The collectors of the families that are handed over in batches, for emitters, which do not wait for the fan-out.
    let collectors = Lock<[EventFamily: any EventCollecting]>([:])
    let calls = Lock<[ServiceID: BoundedCall<Void>]>([:])
    let runs = Lock<[ServiceID: Task<Void, Never>]>([:])

    init(root: Group, options: ServiceRegistry.Options) {
        self.options = options
        self.scheduler = options.scheduler
        self.threads = ServiceThreads(base: options.threads, cap: options.threadLimit, priority: .normal)
        self.watchers = ServiceThreads(base: options.threads, cap: options.threadLimit, priority: .utility)
        self.machine = Lock(ServiceRegistry.StateMachine(root: root))
    }

    deinit {
        for task in self.runs.withLock({ Array($0.values) }) {
            task.cancel()
        }
        self.threads.close()
        self.watchers.close()
    }

    func threads(for urgency: Urgency) -> ServiceThreads { urgency == .normal ? self.threads : self.watchers }

    /// Where the tree is kept now: here, or in the registry this one was nested in.
    var home: RegistryCore {
        var core = self
        while let next = core.fanout.withLock({ $0.home?.object }) {
            core = next
        }
        return core
    }

    func scope(
        _ id: ServiceID, _ path: String, mark: CallMark, deadline: ContinuousClock.Instant? = nil,
        cause: UInt64? = nil
    ) -> ServiceScope {
        ServiceScope(path: path, deadline: deadline, id: id, core: self, mark: mark, cause: cause)
    }

    func later(_ duration: Duration) -> ContinuousClock.Instant {
        self.scheduler.now.advanced(by: duration)
    }
}

// MARK: - Calling

extension RegistryCore {
    /// Runs `body` for each service at once, or one after the other if the registry is set so.
    func each<Value: Sendable>(
        _ ids: [ServiceID], _ body: @escaping @Sendable (ServiceID) async -> Value
    ) async -> [(ServiceID, Value)] {
        guard self.options.order == .parallel else {
            var results: [(ServiceID, Value)] = []
            for id in ids {
                results.append((id, await body(id)))
            }
            return results
        }
        return await withTaskGroup(of: (Int, Value).self) { group in
            for (index, id) in ids.enumerated() {
                group.addTask { (index, await body(id)) }
            }
            var results: [(Int, Value)] = []
            for await result in group {
                results.append(result)
            }
            return results.sorted { $0.0 < $1.0 }.map { (ids[$0.0], $0.1) }
        }
    }

    /// Calls a service and waits until `deadline`; cancelling the caller does not concern the call.
    func call(
        _ member: Member, until deadline: ContinuousClock.Instant,
        _ body: @escaping @Sendable (any LifecycleService, ServiceScope) async throws -> Void
    ) async -> CallOutcome<Void> {
        let mark = CallMark()
        let scope = self.scope(member.entry.id, member.path, mark: mark, deadline: deadline)
        let call = BoundedCall<Void>(
            threads: self.threads(for: member.entry.urgency), scheduler: self.scheduler, mark: mark)
        let service = member.entry.service
        return await call.run(until: deadline, grace: nil) { try await body(service, scope) }
    }

    func fault(
        _ path: String, _ code: FaultEvent.Code, _ message: String, severity: FaultEvent.Severity = .warning,
        hint: String? = nil
    ) {
        self.emit(FaultEvent(path: path, code: code, message: message, severity: severity, hint: hint))
    }
}
