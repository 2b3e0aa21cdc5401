import Testing

@testable import LinkspanLWS

@Suite("A timer queue")
struct TimerQueueTests {
    @Test("gives timers up by their time, and by their order where that is the same")
    func order() {
        var generator = SystemRandomNumberGenerator()
        let start = ContinuousClock.now
        var queue = TimerQueue()
        var timers: [(delay: Int, timer: LoopTimer)] = []
        for _ in 0..<1_000 {
            let delay = Int.random(in: 0..<100, using: &generator)
            let timer = LoopTimer {}
            timers.append((delay, timer))
            queue.add(timer, due: start + .seconds(delay))
        }
        #expect(queue.removeDue(start - .seconds(1)) == nil)
        let expected = timers.enumerated().sorted { ($0.element.delay, $0.offset) < ($1.element.delay, $1.offset) }
        for (_, entry) in expected {
            #expect(queue.earliest == start + .seconds(entry.delay))
            #expect(queue.removeDue(start + .seconds(100)) === entry.timer)
        }
        #expect(queue.isEmpty)
    }

    @Test("does not grow with timers that are set and cancelled for ever")
    func cancelled() {
        let start = ContinuousClock.now
        var queue = TimerQueue()
        let kept = LoopTimer {}
        queue.add(kept, due: start + .seconds(1_000))
        for number in 0..<10_000 {
            let timer = LoopTimer {}
            queue.add(timer, due: start + .seconds(number))
            timer.cancel()
        }
        #expect(queue.count <= 65)
        var last: LoopTimer?
        while let timer = queue.removeDue(start + .seconds(100_000)) { if !timer.isCancelled { last = timer } }
        #expect(last === kept)
    }
}
