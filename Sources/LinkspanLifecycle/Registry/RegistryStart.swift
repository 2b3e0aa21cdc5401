internal import LinkspanRuntime

/// Starts the services of a registry in order, and those that come later.
struct RegistryStart {
    private let core: RegistryCore
    private let events: EventDelivery
    private let stopping: RegistryStop

    private typealias Member = RegistryCore.Member

    init(_ core: RegistryCore) {
        self.core = core
        self.events = EventDelivery(core)
        self.stopping = RegistryStop(core)
    }
}

extension RegistryStart {
    func start() async throws(RegistryError) -> StartReport {
        let result = await withTaskCancellationHandler {
            await self.startOrJoin()
        } onCancel: {
            self.abortStart(.startCancelled)
        }
        return try result.get()
    }

    private func startOrJoin() async -> Result<StartReport, RegistryError> {
        let join = Promise<Result<StartReport, RegistryError>>()
        do {
            let decision = try self.core.machine { machine throws(RegistryError) in
                try machine.beginStart { join.fulfill($0) }
            }
            switch decision {
            case .done(let report): return .success(report)
            case .join: return await join.value
            case .begin(let plan):
                if Task.isCancelled {
                    // The cancellation came before there was a start to give up.
                    self.abortStart(.startCancelled)
                }
                return await self.drive(plan)
            }
        } catch {
            return .failure(error)
        }
    }

    private func drive(_ plan: ServicePlan) async -> Result<StartReport, RegistryError> {
        let began = self.core.scheduler.now
        let deadline = began.advanced(by: self.core.options.startBudget)
        self.events.emit(RegistryEvent.willStart)
        for wave in plan.waves {
            let claim = self.core.machine { $0.claim(wave) }
            self.tellSkipped(claim.skipped)
            _ = await self.core.each(claim.begin) { await self.startOne($0, until: deadline) }
        }
        let time = began.duration(to: self.core.scheduler.now)
        guard let done = self.core.machine({ $0.finishStart(waves: plan.waves, time: time) }) else {
            return await self.rollBack()
        }
        self.events.emit(RegistryEvent.started(after: time))
        self.stopping.tellDegraded()
        for waiter in done.waiters { waiter(.success(done.report)) }
        self.beginLate(done.late)
        return .success(done.report)
    }

    private func tellSkipped(_ skipped: [Member]) {
        for member in skipped {
            self.events.close(member.entry.id)
            self.events.emit(RegistryEvent.serviceChanged(path: member.path, from: .registered, to: member.state))
        }
    }

    /// Starts one service that was claimed, and settles it.
    private func startOne(
        _ member: Member, from former: ServiceState = .registered, until deadline: ContinuousClock.Instant
    ) async {
        let id = member.entry.id
        let service = member.entry.service
        let call = ServiceCall()
        let limit = min(deadline, self.core.later(member.entry.budgets.start))
        self.events.emit(RegistryEvent.serviceChanged(path: member.path, from: former, to: .starting))
        let scope = self.core.scope(id, member.path, call, deadline: limit)
        let outcome = await self.core.run(
            member.entry.urgency, call, until: limit, grace: self.core.options.grace,
            onBegin: { cancel in if let grace = self.core.beginStart(id, cancel) { cancel(grace) } },
            onLateEnd: { self.releaseLate(member, $0) }, { try await service.start(scope) })
        self.core.endStart(id)
        self.settle(member, outcome)
    }

    /// A start that was given up has ended after all: what it took must be released, once.
    private func releaseLate(_ member: Member, _ outcome: CallOutcome<Void>) {
        let scope = self.core.scope(member.entry.id, member.path, ServiceCall())
        let service = member.entry.service
        _ = self.core.threads(for: member.entry.urgency).begin { try? await service.stop(scope) }
    }

    private func settle(_ member: Member, _ outcome: CallOutcome<Void>) {
        let state: ServiceState =
            switch outcome {
            case .returned: .ready
            case .threw(let error): .failed("\(error)")
            case .abandoned: .abandoned(during: [.start])
            }
        guard let result = self.core.settleStart(member.entry.id, state) else { return }
        if result.isReady {
            self.events.beginConsumer(member.entry.id)
            self.beginRun(member)
        } else {
            self.events.close(member.entry.id)
        }
        self.tell(member, state)
        if self.core.machine({ $0.abort != nil }) {
            self.core.cancelStarts()
        }
        if result.mustTearDown {
            self.stopping.beginRemoval(member.entry.id)
        }
        for waiter in result.waiters { waiter() }
        self.beginLate(result.late)
        self.stopping.tellDegraded()
        if case .failed = state { self.retryLater(member.entry.id) }
    }

    private func tell(_ member: Member, _ state: ServiceState) {
        self.events.emit(RegistryEvent.serviceChanged(path: member.path, from: .starting, to: state))
        switch state {
        case .failed(let text): self.events.fault(member.path, .startFailed, "start threw: \(text)", severity: .error)
        case .abandoned:
            self.events.fault(
                member.path, .limitHit, "start did not return in time", severity: .error,
                hint: "budgets.start is \(member.entry.budgets.start)")
        case .registered, .starting, .ready, .quiescing, .stopping, .stopped, .skipped: ()
        }
    }

    /// Adds services and groups, all or none, and starts them if the registry runs.
    func add(_ entries: [Entry], groups: [Group] = []) throws(RegistryError) {
        // Mailboxes first: a service that is started at once must have one.
        for entry in entries { self.events.addMailbox(entry, path: entry.name.rawValue) }
        let late: RegistryStateMachine.OnClaim
        do {
            late = try self.core.machine { machine throws(RegistryError) in
                try machine.add(entries, groups: groups)
            }
        } catch {
            for entry in entries { self.events.close(entry.id) }
            throw error
        }
        let paths = self.core.machine { machine in
            entries.compactMap { entry in machine.members[entry.id].map { (entry.id, $0.path) } }
        }
        self.core.fanout { fanout in
            for (id, path) in paths { fanout.rename(id, to: path) }
        }
        self.beginLate(late)
    }

    /// Starts services that came while the registry was running.
    private func beginLate(_ claim: RegistryStateMachine.OnClaim) {
        self.tellSkipped(claim.skipped)
        for member in claim.begin {
            // One that was skipped before has lost its mailbox.
            if !self.core.fanout({ $0.hasMailbox(member.entry.id) }) {
                self.events.addMailbox(member.entry, path: member.path)
            }
            let deadline = self.core.later(member.entry.budgets.start)
            ServiceThreads.beginHousekeeping { await self.startOne(member, until: deadline) }
        }
    }

    private func abortStart(_ code: RegistryError.Code) {
        let aborts = self.core.machine { machine in
            machine.abortStart(code)
            return machine.abort != nil
        }
        if aborts {
            self.core.cancelStarts()
        }
    }

    private func rollBack() async -> Result<StartReport, RegistryError> {
        let culprits = self.core.machine { $0.culprits }
        let (plan, abort) = self.core.machine { $0.beginRollback() }
        let code = abort.code
        let budget =
            abort.deadline.map { max(.zero, self.core.scheduler.now.duration(to: $0)) }
            ?? self.core.options.shutdownBudget
        let report = await self.stopping.shutDown(plan, within: budget)
        let reasons = culprits.map { "\($0.path): \($0.state.reason)" }.joined(separator: "; ")
        let message = code == .startFailed ? "required service failed: \(reasons)" : "the start was cancelled"
        let error = RegistryError(
            code: code, message: message, problems: culprits.map { "\($0.path): \($0.state.reason)" },
            paths: culprits.map { $0.path }, report: report)
        return .failure(error)
    }
}

extension ServiceState {
    var reason: String {
        switch self {
        case .failed(let text): text
        case .abandoned(let steps): "\(steps.map { "\($0)" }.joined(separator: ", ")) did not return in time"
        case .skipped(let because): "needs \(because)"
        case .registered, .starting, .ready, .quiescing, .stopping, .stopped: "\(self)"
        }
    }
}

// MARK: - Background work

extension RegistryStart {
    private func beginRun(_ member: Member) {
        let id = member.entry.id
        let service = member.entry.service
        let scope = self.core.scope(id, member.path, ServiceCall())
        let path = member.path
        let task = self.core.threads(for: member.entry.urgency).begin { [weak core = self.core] in
            do {
                try await service.run(scope)
            } catch {
                if let core { RegistryStart(core).runFailed(id, path, error) }
            }
        }
        if !self.core.beginRun(id, task) {
            self.core.threads.submit { task.cancel() }
        }
    }

    private func runFailed(_ id: ServiceID, _ path: String, _ error: any Error) {
        let text = "run threw: \(error)"
        if self.core.machine({ $0.runFailed(id, text) }) {
            self.events.emit(RegistryEvent.serviceChanged(path: path, from: .ready, to: .failed(text)))
            self.stopping.tellDegraded()
            self.events.fault(path, .runFailed, text, severity: .error)
        }
    }
}

// MARK: - Starting again what failed

extension RegistryStart {
    /// Starts a service again after a while, if its start threw and the registry goes on without it.
    private func retryLater(_ id: ServiceID) {
        guard let first = self.core.options.retryDelay, let failures = self.core.machine({ $0.failuresToRetry(id) })
        else {
            return
        }
        let delay = min(first * (1 << min(failures - 1, 20)), max(first, self.core.options.retryCap))
        _ = self.core.scheduler.schedule(at: self.core.later(delay)) { [weak core = self.core] in
            if let core { RegistryStart(core).retry(id) }
        }
    }

    private func retry(_ id: ServiceID) {
        ServiceThreads.beginHousekeeping {
            switch self.core.machine({ $0.claimRetry(id) }) {
            case .begin(let member): await self.retry(member)
            // The registry is still starting.
            case .later: self.retryLater(id)
            case .never: ()
            }
        }
    }

    private func retry(_ member: Member) async {
        let limit = self.core.later(member.entry.budgets.stop)
        // The failed start may have left something.
        let outcome = await self.core.call(member, until: limit) { service, scope in try await service.stop(scope) }
        if case .abandoned = outcome {
            return self.settle(member, .abandoned)
        }
        self.events.addMailbox(member.entry, path: member.path)
        await self.startOne(member, from: member.state, until: self.core.later(member.entry.budgets.start))
    }
}
