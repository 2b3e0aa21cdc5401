internal import LinkspanRuntime

/// The outcome for a service that was stopped.
private struct TearDown: Sendable {
    var member: RegistryCore.Member
    var began: ContinuousClock.Instant
    var late: [LifecycleStep] = []
    var error: String?
    var undelivered = 0
    var time: Duration = .zero

    mutating func note(_ outcome: CallOutcome<Void>, _ step: LifecycleStep) {
        switch outcome {
        case .returned: ()
        case .threw(let thrown): self.error = self.error ?? "\(step) threw: \(thrown)"
        case .abandoned: self.late.append(step)
        }
    }

    var row: ShutdownReport.Row {
        ShutdownReport.Row(
            path: self.member.path, fate: self.state, time: self.time, undelivered: self.undelivered)
    }

    var state: ServiceState {
        if !self.late.isEmpty { return .abandoned(during: self.late) }
        return self.error.map { .failed($0) } ?? .stopped
    }
}

/// Stops the services of a registry: all in the reverse order of start, or one that is removed.
struct RegistryStop {
    private let core: RegistryCore
    private let events: EventDelivery

    init(_ core: RegistryCore) {
        self.core = core
        self.events = EventDelivery(core)
    }
}

// MARK: - All

extension RegistryStop {
    func stop(within budget: Duration) async -> ShutdownReport {
        let join = Promise<ShutdownReport>()
        let deadline = self.core.later(budget)
        switch self.core.machine({ $0.beginStop(until: deadline) { join.fulfill($0) } }) {
        case .done(let report): return report
        case .join: return await join.value
        case .abortStart:
            self.core.cancelStarts(grace: min(self.core.options.grace, budget / 4))
            return await join.value
        case .begin(let plan): return await self.shutDown(plan, within: budget)
        }
    }

    /// Quiesces and stops everything in the reverse of `plan`, whether it was asked for or a start is rolled back.
    func shutDown(_ plan: ServicePlan, within budget: Duration) async -> ShutdownReport {
        let began = self.core.scheduler.now
        self.events.emit(RegistryEvent.willStop(budget: budget))
        await self.waitForOthers(until: began.advanced(by: budget))
        // Two fifths for flushing; what is not used of it is left for stopping.
        let flushed = began.advanced(by: budget * 2 / 5)
        let ended = began.advanced(by: budget)
        var progress: [ServiceID: TearDown] = [:]
        let waves = Array(plan.waves.reversed())
        for (index, wave) in waves.enumerated() {
            let limit = self.share(until: flushed, isLast: index == waves.count - 1)
            for case let tearDown? in await self.core.each(wave.reversed(), { await self.quiesce($0, until: limit) }) {
                progress[tearDown.member.entry.id] = tearDown
            }
        }
        var rows: [ShutdownReport.Row] = []
        let begun = progress
        for (index, wave) in waves.enumerated() {
            let limit = self.share(until: ended, isLast: index == waves.count - 1)
            let known = wave.reversed().compactMap { begun[$0] }
            rows += await self.core.each(known) { await self.finish($0, until: limit).row }
        }
        return self.finishStop(rows, time: began.duration(to: self.core.scheduler.now))
    }

    private func finishStop(_ rows: [ShutdownReport.Row], time: Duration) -> ShutdownReport {
        let (report, waiters) = self.core.machine { $0.finishStop(rows, time: time) }
        self.dropServices()
        for waiter in waiters.stop { waiter(report) }
        if !waiters.start.isEmpty {
            let error = RegistryError(code: .startCancelled, message: "the start was cancelled", report: report)
            for waiter in waiters.start { waiter(.failure(error)) }
        }
        return report
    }

    /// Ends what a stopped registry would keep: its services, which may hold it, and its threads.
    private func dropServices() {
        let services = self.core.machine { $0.dropServices() }
        // One that was not started still has its mailbox.
        for id in services.keys { self.events.close(id) }
        self.core.closeThreads()
    }

    /// A wave may use half of what is left, so that one that hangs leaves time for the rest; the last may use all.
    private func share(until end: ContinuousClock.Instant, isLast: Bool) -> ContinuousClock.Instant {
        let now = self.core.scheduler.now
        let left = max(.zero, now.duration(to: end))
        return now.advanced(by: isLast ? left : left / 2)
    }

    /// Waits for the services that are being started or removed on their own.
    private func waitForOthers(until deadline: ContinuousClock.Instant) async {
        self.core.cancelStarts(grace: min(self.core.options.grace, self.core.scheduler.now.duration(to: deadline) / 4))
        let ids = self.core.machine { $0.unsettled }
        guard !ids.isEmpty else { return }
        _ = await self.core.each(ids) { id in
            await self.core.wait(until: deadline) { done in self.core.machine { $0.whenSettled(id, done) } }
        }
    }
}

// MARK: - One

extension RegistryStop {
    /// Calls a service's quiesce, gives it the rest of its mailbox, and closes that.
    private func quiesce(
        _ id: ServiceID, until deadline: ContinuousClock.Instant, isRemoval: Bool = false
    ) async -> TearDown? {
        guard let member = self.core.machine({ $0.claimTearDown(id, isRemoval: isRemoval) }) else { return nil }
        var tearDown = TearDown(member: member, began: self.core.scheduler.now)
        if case .failed(let text) = member.state {
            tearDown.error = text
        }
        let limit = min(deadline, self.core.later(member.entry.budgets.quiesce))
        if member.state == .ready {
            self.events.emit(RegistryEvent.serviceChanged(path: member.path, from: .ready, to: .quiescing))
            tearDown.note(
                await self.core.call(member, until: limit) { service, scope in try await service.quiesce(scope) },
                .quiesce)
        }
        await self.drain(id, until: limit, &tearDown)
        return tearDown
    }

    private func drain(
        _ id: ServiceID, until deadline: ContinuousClock.Instant, _ tearDown: inout TearDown
    ) async {
        self.core.reportTotals()
        self.core.fanout { $0.seal(id) }
        await self.core.wait(until: deadline) { done in self.core.fanout { $0.whenIdle(id, done) } }
        let removed = self.events.close(id)
        tearDown.undelivered = removed.mailbox?.lost ?? 0
        if let consumer = removed.consumer, consumer.present != nil {
            consumer.call.abandon()
            if let task = consumer.task { self.core.threads.submit { task.cancel() } }
            tearDown.late.append(.handle)
        }
    }

    /// Ends a service's background work and stops it.
    private func finish(_ begun: TearDown, until deadline: ContinuousClock.Instant) async -> TearDown {
        var tearDown = begun
        let id = begun.member.entry.id
        self.core.machine { $0.set(id, .stopping) }
        let limit = min(deadline, self.core.later(begun.member.entry.budgets.stop))
        if let run = self.core.takeRun(id) {
            self.core.threads.submit { run.cancel() }
            // Half, so that a loop that does not end leaves time to release what the service holds.
            let half = self.core.scheduler.now.duration(to: limit) / 2
            tearDown.note(
                await self.core.call(begun.member, until: self.core.later(half)) { _, _ in await run.value }, .run)
        }
        tearDown.note(
            await self.core.call(begun.member, until: limit) { service, scope in try await service.stop(scope) }, .stop)
        tearDown.time = begun.began.duration(to: self.core.scheduler.now)
        let state: ServiceState = tearDown.late.isEmpty ? .stopped : tearDown.state
        self.core.machine { $0.set(id, state) }
        return tearDown
    }
}

// MARK: - Removing

extension RegistryStop {
    /// Removes a service: it gets nothing more from now on, and is stopped behind the caller's back.
    func remove(_ id: ServiceID) {
        switch self.core.machine({ $0.remove(id) }) {
        case .nothing: ()
        case .forgotten(let forgotten):
            self.events.close(id)
            for waiter in forgotten.waiters { waiter() }
        case .cancelStart:
            self.events.close(id)
            self.core.start(of: id)?(self.core.options.grace)
        case .tearDown:
            self.events.close(id)
            self.beginRemoval(id)
        }
        self.tellDegraded()
    }

    /// Removes a nested registry with everything in it.
    func remove(group: ServiceID) {
        let (groups, members) = self.core.machine { $0.contents(of: group) }
        for id in members {
            self.remove(id)
        }
        let leaves = self.core.machine { machine in groups.compactMap { machine.remove(group: $0) } }
        for leave in leaves { leave() }
    }

    func beginRemoval(_ id: ServiceID) {
        ServiceThreads.beginHousekeeping {
            guard let member = self.core.machine({ $0.members[id] }) else { return }
            let budgets = member.entry.budgets
            let flushed = self.core.later(budgets.quiesce)
            if let begun = await self.quiesce(id, until: flushed, isRemoval: true) {
                let done = await self.finish(begun, until: self.core.later(budgets.stop))
                if case .abandoned(let steps) = done.row.fate {
                    let names = steps.map { "\($0)" }.joined(separator: ", ")
                    self.events.fault(member.path, .limitHit, "removed, but did not return in time from: \(names)")
                }
            }
            for waiter in self.core.machine({ $0.forget(id) }).waiters { waiter() }
        }
    }

    /// Returns once the service is no longer being started or stopped.
    func settled(_ id: ServiceID) async -> ServiceState? {
        await self.core.wait { done in self.core.machine { $0.whenSettled(id, done) } }
        return self.core.machine { $0.members[id]?.state }
    }

    /// Emits which services are lacking, when others are than before.
    func tellDegraded() {
        if let paths = self.core.machine({ $0.noteDegraded() }) {
            self.events.emit(RegistryEvent.degraded(paths: paths))
        }
    }
}
