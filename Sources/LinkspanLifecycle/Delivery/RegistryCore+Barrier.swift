internal import LinkspanRuntime

/// Collects what became of one event at every service that got it.
private final class BarrierCollector: Sendable {
    private struct State: Sendable {
        var waiting: Set<ServiceID> = []
        var fates: [ServiceID: BarrierReport.Fate] = [:]
        var isArmed = false
    }

    private let state = Lock(State())
    private let done = Promise<Void>()

    func expect(_ id: ServiceID) {
        self.state.withLock { _ = $0.waiting.insert(id) }
    }

    func tell(_ id: ServiceID, _ fate: BarrierReport.Fate) {
        let isDone = self.state.withLock { state in
            guard state.waiting.remove(id) != nil else {
                return false
            }
            state.fates[id] = fate
            return state.isArmed && state.waiting.isEmpty
        }
        if isDone {
            self.done.fulfill()
        }
    }

    /// Who has not told yet.
    func arm() -> Set<ServiceID> {
        let waiting = self.state.withLock { state in
            state.isArmed = true
            return state.waiting
        }
        if waiting.isEmpty {
            self.done.fulfill()
        }
        return waiting
    }

    var fates: [ServiceID: BarrierReport.Fate] {
        get async {
            await self.done.value
            return self.state.withLock { $0.fates }
        }
    }
}

extension RegistryCore {
    func barrier<Event: LifecycleEvent>(_ event: Event, within limit: Duration?) async -> BarrierReport {
        guard !BarrierContext.families.contains(Event.family) else {
            // Waiting for a service from inside its own handler would never end.
            let seq = self.post(Posting(event), cause: nil)
            self.fault(
                "registry", .reentrantBarrier,
                "an event of family \(Event.family) was awaited from inside the handling of another; it was not awaited"
            )
            return BarrierReport(seq: seq, fates: [:])
        }
        let collector = BarrierCollector()
        let seq = self.post(Posting(event), cause: nil) { id in
            collector.expect(id)
            return { collector.tell(id, $0) }
        }
        let timers = collector.arm().map { id in
            let own = self.machine.withLock { $0.members[id]?.entry.budgets.handle } ?? .seconds(1)
            return self.scheduler.schedule(at: self.later(min(own, limit ?? own))) { collector.tell(id, .late) }
        }
        let fates = await collector.fates
        for timer in timers {
            timer.cancel()
        }
        return BarrierReport(seq: seq, fates: self.byPath(fates))
    }

    private func byPath(_ fates: [ServiceID: BarrierReport.Fate]) -> [String: BarrierReport.Fate] {
        self.machine.withLock { machine in
            var named: [String: BarrierReport.Fate] = [:]
            for (id, fate) in fates {
                named[machine.members[id]?.path ?? "observer #\(id.number)"] = fate
            }
            return named
        }
    }
}
