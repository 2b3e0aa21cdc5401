internal import LinkspanRuntime

/// An event whose emitter waits for the services that get it.
struct Barrier: Sendable {
    /// The services that have not reported yet.
    var waiting: Set<ServiceID>
    /// All services that get the event, by path.
    let paths: [ServiceID: String]
    var fates: [String: BarrierReport.Fate] = [:]
    /// Fulfilled when every service has reported.
    let done = Promise<Void>()

    init(_ paths: [ServiceID: String]) {
        self.paths = paths
        self.waiting = Set(paths.keys)
    }

    /// Notes the first report of a service.
    ///
    /// - Returns: whether it was the last one that was missing.
    mutating func note(_ id: ServiceID, _ fate: BarrierReport.Fate) -> Bool {
        guard self.waiting.remove(id) != nil, let path = self.paths[id] else { return false }
        self.fates[path] = fate
        return self.waiting.isEmpty
    }
}

extension RegistryCore {
    func barrier<Event: LifecycleEvent>(_ event: Event, within limit: Duration?) async -> BarrierReport {
        guard !BarrierContext.families.contains(Event.familyID) else {
            // Waiting for a service from inside its own handler would never end.
            let seq = self.post(Posting(event), cause: nil)
            self.fault(
                "registry", .reentrantBarrier,
                "an event of family \(Event.familyID) was awaited inside an event handler, so it was emitted without waiting"
            )
            return BarrierReport(seq: seq, fates: [:])
        }
        let seq = self.post(Posting(event), cause: nil) { id, seq in
            { [weak self] fate in self?.report(id, fate, to: seq) }
        }
        guard let barrier = self.fanout({ $0.barriers[seq] }) else { return BarrierReport(seq: seq, fates: [:]) }
        let timers = barrier.waiting.map { id in
            let own = self.machine { $0.members[id]?.entry.budgets.handle } ?? .seconds(1)
            return self.scheduler.schedule(at: self.later(min(own, limit ?? own))) { [weak self] in
                self?.report(id, .late, to: seq)
            }
        }
        await barrier.done.value
        for timer in timers {
            timer.cancel()
        }
        let fates = self.fanout { $0.barriers.removeValue(forKey: seq)?.fates }
        return BarrierReport(seq: seq, fates: fates ?? [:])
    }

    /// Notes what became of an awaited event at one service.
    private func report(_ id: ServiceID, _ fate: BarrierReport.Fate, to barrier: UInt64) {
        let done = self.fanout { fanout in
            fanout.barriers[barrier]?.note(id, fate) == true ? fanout.barriers[barrier]?.done : nil
        }
        done?.fulfill()
    }
}
