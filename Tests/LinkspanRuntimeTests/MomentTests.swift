internal import Testing

@testable internal import LinkspanRuntime

@Suite("Moment")
struct MomentTests {
    private let start = ContinuousClock.now

    @Test
    func `gives the instant back that it was made of, to the last attosecond`() {
        let parts = Duration(secondsComponent: 7, attosecondsComponent: 123_456_789_012_345_678)
        for instant in [self.start, self.start + parts, self.start - parts, self.start + .seconds(3_000_000_000)] {
            #expect(Moment(instant).instant == instant)
        }
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
