extension EventLoop {
    /// What other threads left for the loop, and whether it has to be woken for more.
    ///
    /// The loop says that it sleeps in the same critical section in which it saw the mailbox empty, so no wake-up is lost,
    /// and whoever takes that mark away wakes it: one wake-up for each sleep.
    struct Mailbox: Sendable {
        enum Job: Sendable {
            case closure(@Sendable () -> Void)
            case executor(UnownedJob)
        }

        /// What is done in one turn; its arrays are swapped with the mailbox's, so that both keep their room.
        struct Work: Sendable {
            var jobs: [Job] = []
            var writers: [ByteStream] = []
            var timers: [LoopTimer] = []

            mutating func removeAll() {
                self.jobs.removeAll(keepingCapacity: true)
                self.writers.removeAll(keepingCapacity: true)
                self.timers.removeAll(keepingCapacity: true)
            }
        }

        private enum Phase: Sendable {
            case running
            case stopping
            case stopped(isDraining: Bool)
        }

        private var phase = Phase.running
        private var isAsleep = false
        private var jobs: [Job] = []
        private var writers: [ByteStream] = []
        private var timers = TimerQueue()
    }
}

extension EventLoop.Mailbox {
    enum OnAdd { case nothing, wake, drain }

    enum OnTake {
        case work
        /// Nothing to do; sleep until then, or until woken.
        case sleep(until: ContinuousClock.Instant?, now: ContinuousClock.Instant?)
        case stop
    }

    mutating func add(_ job: Job) -> OnAdd {
        self.jobs.append(job)
        switch self.phase {
        case .running, .stopping: return self.noticed()
        case .stopped(isDraining: true): return .nothing
        case .stopped(isDraining: false):
            self.phase = .stopped(isDraining: true)
            return .drain
        }
    }

    mutating func add(_ writer: ByteStream) -> OnAdd {
        guard case .running = self.phase else { return .nothing }
        self.writers.append(writer)
        return self.noticed()
    }

    mutating func add(_ timer: LoopTimer, due: ContinuousClock.Instant) -> OnAdd {
        guard case .running = self.phase else { return .nothing }
        let before = self.timers.earliest
        self.timers.add(timer, due: due)
        return self.timers.earliest == before ? .nothing : self.noticed()
    }

    mutating func stop() -> OnAdd {
        guard case .running = self.phase else { return .nothing }
        self.phase = .stopping
        return self.noticed()
    }

    /// Moves everything that is to be done now into `work`, which is empty.
    mutating func take(into work: inout Work) -> OnTake {
        self.isAsleep = false
        if case .stopping = self.phase { return .stop }
        swap(&self.jobs, &work.jobs)
        swap(&self.writers, &work.writers)
        let now = self.timers.isEmpty ? nil : ContinuousClock.now
        if let now {
            while let timer = self.timers.removeDue(now) { work.timers.append(timer) }
        }
        guard work.jobs.isEmpty, work.writers.isEmpty, work.timers.isEmpty else { return .work }
        self.isAsleep = true
        return .sleep(until: self.timers.earliest, now: now)
    }

    /// Ends the loop's time: from now on whoever adds a job runs it, and so do the jobs that are left.
    mutating func stopped() -> OnAdd {
        self.writers = []
        self.timers = TimerQueue()
        self.phase = .stopped(isDraining: !self.jobs.isEmpty)
        return self.jobs.isEmpty ? .nothing : .drain
    }

    /// The jobs that are left, for the one thread that drains; none ends its turn.
    mutating func takeLeft() -> [Job] {
        let left = self.jobs
        self.jobs = []
        if left.isEmpty { self.phase = .stopped(isDraining: false) }
        return left
    }

    private mutating func noticed() -> OnAdd {
        guard self.isAsleep else { return .nothing }
        self.isAsleep = false
        return .wake
    }
}
