internal import Dispatch
internal import Testing

@testable internal import LinkspanRuntime

@Suite("SystemScheduler", .timeLimit(.minutes(1)))
struct SystemSchedulerTests {
    private let scheduler = SystemTimers()

    /// An object whose lives are counted.
    private final class Counted: Sendable {
        static let alive = Lock(0)

        init() { Self.alive.withLock { $0 += 1 } }
        deinit { Self.alive.withLock { $0 -= 1 } }
    }

    /// Holds up the thread that runs what is due, until what is returned is signalled.
    private func holdUp() -> DispatchSemaphore {
        let goOn = DispatchSemaphore(value: 0)
        _ = self.scheduler.schedule(at: self.scheduler.now - .seconds(1)) { goOn.wait() }
        return goOn
    }

    @Test
    func `work runs by deadline, equal deadlines in the order of scheduling`() async {
        let goOn = self.holdUp()
        let (start, done) = (self.scheduler.now, Promise<Void>())
        let taken = Lock<[Int]>([])
        for (number, delay) in [(3, 20), (1, 0), (4, 20), (2, 10)] {
            _ = self.scheduler.schedule(at: start + .milliseconds(delay)) { taken.withLock { $0.append(number) } }
        }
        _ = self.scheduler.schedule(at: start + .milliseconds(30)) { done.fulfill() }
        goOn.signal()
        await done.value
        #expect(taken.withLock { $0 } == [1, 2, 3, 4])
        #expect(self.scheduler.now >= start + .milliseconds(30))
    }

    @Test
    func `a deadline earlier than the one waited for is met`() async {
        let done = Promise<Void>()
        let late = self.scheduler.schedule(at: self.scheduler.now + .seconds(3_600)) {}
        _ = self.scheduler.schedule(at: self.scheduler.now + .milliseconds(10)) { done.fulfill() }
        await done.value
        late.cancel()
        #expect(self.scheduler.pendingCount == 0)
    }

    @Test
    func `a deadline later than the one waited for does not hold that up`() async {
        for _ in 0..<20 {
            let done = Promise<Void>()
            _ = self.scheduler.schedule(at: self.scheduler.now + .milliseconds(1)) { done.fulfill() }
            let late = self.scheduler.schedule(at: self.scheduler.now + .seconds(3_600)) {}
            await done.value
            late.cancel()
        }
    }

    @Test
    func `a deadline in the past is met at once, and not inside the call`() async {
        let inside = Lock(true)
        let done = Promise<Bool>()
        inside.withLock { isInside in
            _ = self.scheduler.schedule(at: self.scheduler.now - .seconds(1)) {
                done.fulfill(inside.withLock { $0 })
            }
            isInside = false
        }
        #expect(await done.value == false)
    }

    @Test
    func `cancelled work does not run and is let go of at once, from any thread`() async {
        let scheduler = self.scheduler
        let ran = Lock(0)
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<4 {
                group.addTask {
                    for _ in 0..<25_000 {
                        let object = Counted()
                        let work = scheduler.schedule(at: scheduler.now + .seconds(3_600)) {
                            withExtendedLifetime(object) { ran.withLock { $0 += 1 } }
                        }
                        work.cancel()
                    }
                }
            }
        }
        #expect(Counted.alive.withLock { $0 } == 0)
        #expect(scheduler.pendingCount == 0)
        #expect(ran.withLock { $0 } == 0)
    }

    @Test
    func `work that is cancelled by earlier work does not run`() async {
        let done = Promise<Void>()
        let ran = Lock(false)
        let goOn = self.holdUp()
        let instant = self.scheduler.now
        let victim = Lock<(any ScheduledWork)?>(nil)
        _ = self.scheduler.schedule(at: instant) { victim.withLock { $0 }?.cancel() }
        victim.withLock { $0 = self.scheduler.schedule(at: instant) { ran.withLock { $0 = true } } }
        _ = self.scheduler.schedule(at: instant + .milliseconds(1)) { done.fulfill() }
        goOn.signal()
        await done.value
        #expect(ran.withLock { $0 } == false)
    }

    @Test
    func `work scheduled from inside work runs after it`() async {
        let scheduler = self.scheduler
        let taken = Lock<[Int]>([])
        let done = Promise<Void>()
        _ = scheduler.schedule(at: scheduler.now) {
            _ = scheduler.schedule(at: scheduler.now) {
                taken.withLock { $0.append(2) }
                done.fulfill()
            }
            taken.withLock { $0.append(1) }
        }
        await done.value
        #expect(taken.withLock { $0 } == [1, 2])
    }
}

@Suite("Moment")
struct MomentTests {
    private let start = ContinuousClock.now

    @Test
    func `gives the instant back that it was made of, to the last nanosecond`() {
        let parts = Duration(secondsComponent: 7, attosecondsComponent: 123_456_789_000_000_000)
        for instant in [self.start, self.start + parts, self.start - parts, self.start + .seconds(3_000_000_000)] {
            #expect(Moment(instant).instant == instant)
        }
    }

    @Test
    func `is never later than its instant, and keeps the order of instants`() {
        let parts: [Int64] = [-1_999_999_999, -1_000_000_000, -1, 0, 1, 999_999_999, 1_000_000_000]
        let instants = parts.map { self.start + Duration(secondsComponent: 0, attosecondsComponent: $0) }
        let moments = instants.map { Moment($0) }
        #expect(moments == moments.sorted())
        for (moment, instant) in zip(moments, instants) {
            #expect(moment.instant <= instant)
            #expect(moment.instant.duration(to: instant) < .nanoseconds(1))
        }
    }

    @Test(arguments: [Duration.seconds(Int64.max), .seconds(Int64.max) * 10, .seconds(10_000_000_000)])
    func `is the first or the last one where a span leads beyond all of them`(span: Duration) {
        let now = Moment.now
        let (first, last) = (now - span - span, now + span + span)
        #expect(first < now && now < last)
        #expect(last + span == last && first - span == first)
        #expect(first.duration(to: last) == .nanoseconds(Int64.max))
        #expect(last.duration(to: first) == .nanoseconds(Int64.min))
        #expect(span.nanoseconds == .max && (.zero - span).nanoseconds == .min)
    }

    @Test
    func `compares and counts as instants do`() {
        let steps: [Duration] = [.zero, .nanoseconds(1), .milliseconds(-5), .seconds(60), .seconds(-86_400)]
        for step in steps {
            let (one, other) = (Moment(self.start), Moment(self.start + step))
            #expect(one + step == other)
            #expect(other - step == one)
            #expect(other - one == step)
            #expect(one.duration(to: other) == step)
            #expect((one < other) == (step > .zero))
            var moved = one
            moved += step
            #expect(moved == other)
        }
    }
}
