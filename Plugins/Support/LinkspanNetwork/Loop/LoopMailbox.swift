package import LinkspanRuntime

/// The jobs that other threads left for the loop, and whether it has to be woken for more.
///
/// The loop notes that it sleeps in the same critical section in which it sees the mailbox empty, so no wake-up is lost.
/// The first thread that leaves something clears the note and wakes the loop: one wake-up for each sleep. It does that
/// outside the lock, for which the loop would otherwise wait as soon as it is awake.
package struct LoopMailbox: Sendable {
    package typealias Job = @Sendable () -> Void
    /// Wakes the library, from any thread.
    ///
    /// It owns what it needs for that, because the library may end meanwhile.
    package typealias Wake = @Sendable () -> Void
    package typealias TimerKey = DeadlineHeap<Job>.Key

    /// The jobs and timers that the loop takes out of the mailbox in one turn.
    ///
    /// The array of jobs is swapped with the mailbox's, so that neither has to allocate again.
    package struct Work: Sendable {
        package var jobs: [Job] = []
        /// Timers that may be due: the moment that was looked at, and how many there were.
        package var timers: (now: Moment, count: Int)?

        package init() {}

        package mutating func removeAll() {
            self.jobs.removeAll(keepingCapacity: true)
            self.timers = nil
        }
    }

    private enum Phase: Sendable, Equatable {
        /// There is no thread, because there is nothing to do; the first job starts one.
        case dormant
        case running
        /// There is nothing to do, and the thread puts the library away; what is added meanwhile makes it stay.
        case retiring
        /// No thread could be started: the caller that tried runs the jobs.
        case stranded
        case stopping
        case stopped(isDraining: Bool)
    }

    /// Wakes the library out of its sleep, to be called outside the lock; nil while there is no library.
    var wake: Wake?
    private var phase: Phase
    /// The time that the loop may be of no use before its thread ends; nil for ever.
    private let idleLimit: Duration?
    private var idleSince: Moment?
    private var isAsleep = false
    private var jobs: [Job] = []
    private var timers = DeadlineHeap<Job>()

    init(idleLimit: Duration?) {
        self.idleLimit = idleLimit
        self.phase = idleLimit == nil ? .running : .dormant
    }
}

extension LoopMailbox {
    package enum OnAdd {
        case nothing, drain
        case wake(Wake)
        /// A thread is to be started.
        case start
        /// The loop has ended here and now.
        case ended
    }

    package enum OnTake {
        case work
        /// Nothing to do; sleep until then, or until woken.
        case sleep(until: Moment?, now: Moment?)
        /// Nothing to do for so long that the thread is to put the library away.
        case retire
        case stop
    }

    mutating func add(_ job: @escaping Job) -> OnAdd {
        self.jobs.append(job)
        switch self.phase {
        case .running, .stopping: return self.noticed()
        case .dormant: return self.started()
        case .retiring, .stranded, .stopped(isDraining: true): return .nothing
        case .stopped(isDraining: false):
            self.phase = .stopped(isDraining: true)
            return .drain
        }
    }

    /// Adds a job for later; it has no key when it will never run.
    mutating func add(_ job: @escaping Job, due: Moment) -> (OnAdd, TimerKey?) {
        switch self.phase {
        case .stopping, .stopped: return (.nothing, nil)
        case .dormant, .running, .retiring, .stranded: ()
        }
        let before = self.timers.earliest
        let key = self.timers.insert(job, at: due)
        if self.phase == .dormant { return (self.started(), key) }
        return (self.timers.earliest == before ? .nothing : self.noticed(), key)
    }

    /// Gives a job for later up, to be let go of outside the lock; nil when it has been taken.
    mutating func cancel(_ key: TimerKey) -> Job? { self.timers.remove(key) }

    /// Takes the first job that was due at `now`, unless the loop is to stop.
    package mutating func takeTimer(_ now: Moment) -> Job? {
        if case .stopping = self.phase { return nil }
        return self.timers.popDue(now)
    }

    mutating func stop() -> OnAdd {
        switch self.phase {
        case .running, .retiring:
            self.phase = .stopping
            return self.noticed()
        case .dormant, .stranded:
            self.phase = .stopped(isDraining: self.phase == .stranded)
            self.timers = DeadlineHeap()
            return .ended
        case .stopping, .stopped: return .nothing
        }
    }

    /// Moves everything that is to be done now into `work`, which is empty; `isUsed` says whether there are streams.
    package mutating func take(into work: inout Work, isUsed: Bool) -> OnTake {
        self.isAsleep = false
        if case .stopping = self.phase { return .stop }
        swap(&self.jobs, &work.jobs)
        guard let earliest = self.timers.earliest else {
            if work.jobs.isEmpty, let idleLimit, !isUsed { return self.rest(idleLimit) }
            self.idleSince = nil
            return self.begin(isDue: !work.jobs.isEmpty, nil, nil)
        }
        let now = Moment.now
        let isDue = earliest <= now
        if isDue { work.timers = (now, self.timers.count) }
        self.idleSince = nil
        return self.begin(isDue: isDue || !work.jobs.isEmpty, earliest, now)
    }

    /// Begins to work if something is due, else to sleep.
    private mutating func begin(
        isDue: Bool, _ earliest: Moment?, _ now: Moment?
    ) -> OnTake {
        if isDue { return .work }
        self.isAsleep = true
        return .sleep(until: earliest, now: now)
    }

    /// Nobody uses the loop: it waits for somebody for a while, and then goes.
    private mutating func rest(_ idleLimit: Duration) -> OnTake {
        let now = Moment.now
        let end = (self.idleSince ?? now) + idleLimit
        self.idleSince = self.idleSince ?? now
        guard end > now else {
            self.phase = .retiring
            return .retire
        }
        self.isAsleep = true
        return .sleep(until: end, now: now)
    }

    package enum OnPutAway {
        /// The library is needed again.
        case again
        /// The thread ends, and others may have started one by now.
        case rest
        case leave
    }

    /// The thread has put the library away.
    mutating func putAway() -> OnPutAway {
        guard case .retiring = self.phase else { return .leave }
        guard self.jobs.isEmpty, self.timers.count == 0 else {
            self.phase = .running
            return .again
        }
        self.phase = .dormant
        return .rest
    }

    /// No thread could be had, or no library on it; returns whether the caller has to run the jobs for this once.
    mutating func failedToStart() -> Bool {
        guard self.idleLimit != nil, case .running = self.phase else { return false }
        self.phase = .stranded
        return true
    }

    /// The error for a stream that finds no library.
    package var reason: ByteStreamError {
        guard case .stranded = self.phase else { return ByteStreamError(.loopStopped, "the loop has been shut down") }
        return ByteStreamError(.unavailable, "the loop's thread could not be started")
    }

    var isDormant: Bool { self.phase == .dormant }

    /// Ends the loop: jobs added later, and those that are left, run on the thread of their caller.
    mutating func stopped() -> OnAdd {
        self.timers = DeadlineHeap()
        self.phase = .stopped(isDraining: !self.jobs.isEmpty)
        return self.jobs.isEmpty ? .nothing : .drain
    }

    /// The jobs that are left, for the one thread that drains; none ends its turn.
    mutating func takeLeft() -> [Job] {
        let left = self.jobs
        self.jobs = []
        guard left.isEmpty else { return left }
        self.phase = self.phase == .stranded ? .dormant : .stopped(isDraining: false)
        return left
    }

    private mutating func started() -> OnAdd {
        self.phase = .running
        return .start
    }

    private mutating func noticed() -> OnAdd {
        guard self.isAsleep, let wake = self.wake else { return .nothing }
        self.isAsleep = false
        return .wake(wake)
    }
}
