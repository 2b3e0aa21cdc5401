@testable import Linkspan
internal import LinkspanRuntime
internal import LinkspanTesting
internal import Testing

@Suite("The deadline queue")
struct DeadlineQueueTests {
    private let start = Moment.now

    @Test(arguments: 0..<50)
    func `deadlines pass in order of time, whatever the order of insertion`(seed: Int) {
        var generator = SeededGenerator(seed: UInt64(seed))
        var queue = DeadlineQueue()
        var due: [Command.ID: Int] = [:]
        for _ in 0..<Int.random(in: 1...200, using: &generator) {
            let (id, second) = (Command.ID.next(), Int.random(in: 0...100, using: &generator))
            due[id] = second
            queue.insert(id, at: self.start + .seconds(second))
        }
        let alive = Set(due.keys.filter { _ in Int.random(in: 0..<3, using: &generator) > 0 })
        if seed.isMultiple(of: 2) {
            queue.compact { alive.contains($0) }
            due = due.filter { alive.contains($0.key) }
        }
        var order: [Int] = []
        for second in 0...100 {
            while let id = queue.popExpired(now: self.start + .seconds(second)) {
                #expect(due[id] == second)
                order.append(second)
            }
        }
        #expect(order == due.values.sorted())
        #expect(queue.earliest == nil)
    }

    @Test
    func `nothing passes before its time`() {
        var queue = DeadlineQueue()
        let id = Command.ID.next()
        queue.insert(id, at: self.start + .seconds(1))
        #expect(queue.popExpired(now: self.start + .milliseconds(999)) == nil)
        #expect(queue.popExpired(now: self.start + .seconds(1)) == id)
        #expect(queue.popExpired(now: self.start + .seconds(1)) == nil)
    }
}
