internal import LinkspanRuntime
internal import Testing

@testable internal import LinkspanLifecycle

@Suite("The clock that tests move")
struct ManualSchedulerTests {
    private let clock = ManualScheduler()

    @Test("reaches its target past deadlines that were called off")
    func calledOff() {
        let began = self.clock.now
        let called = Lock(0)
        let early = self.clock.schedule(at: began.advanced(by: .seconds(1))) { called.withLock { $0 += 1 } }
        _ = self.clock.schedule(at: began.advanced(by: .seconds(2))) { called.withLock { $0 += 10 } }
        early.cancel()
        self.clock.advance(by: .seconds(3))
        #expect(began.duration(to: self.clock.now) == .seconds(3))
        #expect(called.withLock { $0 } == 10)
    }

    @Test("calls each action at its own time, in order, and those that actions add")
    func order() {
        let began = self.clock.now
        let times = Lock<[Duration]>([])
        let clock = self.clock
        for seconds in [3, 1, 2] {
            _ = clock.schedule(at: began.advanced(by: .seconds(seconds))) {
                times.withLock { $0.append(began.duration(to: clock.now)) }
                _ = clock.schedule(at: clock.now.advanced(by: .milliseconds(500))) {
                    times.withLock { $0.append(began.duration(to: clock.now)) }
                }
            }
        }
        clock.advance(by: .seconds(3))
        #expect(times.withLock { $0 } == [1, 1.5, 2, 2.5, 3].map { Duration.seconds($0) })
        #expect(clock.pending == 1)
    }
}
