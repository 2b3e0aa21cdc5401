internal import Dispatch
internal import LinkspanLock

/// One thread that runs a libwebsockets context, its streams and its jobs.
///
/// libwebsockets allows one call from other threads only, a wake-up. So everything else is a job that the loop's thread
/// runs: an actor whose executor is this loop has the library to itself, proved by the compiler. The loop and its thread
/// live until ``shutdown()``.
public final class EventLoop: SerialExecutor, Sendable {
    /// The loop that streams share unless they are given another; its thread is started on first use.
    public static let shared = EventLoop(name: "linkspan")

    let identity = LoopIdentity()
    let resolver: Resolver
    private let mailbox = Lock(Mailbox())
    private let waker = Waker()
    private let end = DispatchGroup()

    /// Starts a loop whose thread has the given name.
    public convenience init(name: String) {
        self.init(name: name, resolver: .system)
    }

    init(name: String, resolver: Resolver) {
        self.resolver = resolver
        self.core = LoopConfined(nil, on: self.identity)
        self.end.enter()
        if !Thread.start(name: name, { self.run() }) { self.leave() }
    }

    /// The loop's own state, nil before its start and after its end.
    let core: LoopConfined<LoopCore?>

    /// Runs a job on the loop's thread, after all jobs given before; from any thread.
    ///
    /// After ``shutdown()`` the job runs on the caller's thread, still one job at a time.
    public func execute(_ job: @escaping @Sendable () -> Void) {
        self.add(.closure(job))
    }

    /// Runs a job on the loop's thread after a while, unless the timer is cancelled.
    ///
    /// A timer that is not due by the time of ``shutdown()`` never runs.
    @discardableResult
    public func schedule(after delay: Duration, _ job: @escaping @Sendable () -> Void) -> LoopTimer {
        let timer = LoopTimer(job)
        let due = ContinuousClock.now + delay
        self.act(self.mailbox.withLock { $0.add(timer, due: due) })
        return timer
    }

    /// Begins an attempt to open a stream, and returns at once.
    ///
    /// Whatever comes of it, `handler` hears ``ByteStreamHandler/closed(_:)`` exactly once, last. Handler and stream live
    /// until then, even if nobody else holds them.
    public func connect(_ request: UpgradeRequest, handler: any ByteStreamHandler) -> ByteStream {
        self.connect(request, sending: [], handler: handler)
    }

    /// The same, with bytes that wait to be sent from the start.
    func connect(_ request: UpgradeRequest, sending body: [UInt8], handler: any ByteStreamHandler) -> ByteStream {
        let stream = ByteStream(loop: self, lowWaterMark: request.lowWaterMark)
        if !body.isEmpty { stream.write { $0.append(contentsOf: body) } }
        self.execute {
            guard let core = self.core.value else {
                stream.end()
                return handler.closed(ByteStreamError(.loopStopped, "the loop has been shut down"))
            }
            core.open(stream, request, handler)
        }
        return stream
    }

    /// Ends every stream with `loopStopped`, then the thread; returns when it has ended.
    ///
    /// Called on the loop's own thread it returns at once, and the loop ends after the current job. May be called again.
    public func shutdown() {
        self.act(self.mailbox.withLock { $0.stop() })
        if !self.identity.isCurrent { self.end.wait() }
    }

    /// Has the loop ask for a chance to write to `stream`; the one call made for sends.
    func requestWrite(_ stream: ByteStream) {
        self.act(self.mailbox.withLock { $0.add(stream) })
    }

    func wake() { self.waker.wake() }

    func add(_ job: Mailbox.Job) {
        self.act(self.mailbox.withLock { $0.add(job) })
    }

    private func act(_ action: Mailbox.OnAdd) {
        switch action {
        case .nothing: ()
        case .wake where self.identity.isCurrent: ()  // It looks into the mailbox before it sleeps.
        case .wake: self.waker.wake()
        case .drain: self.drain()
        }
    }

    private func run() {
        self.identity.asCurrent {
            guard let core = LoopCore(loop: self) else { return }
            self.core.value = core
            self.waker.start(core.context)
            core.run(self.mailbox)
            self.waker.stop()
            core.stop()
            self.core.value = nil
        }
        self.leave()
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
                for job in jobs { self.run(job) }
            }
        }
    }

    func run(_ job: Mailbox.Job) {
        switch job {
        case .closure(let body): body()
        case .executor(let job): job.runSynchronously(on: self.asUnownedSerialExecutor())
        }
    }
}
