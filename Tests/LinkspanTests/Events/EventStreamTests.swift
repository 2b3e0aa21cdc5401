@testable import Linkspan
internal import LinkspanTesting
internal import Testing

@Suite("Event streams", .timeLimit(.minutes(1)))
struct EventStreamTests {
    private func message(_ number: Int) -> Message { Message(event: "event", payload: .json("\(number)")) }

    private func all(_ queue: EventQueue) async -> [String] {
        var seen: [String] = []
        for await element in EventStream(queue: queue) {
            seen.append("\(element.message.payload.text)-\(element.missed)")
        }
        return seen
    }

    @Test
    func `a slow reader loses the oldest messages and gets their number`() async {
        let queue = EventQueue(capacity: 3)
        for number in 1...10 { queue.push(self.message(number)) }
        queue.finish()
        #expect(await self.all(queue) == ["8-7", "9-0", "10-0"])
    }

    @Test
    func `values with their marks tell a slow reader how many are missing, and where`() async throws {
        let harness = try Harness()
        try harness.enter(.connected)
        let values = try harness.connection.values("event", as: Int.self, capacity: 2)
        for number in ["1", "2", "3", #""x""#, "5"] { harness.peers.first?.emit("event", .json(number)) }
        harness.scheduler.settle()
        try harness.connection.disconnect()
        try harness.connection.release()
        var seen: [String] = []
        for await item in values.marked() {
            switch item {
            case .message(let value): seen.append((try? value.get()).map(String.init) ?? "no number")
            case .continuity(let mark): seen.append("\(mark)")
            }
        }
        #expect(seen == ["gap(Linkspan.Continuity.Reason.overflow(missed: 3))", "no number", "5"])
    }

    @Test
    func `no message is both lost and not counted`() async {
        var generator = SeededGenerator(seed: 1)
        for capacity in 1...5 {
            let queue = EventQueue(capacity: capacity)
            var iterator = EventStream(queue: queue).makeAsyncIterator()
            var pushed = 0
            var accounted = 0
            for _ in 0..<200 {
                for _ in 0..<Int.random(in: 1...8, using: &generator) {
                    pushed += 1
                    queue.push(self.message(pushed))
                }
                let element = await iterator.next()
                accounted += 1 + (element?.missed ?? 0)
                #expect(element?.message.payload.text == "\(accounted)")
            }
        }
    }

    @Test
    func `a stream of a connection ends when it is released, after what still waits`() async throws {
        let harness = try Harness()
        try harness.enter(.connected)
        let stream = try harness.connection.events("event")
        harness.peers.first?.emit("event", .json("1"))
        harness.scheduler.settle()
        try harness.connection.disconnect()
        try harness.connection.release()
        var texts: [String] = []
        for await element in stream { texts.append(element.message.payload.text) }
        #expect(texts == ["1"])
        #expect(throws: LinkspanError.self) { try harness.connection.events("event") }
    }

    @Test
    func `a waiting reader is woken by a message, by the release and by its cancellation`() async throws {
        let harness = try Harness()
        try harness.enter(.connected)
        let stream = try harness.connection.events(nil)
        async let first = { () async -> String? in
            var iterator = stream.makeAsyncIterator()
            return await iterator.next()?.message.payload.text
        }()
        harness.peers.first?.emit("event", .json("1"))
        harness.scheduler.settle()
        #expect(await first == "1")

        let other = try harness.connection.events(nil)
        let cancelled = Task {
            for await _ in other {}
            return Task.isCancelled
        }
        cancelled.cancel()
        #expect(await cancelled.value)

        async let ended = { () async -> Bool in
            for await _ in stream {}
            return true
        }()
        try harness.connection.disconnect()
        try harness.connection.release()
        #expect(await ended)
    }

    @Test
    func `a stream that is let go of listens no longer`() throws {
        let harness = try Harness()
        weak var queue: EventQueue?
        do {
            let stream = try harness.connection.events("event")
            queue = stream.queue
            #expect(queue != nil)
        }
        #expect(queue == nil)
    }

    @Test
    func `streams see what was held for them`() async throws {
        let harness = try Harness()
        try harness.enter(.connected)
        for number in 1...3 { harness.peers.first?.emit("early", .json("\(number)")) }
        harness.scheduler.settle()
        var iterator = try harness.connection.events("early").makeAsyncIterator()
        for number in 1...3 { #expect(await iterator.next()?.message.payload.text == "\(number)") }
    }
}
