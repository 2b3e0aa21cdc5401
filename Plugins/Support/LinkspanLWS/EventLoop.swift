internal import Dispatch
public import LinkspanNetwork
public import LinkspanRuntime

/// One thread that runs a libwebsockets context, its streams and its jobs.
///
/// libwebsockets allows one call from other threads only, a wake-up. So everything else is a job that the loop's thread
/// runs, and what has to do with its streams lives there. The loop lives until ``shutdown()``, and so does its thread,
/// unless the loop was made with a limit to its idleness.
public final class EventLoop: NetworkLoop {
    /// The loop that streams share unless they are given another.
    ///
    /// Its thread starts when the loop is first used, and ends when it has not been used for 10 seconds; the next use
    /// starts it again.
    public static let shared = EventLoop(name: "linkspan", idleLimit: .seconds(10))

    let identity: LoopIdentity
    let resolver: Resolver
    private let name: String
    /// Jobs and timers on their way to the loop: between any thread and the loop's.
    private let mailbox: Lock<Mailbox>
    /// The thread's end: between the loop's thread and one that waits for it.
    private let end = DispatchGroup()

    /// Starts a loop whose thread has the given name.
    ///
    /// - Parameters:
    ///   - name: the name, for debuggers.
    ///   - idleLimit: how long the loop may have no stream, no job and no timer before its thread ends until it is
    ///     needed again. Nil, the default, for a thread that is there from now until ``shutdown()``.
    ///   - log: gets the log lines of libwebsockets, on the loop's thread; nil, the default, for none. The library
    ///     begins to make them for the whole process, without a lock: make such a loop before others.
    public convenience init(name: String, idleLimit: Duration? = nil, log: LibraryLog.Handler? = nil) {
        self.init(name: name, resolver: .system, idleLimit: idleLimit, log: log)
    }

    init(name: String, resolver: Resolver, idleLimit: Duration? = nil, log: LibraryLog.Handler? = nil) {
        self.name = name
        self.identity = LoopIdentity(log: log)
        self.resolver = resolver
        self.mailbox = Lock(Mailbox(idleLimit: idleLimit))
        self.core = LoopConfined(nil, on: self.identity)
        self.end.enter()
        if idleLimit == nil { self.start() }
    }

    deinit {
        // A thread that runs the loop holds it: there is none.
        if self.mailbox.withLock({ $0.isDormant }) { self.end.leave() }
    }

    /// The loop's own state, nil while there is no thread.
    let core: LoopConfined<LoopCore?>

    /// Runs a job on the loop's thread, after all jobs given before; from any thread.
    ///
    /// After ``shutdown()`` the job runs on the caller's thread, still one job at a time.
    public func execute(_ job: @escaping @Sendable () -> Void) {
        self.act(self.mailbox.withLock { $0.add(job) })
    }

    /// Whether the caller runs on the loop's thread.
    ///
    /// Jobs that are left when the loop has ended run on another thread; it is true for them as well.
    public var isCurrent: Bool { self.identity.isCurrent }

    /// Runs a job on the loop's thread at an instant, unless the timer is cancelled.
    ///
    /// A timer that is not due by the time of ``shutdown()`` never runs.
    @discardableResult
    public func schedule(
        at instant: ContinuousClock.Instant, _ job: @escaping @Sendable () -> Void
    ) -> any ScheduledWork {
        let (action, key) = self.mailbox.withLock { $0.add(job, due: instant) }
        self.act(action)
        return LoopTimer(key: key, loop: self)
    }

    /// Gives a job for later up; on the loop's own thread it will not run after this.
    func cancel(_ key: Mailbox.TimerKey) {
        // Let go of outside the lock, because that may run foreign code.
        let job = self.mailbox.withLock { $0.cancel(key) }
        _ = consume job
    }

    /// Begins to send a request; its stream is open once the answer allows it.
    public func connect(_ request: UpgradeRequest, handler: any ByteStreamHandler) -> any ByteStream {
        guard let core = self.core.value, !core.isStopping else {
            let reason = self.reason
            self.executeLocally { handler.closed(reason) }
            return EndedStream()
        }
        return core.connect(request, handler)
    }

    /// Begins to listen, until the listener is closed or the loop ends.
    public func listen(
        _ request: ListenRequest, accept: @escaping (any ByteStream) -> (any ByteStreamHandler)?
    ) throws(ByteStreamError) -> any ByteListener {
        guard let core = self.core.value, !core.isStopping else { throw self.reason }
        return try ListeningSocket.open(request, on: core, accept: accept)
    }

    /// Ends every stream with `loopStopped`, then the thread; returns when it has ended.
    ///
    /// Called on the loop's own thread it returns at once, and the loop ends after the current job. May be called
    /// again.
    public func shutdown() {
        self.act(self.mailbox.withLock { $0.stop() })
        if !self.identity.isCurrent { self.end.wait() }
    }

    /// What a stream or a listener is told that finds no library.
    var reason: ByteStreamError { self.mailbox.withLock { $0.reason } }

    func wake() { self.mailbox.withLock { $0.wake() } }

    private func act(_ action: Mailbox.OnAdd) {
        switch action {
        case .nothing: ()
        case .wake where self.identity.isCurrent: ()  // It looks into the mailbox before it sleeps.
        case .wake: self.wake()
        case .drain: self.drain()
        case .start: self.start()
        case .ended: self.end.leave()
        }
    }

    private func start() {
        if !SystemThread.start(name: self.name, { self.run() }) { self.failToStart() }
    }

    private func run() {
        while true {
            guard self.serve() else { return self.failToStart() }
            switch self.mailbox.withLock({ $0.putAway() }) {
            case .again: ()
            case .rest: return
            case .leave: return self.leave()
            }
        }
    }

    /// Runs the library until it is not needed; returns false when it could not be set up.
    private func serve() -> Bool {
        self.identity.asCurrent {
            guard let core = LoopCore(loop: self) else { return false }
            self.core.value = core
            self.mailbox.withLock { $0.setWaker(core.poller.wake) }
            core.run(self.mailbox)
            self.mailbox.withLock { $0.setWaker(nil) }
            core.stop()
            self.core.value = nil
            return true
        }
    }

    /// Ends a loop that was to have a thread from the start; one that rests may have more luck the next time.
    private func failToStart() {
        if self.mailbox.withLock({ $0.failedToStart() }) { self.drain() } else { self.leave() }
    }

    private func leave() {
        self.act(self.mailbox.withLock { $0.stopped() })
        self.end.leave()
    }

    /// Runs jobs on the current thread in the loop's name, after its end.
    private func drain() {
        self.identity.asCurrent {
            while true {
                let jobs = self.mailbox.withLock { $0.takeLeft() }
                guard !jobs.isEmpty else { return }
                for job in jobs { job() }
            }
        }
    }
}

/// The stream of a connection attempt that is begun after the loop has ended: it is closed from the start.
private final class EndedStream: ByteStream {
    let pendingBytes = 0

    func write(_ fill: (inout [UInt8]) -> Void) -> Int? { nil }
    func finish(readingAtMost limit: Int) {}
    func abort() {}
    func setReadingPaused(_ isPaused: Bool) {}
}
