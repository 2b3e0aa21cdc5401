internal import LinkspanRuntime

extension RegistryCore {
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
            let decision = try self.machine { machine throws(RegistryError) in
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
        let began = self.scheduler.now
        let deadline = began.advanced(by: self.options.startBudget)
        self.emit(RegistryEvent.willStart)
        for wave in plan.waves {
            let claim = self.machine { $0.claim(wave) }
            self.tellSkipped(claim.skipped)
            let members = Dictionary(claim.begin.map { ($0.entry.id, $0) }) { first, _ in first }
            _ = await self.each(claim.begin.map { $0.entry.id }) { id in
                if let member = members[id] {
                    await self.startOne(member, until: deadline)
                }
            }
        }
        let time = began.duration(to: self.scheduler.now)
        guard let done = self.machine({ $0.finishStart(waves: plan.waves, time: time) }) else {
            return await self.rollBack()
        }
        self.emit(RegistryEvent.started(after: time))
        self.tellDegraded()
        for waiter in done.waiters {
            waiter(.success(done.report))
        }
        self.beginLate(done.late)
        return .success(done.report)
    }

    private func tellSkipped(_ skipped: [Member]) {
        for member in skipped {
            self.close(member.entry.id)
            self.emit(RegistryEvent.serviceChanged(path: member.path, from: .registered, to: member.state))
        }
    }

    /// Starts one service that was claimed, and settles it.
    func startOne(
        _ member: Member, from former: ServiceState = .registered, until deadline: ContinuousClock.Instant
    ) async {
        let id = member.entry.id
        let service = member.entry.service
        let call = ServiceCall()
        let limit = min(deadline, self.later(member.entry.budgets.start))
        let grace = self.options.grace
        self.emit(RegistryEvent.serviceChanged(path: member.path, from: former, to: .starting))
        let scope = self.scope(id, member.path, call, deadline: limit)
        let outcome = await self.run(
            member.entry.urgency, call, until: limit, grace: grace,
            onBegin: { cancel in if self.beginStart(id, cancel) { cancel(grace) } },
            onLateEnd: { self.releaseLate(member, $0) }, { try await service.start(scope) })
        self.endStart(id)
        self.settle(member, outcome)
    }

    /// A start that was given up has ended after all: what it took must be released, once.
    private func releaseLate(_ member: Member, _ outcome: CallOutcome<Void>) {
        let scope = self.scope(member.entry.id, member.path, ServiceCall())
        let service = member.entry.service
        _ = self.threads(for: member.entry.urgency).begin { try? await service.stop(scope) }
    }

    func settle(_ member: Member, _ outcome: CallOutcome<Void>) {
        let state: ServiceState =
            switch outcome {
            case .returned: .ready
            case .threw(let error): .failed("\(error)")
            case .abandoned: .abandoned(during: .start)
            }
        guard let result = self.settleStart(member.entry.id, state) else { return }
        if result.isReady {
            self.beginConsumer(member.entry.id)
            self.beginRun(member)
        } else {
            self.close(member.entry.id)
        }
        self.tell(member, state)
        if self.machine({ $0.abort != nil }) {
            self.cancelCalls()
        }
        if result.mustTearDown {
            self.beginRemoval(member.entry.id)
        }
        for waiter in result.waiters {
            waiter()
        }
        self.beginLate(result.late)
        self.tellDegraded()
        if case .failed = state { self.retryLater(member.entry.id) }
    }

    private func tell(_ member: Member, _ state: ServiceState) {
        self.emit(RegistryEvent.serviceChanged(path: member.path, from: .starting, to: state))
        switch state {
        case .failed(let text): self.fault(member.path, .startFailed, "start threw: \(text)", severity: .error)
        case .abandoned:
            self.fault(
                member.path, .limitHit, "start did not return in time", severity: .error,
                hint: "budgets.start is \(member.entry.budgets.start)")
        case .registered, .starting, .ready, .quiescing, .stopping, .stopped, .skipped: ()
        }
    }

    /// Emits which services are lacking, when others are than before.
    func tellDegraded() {
        if let paths = self.machine({ $0.noteDegraded() }) { self.emit(RegistryEvent.degraded(paths: paths)) }
    }

    /// Starts services that came while the registry was running.
    func beginLate(_ claim: ServiceRegistry.StateMachine.OnClaim) {
        self.tellSkipped(claim.skipped)
        for member in claim.begin {
            // One that was skipped before has lost its mailbox.
            if !self.fanout({ $0.hasMailbox(member.entry.id) }) { self.renewMailbox(member) }
            let deadline = self.later(member.entry.budgets.start)
            ServiceThreads.beginHousekeeping { await self.startOne(member, until: deadline) }
        }
    }

    func abortStart(_ code: RegistryError.Code) {
        let aborts = self.machine { machine in
            machine.abortStart(code)
            return machine.abort != nil
        }
        if aborts {
            self.cancelCalls()
        }
    }

    func cancelCalls(grace: Duration? = nil) {
        for cancel in self.starts() { cancel(grace ?? self.options.grace) }
    }

    private func rollBack() async -> Result<StartReport, RegistryError> {
        let culprits = self.machine { $0.culprits }
        let (plan, abort) = self.machine { $0.beginRollback() }
        let code = abort.code
        let budget =
            abort.deadline.map { max(.zero, self.scheduler.now.duration(to: $0)) } ?? self.options.shutdownBudget
        let report = await self.shutDown(plan, within: budget)
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
        case .abandoned(let step): "\(step) did not return in time"
        case .skipped(let because): "needs \(because)"
        case .registered, .starting, .ready, .quiescing, .stopping, .stopped: "\(self)"
        }
    }
}

// MARK: - Background work

extension RegistryCore {
    private func beginRun(_ member: Member) {
        let id = member.entry.id
        let service = member.entry.service
        let scope = self.scope(id, member.path, ServiceCall())
        let path = member.path
        let task = self.threads(for: member.entry.urgency).begin { [weak self] in
            do {
                try await service.run(scope)
            } catch {
                self?.runFailed(id, path, error)
            }
        }
        if !self.beginRun(id, task) {
            self.threads.submit { task.cancel() }
        }
    }

    private func runFailed(_ id: ServiceID, _ path: String, _ error: any Error) {
        let text = "run threw: \(error)"
        if self.machine({ $0.runFailed(id, text) }) {
            self.emit(RegistryEvent.serviceChanged(path: path, from: .ready, to: .failed(text)))
            self.tellDegraded()
            self.fault(path, .runFailed, text, severity: .error)
        }
    }
}
