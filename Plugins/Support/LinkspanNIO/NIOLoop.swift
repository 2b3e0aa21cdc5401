#if NIO
internal import Dispatch
public import LinkspanNetwork
public import LinkspanRuntime
internal import NIOCore
internal import NIOPosix

/// One thread that runs an event loop of SwiftNIO, its streams and its jobs.
///
/// The loop lives until ``shutdown()``, and so does its thread, unless the loop was made with a limit to its idleness.
/// Jobs and timers are the loop's own: SwiftNIO drops jobs after its end, and cancels a timer by a linear search.
public final class NIOLoop: NetworkLoop, ThreadedLoop {
    /// The loop that streams share unless they are given another.
    ///
    /// Its thread starts when the loop is first used, and ends when it has not been used for 10 seconds; the next use
    /// starts it again.
    public static let shared = NIOLoop(name: "linkspan-nio", idleLimit: .seconds(10))

    package let thread: LoopThread
    let resolver: LinkspanNetwork.Resolver
    /// The loop's own state, nil while there is no thread.
    let core: LoopConfined<NIOLoopCore?>

    /// Starts a loop whose thread has the given name.
    ///
    /// - Parameters:
    ///   - name: the name, for debuggers.
    ///   - idleLimit: how long the loop may have no stream, no job and no timer before its thread ends until it is needed
    ///     again. Nil, the default, for a thread that is there from now until ``shutdown()``.
    public convenience init(name: String, idleLimit: Duration? = nil) {
        self.init(name: name, resolver: .system, idleLimit: idleLimit)
    }

    package init(name: String, resolver: LinkspanNetwork.Resolver, idleLimit: Duration? = nil) {
        self.thread = LoopThread(name: name, idleLimit: idleLimit)
        self.resolver = resolver
        self.core = LoopConfined(nil, on: self.thread.identity)
        self.begin()
    }

    /// Runs a job on the loop's thread, after all jobs given before; from any thread.
    ///
    /// After ``shutdown()`` the job runs on the caller's thread, still one job at a time.
    public func execute(_ job: @escaping @Sendable () -> Void) { self.add(job) }

    /// Whether the caller runs on the loop's thread.
    ///
    /// Jobs that are left when the loop has ended run on another thread; it is true for them as well.
    public var isCurrent: Bool { self.thread.identity.isCurrent }

    /// Runs a job on the loop's thread at an instant, unless the timer is cancelled.
    ///
    /// A timer that is not due by the time of ``shutdown()`` never runs.
    @discardableResult
    public func schedule(
        at instant: ContinuousClock.Instant, _ job: @escaping @Sendable () -> Void
    ) -> any ScheduledWork {
        self.add(job, due: instant)
    }

    /// Begins to send a request; its stream is open once the answer allows it.
    public func connect(_ request: UpgradeRequest, handler: any ByteStreamHandler) -> any ByteStream {
        guard let core = self.core.value, !core.isStopping else { return self.endedStream(handler) }
        return core.connect(request, handler)
    }

    /// Begins to listen, until the listener is closed or the loop ends.
    public func listen(
        _ request: ListenRequest, accept: @escaping (any ByteStream) -> (any ByteStreamHandler)?
    ) throws(ByteStreamError) -> any ByteListener {
        guard let core = self.core.value, !core.isStopping else { throw self.reason }
        return try ListeningChannel.open(request, on: core, accept: accept)
    }

    /// Ends every stream with `loopStopped`, then the thread; returns when it has ended.
    ///
    /// Called on the loop's own thread it returns at once, and the loop ends after the current job. May be called
    /// again.
    public func shutdown() { self.end() }

    package func serve() -> Bool {
        MultiThreadedEventLoopGroup.withCurrentThreadAsEventLoop { eventLoop in
            let core = NIOLoopCore(loop: self, eventLoop: eventLoop)
            self.core.value = core
            let ownership = EventLoopOwnership(eventLoop)
            self.setWake { ownership.eventLoop.execute { self.core.value?.enter() } }
            core.enter()
        }
        self.core.value = nil
        return true
    }
}

/// Ends SwiftNIO's loop when neither our loop nor a thread that wakes it needs it: after its end it takes nothing.
private final class EventLoopOwnership: Sendable {
    let eventLoop: any NIOCore.EventLoop

    init(_ eventLoop: any NIOCore.EventLoop) { self.eventLoop = eventLoop }

    deinit { self.eventLoop.shutdownGracefully(queue: .global()) { _ in } }
}
#endif
