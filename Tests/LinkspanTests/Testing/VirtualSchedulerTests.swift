internal import Linkspan
internal import LinkspanRuntime
internal import LinkspanTesting
internal import Testing

@Suite("The virtual scheduler")
struct VirtualSchedulerTests {
    private let scheduler = VirtualScheduler()
    private let recorder = EventRecorder()

    private func note(_ text: String, after seconds: Int) {
        self.scheduler.schedule(after: .seconds(seconds)) { [recorder] in recorder.note(text) }
    }

    @Test
    func `work runs in order of time, and first in, first out at one instant`() {
        for (text, second) in [("c", 2), ("a", 1), ("d", 2), ("b", 1), ("e", 2)] { self.note(text, after: second) }
        self.scheduler.advance(by: .seconds(2))
        #expect(self.recorder.notes == ["a", "b", "c", "d", "e"])
    }

    @Test
    func `no work runs early, and the clock ends where it was advanced to`() {
        self.note("a", after: 2)
        self.scheduler.advance(by: .milliseconds(1_999))
        #expect(self.recorder.notes.isEmpty)
        #expect(self.scheduler.elapsed == .milliseconds(1_999))
        self.scheduler.advance(by: .milliseconds(1))
        #expect(self.recorder.notes == ["a"])
    }

    @Test
    func `work sees its own instant, and what it schedules in the past runs at once`() {
        let (scheduler, recorder) = (self.scheduler, self.recorder)
        scheduler.schedule(after: .seconds(1)) {
            recorder.note("\(scheduler.elapsed)")
            scheduler.schedule(after: .seconds(-5)) { recorder.note("\(scheduler.elapsed)") }
        }
        scheduler.advance(by: .seconds(3))
        #expect(recorder.notes == ["1.0 seconds", "1.0 seconds"])
    }

    @Test
    func `cancelled work does not run`() {
        let work = self.scheduler.schedule(after: .seconds(1)) { [recorder] in recorder.note("never") }
        work.cancel()
        work.cancel()
        #expect(self.scheduler.pendingCount == 0)
        self.scheduler.advance(by: .seconds(2))
        #expect(self.recorder.notes.isEmpty)
    }

    @Test
    func `running until idle ends with the last work or at its limit`() {
        self.note("a", after: 5)
        #expect(self.scheduler.runUntilIdle(limit: .seconds(10)))
        #expect(self.scheduler.elapsed == .seconds(5))
        self.note("b", after: 20)
        #expect(!self.scheduler.runUntilIdle(limit: .seconds(10)))
        #expect(self.recorder.notes == ["a"])
    }
}
