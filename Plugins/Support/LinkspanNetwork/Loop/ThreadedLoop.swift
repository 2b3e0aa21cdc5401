internal import Dispatch
package import Linkspan
package import LinkspanRuntime

/// An event loop with a thread that starts on demand, which runs a library, jobs and timers.
///
/// What back ends have in common. A back end adds a library that runs on the thread, and what is called on the loop.
package protocol ThreadedLoop: NetworkLoop {
    /// The loop's thread, jobs and timers.
    var thread: LoopThread { get }

    /// Runs the library on the current thread, with the mailbox's jobs, until the mailbox says to stop or to retire.
    ///
    /// It gives the mailbox a way to wake the library, and takes that back before the library goes.
    ///
    /// - Returns: false when the library could not be set up.
    func serve() -> Bool

    /// Starts what runs the library: a thread that calls ``serve()``, unless the library has threads of its own.
    ///
    /// A back end with such a library runs it in the name of ``LoopThread/identity`` in each of its turns, and calls
    /// ``libraryEnded()`` when the last one is over.
    ///
    /// - Returns: false when nothing could be started.
    func launch() -> Bool
}

/// The state that a loop's thread shares with others.
package final class LoopThread: Sendable {
    /// Answers whether the current thread is the loop's.
    package let identity = LoopIdentity()
    /// Jobs and timers on their way to the loop: between any thread and the loop's.
    package let mailbox: Lock<LoopMailbox>
    fileprivate let name: String
    /// The thread's end: between the loop's thread and one that waits for it.
    fileprivate let end = DispatchGroup()

    /// - Parameters:
    ///   - name: the thread's name, for debuggers.
    ///   - idleLimit: how long the loop may be of no use before its thread ends until it is needed again; nil for a thread
    ///     that is there from ``ThreadedLoop/begin()`` to the end.
    package init(name: String, idleLimit: Duration?) {
        self.name = name
        self.mailbox = Lock(LoopMailbox(idleLimit: idleLimit))
        self.end.enter()
    }

    deinit {
        // A thread that runs the loop holds it: there is none.
        if self.mailbox.withLock({ $0.isDormant }) { self.end.leave() }
    }
}

extension ThreadedLoop {
    /// Starts the thread of a loop that does not rest; the last step of its initializer.
    package func begin() {
        if self.thread.mailbox.withLock({ !$0.isDormant }) { self.start() }
    }

    /// Whether the caller runs on the loop's thread.
    ///
    /// Jobs that are left when the loop has ended run on another thread; it is true for them as well.
    package var isCurrent: Bool { self.thread.identity.isCurrent }

    /// Runs a job on the loop's thread, after all jobs given before; from any thread.
    ///
    /// After ``NetworkLoop/shutdown()`` the job runs on the caller's thread, still one job at a time.
    package func execute(_ job: @escaping @Sendable () -> Void) {
        self.act(self.thread.mailbox.withLock { $0.add(job) })
    }

    /// Runs a job on the loop's thread at an instant, unless the timer is cancelled.
    ///
    /// A timer that is not due by the time of ``NetworkLoop/shutdown()`` never runs.
    @discardableResult
    package func schedule(
        at instant: ContinuousClock.Instant, _ job: @escaping @Sendable () -> Void
    ) -> any ScheduledWork {
        let (action, key) = self.thread.mailbox.withLock { $0.add(job, due: Moment(instant)) }
        self.act(action)
        return LoopTimer(key: key, loop: self)
    }

    /// Gives a job for later up; on the loop's own thread it will not run after this.
    fileprivate func cancel(_ key: LoopMailbox.TimerKey) {
        // Let go of outside the lock, because that may run foreign code.
        _ = self.thread.mailbox.withLock { $0.cancel(key) }
    }

    /// Ends every stream with `loopStopped`, then the thread; returns when it has ended.
    ///
    /// Called on the loop's own thread it returns at once, and the loop ends after the current job. May be called
    /// again.
    package func shutdown() {
        self.act(self.thread.mailbox.withLock { $0.stop() })
        if !self.thread.identity.isCurrent { self.thread.end.wait() }
    }

    /// The error for a stream or a listener that finds no library.
    package var reason: ByteStreamError { self.thread.mailbox.withLock { $0.reason } }

    /// Wakes the library.
    package func wake() { self.thread.mailbox.withLock { $0.wake }?() }

    /// Sets the way to wake the library; nil when it is about to end.
    package func setWake(_ wake: LoopMailbox.Wake?) {
        // The former way is let go of outside the lock.
        var wake = wake
        self.thread.mailbox.withLock { swap(&$0.wake, &wake) }
    }

    /// The stream of an attempt that is begun after the loop has ended: it is closed from the start.
    package func endedStream(_ handler: any ByteStreamHandler) -> any ByteStream {
        let reason = self.reason
        self.executeLocally { handler.closed(reason) }
        return EndedStream()
    }

    private func act(_ action: LoopMailbox.OnAdd) {
        switch action {
        case .nothing: ()
        case .wake where self.thread.identity.isCurrent: ()  // It looks into the mailbox before it sleeps.
        case .wake(let wake): wake()
        case .drain: self.drain()
        case .start: self.start()
        case .ended: self.thread.end.leave()
        }
    }

    package func launch() -> Bool { self.launchThread() }

    /// Starts a thread that calls ``serve()``, until the library is not needed any more.
    package func launchThread() -> Bool { SystemThread.start(name: self.thread.name) { self.run() } }

    /// The library has put itself away; starts it again if it is needed, and ends the loop if it is to end.
    package func libraryEnded() {
        if self.isNeededAgain() { self.start() }
    }

    private func start() {
        if !self.launch() { self.failToStart() }
    }

    private func run() {
        repeat {
            guard self.thread.identity.asCurrent({ self.serve() }) else { return self.failToStart() }
        } while self.isNeededAgain()
    }

    /// Decides what follows when the library has been put away.
    private func isNeededAgain() -> Bool {
        switch self.thread.mailbox.withLock({ $0.putAway() }) {
        case .again: return true
        case .rest: return false
        case .leave:
            self.leave()
            return false
        }
    }

    /// Ends a loop that was to have a thread from the start; one that rests may have more luck the next time.
    private func failToStart() {
        if self.thread.mailbox.withLock({ $0.failedToStart() }) { self.drain() } else { self.leave() }
    }

    private func leave() {
        self.act(self.thread.mailbox.withLock { $0.stopped() })
        self.thread.end.leave()
    }

    /// Runs jobs on the current thread in the loop's name, after its end.
    private func drain() {
        self.thread.identity.asCurrent {
            while true {
                let jobs = self.thread.mailbox.withLock { $0.takeLeft() }
                guard !jobs.isEmpty else { return }
                for job in jobs { job() }
            }
        }
    }
}

/// A job that a loop runs once, later, unless it is cancelled before.
private final class LoopTimer: ScheduledWork {
    /// Nil when the loop had ended before.
    private let key: LoopMailbox.TimerKey?
    private let loop: any ThreadedLoop

    init(key: LoopMailbox.TimerKey?, loop: any ThreadedLoop) { (self.key, self.loop) = (key, loop) }

    func cancel() {
        if let key { self.loop.cancel(key) }
    }
}

/// A stream that is closed from the start.
package final class EndedStream: ByteStream {
    package let pendingBytes = 0

    package init() {}

    package func write(_ fill: (inout [UInt8]) -> Void) -> SendAcceptance { .refused }
    package func finish(readingAtMost limit: Int) {}
    package func abort() {}
    package func setReadingPaused(_ isPaused: Bool) {}
}
