#if OUTBOX && Metrics
internal import Linkspan
@testable import LinkspanOutbox
internal import TestSupport
internal import Testing

@Suite("Time in an outbox")
struct OutboxTimeTests {
    private let folder: Folder

    init() throws { self.folder = try Folder() }

    /// What is left of the timeout of the row `k`.
    private func timeLeft(_ clock: TestClock, _ configure: (inout OutboxOptions) -> Void = { _ in }) throws -> Duration?
    {
        try Driver(self.folder.outbox, clock: clock.clock, configure).find("k").get()?.timeout
    }

    private func keep(_ clock: TestClock, timeout: Duration?) throws {
        _ = try Driver(self.folder.outbox, clock: clock.clock).keep(delivery("k", timeout: timeout)).get()
    }

    @Test
    func `a timeout continues over restarts, by the monotonic clock`() throws {
        let clock = TestClock()
        try self.keep(clock, timeout: .seconds(60))
        clock.advance(wall: 20_000, sinceStart: 20_000)
        #expect(try self.timeLeft(clock) == .seconds(40))
        // Set forward by ten years, and back by twenty.
        clock.advance(wall: 315_000_000_000)
        #expect(try self.timeLeft(clock) == .seconds(40))
        clock.advance(wall: -630_000_000_000)
        #expect(try self.timeLeft(clock) == .seconds(40))
        clock.advance(sinceStart: 50_000)
        #expect(try self.timeLeft(clock) == .zero)
    }

    @Test
    func `after another start of the system the time of the day counts, and never gives more than there was`() throws {
        let first = TestClock()
        try self.keep(first, timeout: .seconds(60))
        let second = TestClock(start: "second start")
        second.advance(wall: 25_000, sinceStart: -4_000)
        #expect(try self.timeLeft(second) == .seconds(35))
        second.advance(wall: -1_000_000)
        #expect(try self.timeLeft(second) == .seconds(60))
    }

    @Test
    func `the time of the day counts where the start of the system is unknown, or the other clock went back`() {
        let clock = { (start: String) in OutboxClock(start: start) { .init(wall: 50, sinceStart: 40) } }
        let moment = OutboxClock.Moment(wall: 20, sinceStart: 30)
        #expect(clock("a").elapsed(since: moment, in: "a") == 10)
        #expect(clock("a").elapsed(since: moment, in: "b") == 30)
        #expect(clock("").elapsed(since: moment, in: "") == 30)
        #expect(clock("a").elapsed(since: .init(wall: 20, sinceStart: 41), in: "a") == 30)
        #expect(clock("a").elapsed(since: .init(wall: .min, sinceStart: 0), in: "") == .max)
        #expect(clock("a").elapsed(since: .init(wall: 51, sinceStart: 0), in: "") == 0)
    }

    @Test
    func `a time in milliseconds is as long as integers go`() {
        #expect(Duration.milliseconds(1_500).milliseconds == 1_500)
        #expect(Duration.seconds(Int64.max).milliseconds == .max)
    }

    @Test
    func `a delivery without a timeout expires at the greatest age`() throws {
        let clock = TestClock()
        try self.keep(clock, timeout: nil)
        clock.advance(wall: 30_000, sinceStart: 30_000)
        #expect(try self.timeLeft(clock) { $0.maximumAge = .seconds(100) } == .seconds(70))
        #expect(try self.timeLeft(clock) { $0.maximumAge = .seconds(20) } == .zero)
    }
}
#endif
