@testable import Linkspan
internal import LinkspanRuntime
internal import LinkspanTesting
internal import Testing

@Suite("Full streams", .timeLimit(.minutes(1)))
struct StreamOverflowTests {
    private func message(_ number: Int) -> Message { Message(event: "event", payload: .json("\(number)")) }

    /// What a reader of items sees, until the end.
    private func items(of queue: EventQueue) async -> [String] {
        var seen: [String] = []
        for await item in EventStream(queue: queue).items { seen.append(item.text) }
        return seen
    }

    @Test(
        arguments: [
            (StreamOverflow.dropOldest, ["gap 7", "8", "9", "10"]),
            (.dropNewest, ["1", "2", "3", "gap 7"]),
            (.end, ["1", "2", "3", "gap 1"]),
        ])
    func `dropped messages are a gap in their place`(overflow: StreamOverflow, expected: [String]) async {
        let queue = EventQueue(capacity: 3, overflow: overflow)
        for number in 1...10 { queue.push(self.message(number)) }
        queue.finish()
        #expect(await self.items(of: queue) == expected)
    }

    @Test(
        arguments: [
            (StreamOverflow.dropOldest, ["gap 7", "8", "9", "10"]),
            (.dropNewest, ["1", "2", "3", "gap 7"]),
            (.end, ["1", "2", "3", "gap 1"]),
        ])
    func `a stream is full by its bytes, too`(overflow: StreamOverflow, expected: [String]) async {
        let size = self.message(1).byteCount + 1
        let queue = EventQueue(capacity: 1_000, bytes: 3 * size, overflow: overflow)
        for number in 1...10 { queue.push(self.message(number)) }
        queue.finish()
        #expect(await self.items(of: queue) == expected)
    }

    @Test
    func `a reader that leaves a loop misses nothing when it reads on`() async {
        let queue = EventQueue(capacity: 100)
        for number in 1...3 { queue.push(self.message(number)) }
        queue.push(Continuity.gap(.reconnected))
        for number in 4...6 { queue.push(self.message(number)) }
        queue.push(Continuity.gap(.overflow(missed: 2)))
        let stream = EventStream(queue: queue)
        var seen: [String] = []
        for await item in stream.items {
            seen.append(item.text)
            if seen.count == 2 { break }
        }
        for await (message, missed) in stream {
            seen.append("\(message.payload[0]?.int ?? 0)")
            if missed == 0, seen.count == 3 { break }
        }
        // In the midst of the marks before a message, and before it.
        for await item in stream.items {
            seen.append(item.text)
            if seen.count == 4 { break }
        }
        queue.push(self.message(7))
        queue.finish()
        seen += await self.items(of: queue)
        #expect(seen == ["1", "2", "3", "gap reconnected", "4", "5", "6", "gap 2", "7"])
    }

    @Test(arguments: [StreamOverflow.dropOldest, .dropNewest])
    func `a loop that is left again and again puts back no more than has room`(overflow: StreamOverflow) async {
        let queue = EventQueue(capacity: 10, overflow: overflow)
        let stream = EventStream(queue: queue)
        var (sent, accounted, waiting) = (0, 0, 0)
        for _ in 1...5 {
            for number in sent + 1...sent + 10 { queue.push(self.message(number)) }
            for await item in stream.items {
                let (number, missed) = Optional(item).accounted
                accounted += missed + (number == nil ? 0 : 1)
                for number in sent + 11...sent + 20 { queue.push(self.message(number)) }
                break
            }
            sent += 20
        }
        queue.finish()
        for await item in stream.items {
            let (number, missed) = Optional(item).accounted
            accounted += missed + (number == nil ? 0 : 1)
            guard let number else { continue }
            waiting += 1
            #expect(number == accounted)
        }
        #expect(waiting == 10)
        #expect(accounted == sent)
    }

    @Test
    func `a stream that is to end when it is full ends when a loop that is left puts back too much`() async {
        let queue = EventQueue(capacity: 10, overflow: .end)
        for number in 1...10 { queue.push(self.message(number)) }
        for await _ in EventStream(queue: queue).items {
            for number in 11...20 { queue.push(self.message(number)) }
            break
        }
        #expect(queue.error?.code == .bufferFull)
        queue.push(self.message(21))
        #expect(await self.items(of: queue) == (2...20).map { "\($0)" })
    }

    @Test
    func `a stream that pauses reading does so when a loop that is left puts back too much`() async {
        let queue = EventQueue(capacity: 2, overflow: .pause)
        let recorder = EventRecorder()
        queue.own(
            Subscription(
                asks: { if case .readingPaused(let isPaused) = $0 { recorder.note(isPaused ? "pause" : "read on") } },
                onCancel: {}))
        for number in 1...3 { queue.push(self.message(number)) }
        for await _ in EventStream(queue: queue).items {
            for number in 4...5 { queue.push(self.message(number)) }
            break
        }
        #expect(recorder.notes == ["pause", "read on", "pause"])
        queue.finish()
        #expect(await self.items(of: queue) == ["2", "3", "4", "5"])
    }

    @Test
    func `a reader that wants to read on before its pause has arrived is the one that is followed`() throws {
        let harness = try Harness.connected()
        let (listener, core) = (Lock<Subscription?>(nil), harness.connection.core)
        let subscription = try harness.connection.subscribe(to: "event", once: false, onMark: nil) { message in
            let ask = listener.withLock { $0?.asks }
            if message.payload[0]?.int == 2 {
                // As another thread asks: it waits in the inbox.
                core.onExecutor.sender.queue.calling { ask?(.readingPaused(false)) }
            }
            ask?(.readingPaused(true))
        }
        listener.withLock { $0 = subscription }
        for (number, isPaused) in [(1, true), (2, false)] {
            harness.peers.first?.emit("event", .json("\(number)"))
            harness.scheduler.settle()
            #expect(try harness.connection.ask { $0.reader.incoming.wantsPause } == isPaused)
        }
    }

    @Test
    func `one message always has room, and a large one takes the place of many`() async {
        let queue = EventQueue(capacity: 1_000, bytes: 100, overflow: .dropOldest)
        for number in 1...5 { queue.push(self.message(number)) }
        queue.push(Message(event: "event", payload: .json(#""\#(String(repeating: "x", count: 200))""#)))
        queue.finish()
        var iterator = EventStream(queue: queue).makeAsyncIterator()
        let element = await iterator.next()
        #expect(element?.missed == 5)
        #expect(element?.message.payload.byteCount == 202)
        #expect(await iterator.next() == nil)
    }

    @Test
    func `only a stream that was to end says that it ended because it was full`() async throws {
        let harness = try Harness.connected()
        let ending = try harness.connection.events("event", capacity: 2, overflow: .end)
        let dropping = try harness.connection.events("event", capacity: 2, overflow: .dropNewest)
        for number in 1...3 { harness.peers.first?.emit("event", .json("\(number)")) }
        harness.scheduler.settle()
        #expect(ending.error?.code == .bufferFull)
        #expect(dropping.error == nil)
        var texts: [String] = []
        for await element in ending { texts.append(element.message.payload.text) }
        #expect(texts == ["1", "2"], "it ends behind what waited, although the connection is up")
        #expect(harness.connection.state == .connected)
    }

    @Test
    func `a full stream that ends listens no longer`() throws {
        let harness = PoolHarness()
        let handler = try harness.connect()
        harness.scheduler.settle()
        let stream = try handler.events("event", capacity: 1, overflow: .end)
        for _ in 1...2 { harness.transport.peers.first?.emit("event") }
        harness.scheduler.settle()
        #expect(handler.subscriptionCount == 0)
        withExtendedLifetime(stream) {}
    }

    @Test(arguments: [StreamOverflow.dropOldest, .dropNewest])
    func `a later message carries the gap for those who read messages alone`(overflow: StreamOverflow) async {
        let queue = EventQueue(capacity: 2, overflow: overflow)
        for number in 1...5 { queue.push(self.message(number)) }
        var iterator = EventStream(queue: queue).makeAsyncIterator()
        var seen: [String] = []
        for _ in 1...2 {
            let element = await iterator.next()
            seen.append("\(element?.message.payload.text ?? "")-\(element?.missed ?? -1)")
        }
        queue.push(self.message(6))
        let last = await iterator.next()
        seen.append("\(last?.message.payload.text ?? "")-\(last?.missed ?? -1)")
        #expect(seen == (overflow == .dropOldest ? ["4-3", "5-0", "6-0"] : ["1-0", "2-0", "6-3"]))
    }

    @Test
    func `marks alone wake a reader of items and not one of messages`() async {
        let queue = EventQueue(capacity: 2)
        queue.push(Continuity.gap(.reconnected))
        var items = EventStream(queue: queue).items.makeAsyncIterator()
        #expect(await items.next()?.text == "gap reconnected")

        queue.push(Continuity.continuous)
        async let first = { () async -> String? in
            var iterator = EventStream(queue: queue).makeAsyncIterator()
            return await iterator.next()?.message.payload.text
        }()
        queue.push(Continuity.continuous)
        queue.push(self.message(1))
        #expect(await first == "1")
    }

    @Test
    func `however many marks there are they take no room`() async {
        let queue = EventQueue(capacity: 2)
        queue.push(self.message(1))
        for _ in 1...10_000 {
            queue.push(Continuity.continuous)
            queue.push(Continuity.gap(.reconnected))
            queue.push(self.message(2))
        }
        queue.finish()
        #expect(await self.items(of: queue) == ["gap 9999", "gap reconnected", "2", "gap reconnected", "2"])
    }

    @Test(arguments: StreamOverflow.allCases)
    func `whatever is sent is either delivered, in order, or counted where it is missing`(
        overflow: StreamOverflow
    ) async {
        var generator = SeededGenerator(seed: 12)
        for round in 0..<200 {
            let queue = EventQueue(capacity: 1 + round % 5, overflow: overflow)
            var iterator = EventStream(queue: queue).items.makeAsyncIterator()
            var (sent, accounted, waiting) = (0, 0, 0)
            for _ in 0..<30 where queue.error == nil {
                for _ in 0..<Int.random(in: 0...8, using: &generator) where queue.error == nil {
                    sent += 1
                    waiting += 1
                    queue.push(self.message(sent))
                }
                for _ in 0..<Int.random(in: 0...4, using: &generator) where waiting > 0 {
                    let (number, missed) = await iterator.next().accounted
                    accounted += missed + (number == nil ? 0 : 1)
                    waiting -= missed + (number == nil ? 0 : 1)
                    if let number { #expect(number == accounted) }
                }
            }
            queue.finish()
            while let item = await iterator.next() {
                let (number, missed) = Optional(item).accounted
                accounted += missed + (number == nil ? 0 : 1)
                if let number { #expect(number == accounted) }
            }
            #expect(accounted == sent, "round \(round)")
        }
    }

    @Test(arguments: [StreamOverflow.dropOldest, .dropNewest])
    func `the account is right when the reader and the connection are on different threads`(
        overflow: StreamOverflow
    ) async {
        let queue = EventQueue(capacity: 8, overflow: overflow)
        let reader = Task {
            var (last, accounted) = (0, 0)
            for await item in EventStream(queue: queue).items {
                let (number, missed) = Optional(item).accounted
                accounted += missed + (number == nil ? 0 : 1)
                guard let number else { continue }
                #expect(number == accounted && number > last)
                last = number
            }
            return accounted
        }
        for number in 1...20_000 { queue.push(self.message(number)) }
        queue.finish()
        #expect(await reader.value == 20_000)
    }
}

extension Optional<EventItem<Message>> {
    /// The number of a message, and how many a gap counts.
    var accounted: (number: Int?, missed: Int) {
        switch self {
        case .message(let message): (message.payload[0]?.int, 0)
        case .continuity(.gap(.overflow(let missed))): (nil, missed)
        case .continuity, nil: (nil, 0)
        }
    }
}

extension EventItem<Message> {
    /// The item in a word or two.
    var text: String {
        switch self {
        case .message(let message): message.payload.text
        case .continuity(.continuous): "continuous"
        case .continuity(.gap(.reconnected)): "gap reconnected"
        case .continuity(.gap(.overflow(let missed))): "gap \(missed)"
        }
    }
}
