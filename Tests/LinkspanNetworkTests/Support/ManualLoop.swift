import LinkspanNetwork
import LinkspanRuntime

/// A loop whose turns and clock are those of its test.
// Unchecked because it belongs to the one task of its test; jobs come from any thread.
class ManualLoop: ThreadedLoop, @unchecked Sendable {
    private final class Timer: ScheduledWork, @unchecked Sendable {
        let due: ContinuousClock.Instant
        var job: (@Sendable () -> Void)?

        init(_ due: ContinuousClock.Instant, _ job: @escaping @Sendable () -> Void) {
            (self.due, self.job) = (due, job)
        }

        func cancel() { self.job = nil }
    }

    let thread = LoopThread(name: "manual", idleLimit: .seconds(1))
    private let jobs = Lock<[@Sendable () -> Void]>([])
    private let (arrivals, arrival) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    private var timers: [Timer] = []
    private(set) var isCurrent = false
    private(set) var now = ContinuousClock.now
    var moment: Moment { Moment(self.now) }

    /// The number of calls that are due later.
    var timerCount: Int { self.timers.count { $0.job != nil } }

    /// Does something on the loop, and then the jobs that it gives.
    func enter(_ body: () -> Void) {
        self.isCurrent = true
        defer { self.isCurrent = false }
        body()
        while let job = self.jobs.withLock({ $0.isEmpty ? nil : $0.removeFirst() }) { job() }
    }

    /// Lets time pass, and has due timers fire.
    func advance(by duration: Duration) {
        self.now += duration
        let due = self.timers.filter { $0.due <= self.now }
        self.timers.removeAll { $0.due <= self.now }
        for timer in due { self.enter { timer.job?() } }
    }

    /// Waits for a job from another thread.
    func job() async { for await _ in self.arrivals where self.jobs.withLock({ !$0.isEmpty }) { return } }

    func execute(_ job: @escaping @Sendable () -> Void) {
        self.jobs.withLock { $0.append(job) }
        self.arrival.yield()
    }

    func schedule(at instant: ContinuousClock.Instant, _ job: @escaping @Sendable () -> Void) -> any ScheduledWork {
        // What is on the loop reckons from the system's clock.
        let timer = Timer(self.now + ContinuousClock.now.duration(to: instant), job)
        self.timers.append(timer)
        return timer
    }

    func connect(
        _ request: StreamRequest, handler: any ByteStreamHandler, over kept: KeptConnections?
    ) -> any ByteStream { EndedStream() }

    func listen(
        _ request: ListenRequest, accept: @escaping (any ByteStream) -> (any ByteStreamHandler)?
    ) throws(ByteStreamError) -> any ByteListener {
        throw ByteStreamError(.unlistenable, "the loop has no ports")
    }

    func serve() -> Bool { false }

    func shutdown() {}
}
