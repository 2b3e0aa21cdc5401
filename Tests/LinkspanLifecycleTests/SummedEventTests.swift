internal import LinkspanLifecycle
internal import LinkspanRuntime
internal import Testing

@testable internal import LinkspanLifecycle

@Suite("Events that are added up", .timeLimit(.minutes(1)))
struct SummedEventTests {
    /// Adds up what it hears.
    private final class Adder: CountedObserving, FaultObserving {
        struct Heard: Sendable {
            var total = 0
            var events = 0
            var last: UInt64 = 0
            var isInOrder = true
            var gap = 0
            var faults: [FaultEvent.Code] = []
            var isReplayed = 0
        }

        let name: ServiceName
        let budgets: Budgets
        let heard = Lock(Heard())
        private let onEvent: @Sendable (Stamped<CountedEvent>) async throws -> Void

        init(
            _ name: ServiceName, budgets: Budgets = Budgets(),
            onEvent: @escaping @Sendable (Stamped<CountedEvent>) async throws -> Void = { _ in }
        ) {
            self.name = name
            self.budgets = budgets
            self.onEvent = onEvent
        }

        func on(_ event: Stamped<CountedEvent>, _ scope: ServiceScope) async throws {
            self.heard.withLock { heard in
                heard.total += event.event.count
                heard.events += 1
                heard.isInOrder = heard.isInOrder && event.seq > heard.last
                heard.last = event.seq
                heard.gap += event.gap
                if event.replayed { heard.isReplayed += event.event.count }
            }
            try await self.onEvent(event)
        }

        func on(_ event: Stamped<FaultEvent>, _ scope: ServiceScope) async throws {
            self.heard.withLock { $0.faults.append(event.event.code) }
        }
    }

    private func batch(_ names: [String], first: UInt64) throws -> EventBatch {
        let collector = EventCollector<CountedEvent>()
        for name in names { _ = collector.add(CountedEvent(name: name), time: .now, cause: nil) }
        return EventBatch(CountedEvent.familyID, try #require(collector.takeAll()), first: first)
    }

    private func mailbox(_ capacity: Int) -> Mailbox {
        var mailbox = Mailbox(
            id: .make(), path: "a", interest: .service(Probe("a")), capacity: capacity, limit: .seconds(1),
            receiver: ServiceReceiver(service: Probe("a")))
        mailbox.open()
        return mailbox
    }

    /// Everything in a mailbox, in the order in which a receiver gets it.
    private func drain(_ mailbox: inout Mailbox) -> [(event: CountedEvent?, seq: UInt64)] {
        var events: [(event: CountedEvent?, seq: UInt64)] = []
        while let share = mailbox.takeShare() {
            switch share {
            case .letters(let letters):
                for letter in letters { events.append((letter.stamped.event as? CountedEvent, letter.stamped.seq)) }
            case .run(var run):
                while let stamped = run.popFirst() { events.append((stamped.event as? CountedEvent, stamped.seq)) }
            }
        }
        return events
    }

    @Test
    func `events that do not fit are added up by name, exactly, and keep their order among others`() throws {
        var mailbox = self.mailbox(4)
        let names = (0..<50).map { $0.isMultiple(of: 2) ? "even" : "odd" }
        for number in 0..<10 as Range<UInt64> {
            let batch = try self.batch(names, first: number * 100 + 1)
            let result = mailbox.post(batch) { batch.tally() }
            #expect(!result.beginsOverflow && result.receipts.isEmpty)
            let letter = Stamped<any LifecycleEvent>(connection(1, .created), seq: number * 100 + 60, time: .now)
            if number < 4 { _ = mailbox.post(Mailbox.Letter(stamped: letter, retention: .none, receipt: nil)) }
        }
        #expect(mailbox.waiting == 50 + 2 + 4)
        let events = self.drain(&mailbox)
        let counted = events.compactMap(\.event)
        #expect(counted.reduce(0) { $0 + $1.count } == 500)
        #expect(counted.suffix(2) == [CountedEvent(name: "even", count: 225), CountedEvent(name: "odd", count: 225)])
        #expect(events.count == 56)
        #expect(zip(events, events.dropFirst()).allSatisfy { $0.seq < $1.seq })
        #expect(mailbox.lost == 0)
    }

    @Test
    func `a thousand names make no more sums than the limit, and the total is exact`() throws {
        var mailbox = self.mailbox(1)
        for round in 0..<20 as Range<UInt64> {
            let batch = try self.batch((0..<1_000).map { "name\($0)" }, first: round * 1_000 + 1)
            _ = mailbox.post(batch) { batch.tally() }
        }
        #expect(mailbox.waiting <= SumTally<CountedEvent>.limit + 1)
        #expect(self.drain(&mailbox).reduce(0) { $0 + ($1.event?.count ?? 0) } == 20_000)
    }

    @Test
    func `a service that is slower than its events hears every one of them in the totals, and nothing is a fault`()
        async throws
    {
        let registry = ServiceRegistry(options: .init { $0.batchDelay = .zero })
        let (entered, door) = (Door(), Door())
        // It is slow until all events are there, however long that takes.
        let slow = Adder("slow", budgets: Budgets(handle: .seconds(3_600), mailbox: 4)) { event in
            guard event.event.name == "first" else { return }
            entered.open()
            await door.pass()
        }
        let fast = Adder("fast", budgets: Budgets(mailbox: 10_000))
        try registry.register(slow).keep()
        try registry.register(fast).keep()
        try await registry.start()
        registry.emit(CountedEvent(name: "first"))
        await entered.pass()
        for number in 0..<10_000 { registry.emit(CountedEvent(name: "name\(number % 3)")) }
        door.open()
        await eventually { slow.heard.withLock { $0.total } == 10_001 }
        await eventually { fast.heard.withLock { $0.total } == 10_001 }
        let heard = slow.heard.withLock { $0 }
        #expect(heard.events == 1 + 64 + 3, "as many as may wait one by one, and a sum of each name")
        #expect(heard.isInOrder && heard.gap == 0 && heard.faults.isEmpty)
        #expect(fast.heard.withLock { $0.events } == 10_001)
        await registry.stop()
    }

    @Test
    func `events from before a service is ready are added up as well, and marked as replayed`() async throws {
        let registry = ServiceRegistry()
        let adder = Adder("adder", budgets: Budgets(mailbox: 2))
        try registry.register(adder).keep()
        for _ in 0..<1_000 { registry.emit(CountedEvent(name: "early")) }
        try await registry.start()
        await eventually { adder.heard.withLock { $0.total } == 1_000 }
        #expect(adder.heard.withLock { $0.isReplayed } == 1_000)
        await registry.stop()
    }

    @Test
    func `an event that hangs in the middle of a batch is reported, and the rest goes on behind it`() async throws {
        let clock = ManualScheduler()
        let registry = ServiceRegistry(options: .init { $0.scheduler = clock })
        let (entered, door) = (Door(), Door())
        let adder = Adder("adder", budgets: Budgets(handle: .seconds(1))) { event in
            guard event.event.name == "hangs" else { return }
            entered.open()
            await door.pass()
        }
        try registry.register(adder).keep()
        try await registry.start()
        for number in 0..<10 { registry.emit(CountedEvent(name: number == 5 ? "hangs" : "passes")) }
        clock.advance(by: .milliseconds(5))
        await entered.pass()
        // Events of a batch do not look at the clock, so it may take twice the limit until one is known to hang.
        clock.advance(by: .seconds(1))
        clock.advance(by: .seconds(1))
        door.open()
        await eventually { adder.heard.withLock { $0.faults } == [.limitHit] }
        await eventually { adder.heard.withLock { $0.total } == 10 }
        #expect(adder.heard.withLock { $0.isInOrder })
        await registry.stop()
    }

    @Test
    func `a service that is removed in the middle of a batch hears no more of it`() async throws {
        let clock = ManualScheduler()
        let registry = ServiceRegistry(options: .init { $0.scheduler = clock })
        let (entered, door) = (Door(), Door())
        let adder = Adder("adder") { event in
            guard event.event.name == "third" else { return }
            entered.open()
            await door.pass()
        }
        let registration = try registry.register(adder)
        try await registry.start()
        for name in ["first", "second", "third", "fourth"] { registry.emit(CountedEvent(name: name)) }
        clock.advance(by: .milliseconds(5))
        await entered.pass()
        registration.cancel()
        door.open()
        await registry.stop()
        #expect(adder.heard.withLock { $0.total } == 3)
    }

    @Test
    func `a handler that throws is reported with the number of its event, and hears the next`() async throws {
        let registry = ServiceRegistry()
        let faults = Lock<[UInt64?]>([])
        let second = Lock<UInt64?>(nil)
        let adder = Adder("adder") { event in
            guard event.event.name == "second" else { return }
            second.withLock { $0 = event.seq }
            throw Trouble()
        }
        try registry.register(adder).keep()
        let observer = registry.observe(weak: adder, FaultEvent.self) { _, fault in
            faults.withLock { $0.append(fault.cause) }
        }
        try await registry.start()
        for name in ["first", "second", "third"] { registry.emit(CountedEvent(name: name)) }
        await eventually { faults.withLock { $0.count } == 1 }
        await eventually { adder.heard.withLock { $0.total } == 3 }
        #expect(faults.withLock { $0 } == [second.withLock { $0 }])
        observer.cancel()
        await registry.stop()
    }

    @Test
    func `an observer that holds no service gets single events of a batch, as long as it lives`() async throws {
        let registry = ServiceRegistry()
        try await registry.start()
        let heard = Lock<[String]>([])
        let registration = registry.observe(weak: registry, CountedEvent.self) { _, event in
            heard.withLock { $0.append(event.event.name) }
        }
        for name in ["first", "second", "third"] { registry.emit(CountedEvent(name: name)) }
        await eventually { heard.withLock { $0 } == ["first", "second", "third"] }
        registration.cancel()
        await registry.stop()
    }
}
