internal import LinkspanLifecycle
@testable import LinkspanServices
internal import Testing

@Suite("Phases of an app")
struct AppPhaseTests {
    private let start = ContinuousClock.now

    private func events(_ phases: [(AppPhase, seconds: Int)]) -> [AppEvent] {
        var tracker = AppPhaseTracker()
        return phases.flatMap { tracker.moved(to: $0, now: self.start + .seconds($1)) }
    }

    @Test
    func `an app that is launched becomes active`() {
        #expect(self.events([(.inactive, 0), (.active, 1)]) == [.didBecomeActive])
    }

    @Test
    func `the same phase twice is one event`() {
        #expect(self.events([(.active, 0), (.active, 1)]) == [.didBecomeActive])
    }

    @Test
    func `an app that comes back tells how long it was away`() {
        let events = self.events([(.active, 0), (.inactive, 1), (.background, 2), (.inactive, 32), (.active, 33)])
        #expect(
            events == [
                .didBecomeActive, .willResignActive, .didEnterBackground(grace: nil),
                .willEnterForeground(away: .seconds(30)), .didBecomeActive,
            ])
    }

    @Test
    func `a phase that was left out is told all the same`() {
        let events = self.events([(.active, 0), (.background, 1), (.active, 5)])
        #expect(
            events == [
                .didBecomeActive, .willResignActive, .didEnterBackground(grace: nil),
                .willEnterForeground(away: .seconds(4)), .didBecomeActive,
            ])
    }

    @Test
    func `an app that is launched in the background does not come from anywhere`() {
        #expect(self.events([(.background, 0)]) == [.didEnterBackground(grace: nil)])
    }
}
