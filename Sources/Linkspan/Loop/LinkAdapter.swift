internal import LinkspanRuntime

/// Stands between a link and its connection, so that a former link's events are recognised.
final class LinkAdapter: LinkReceiver {
    private let epoch: UInt64
    private let executor: any JobExecutor
    private let core: CoreReference
    private let scheduler: any Scheduler

    init(core: CoreReference, epoch: UInt64, executor: any JobExecutor, scheduler: any Scheduler) {
        self.epoch = epoch
        self.executor = executor
        self.core = core
        self.scheduler = scheduler
    }

    func receive(_ next: () -> LinkEvent?) {
        let (epoch, core, now) = (self.epoch, self.core, self.scheduler.moment)
        // A link that breaks the rule of its executor, or calls back from inside a call, costs a job and does no harm.
        guard self.executor.isCurrent, !core.isInTurn,
            let items = core.inbox.takeItems(on: self.executor, heardAt: now)
        else {
            core.inbox.withState { $0.heard(at: now) }
            var events: [LinkEvent] = []
            while let event = next() { events.append(event) }
            return core.post { [events] core in
                var iterator = events.makeIterator()
                core.receive(epoch: epoch, at: core.now) { iterator.next() }
            }
        }
        core.onExecutor.makeTurn(items) { $0.receive(epoch: epoch, at: now, next) }
    }
}
