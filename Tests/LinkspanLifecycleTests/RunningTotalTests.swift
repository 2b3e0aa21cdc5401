internal import LinkspanRuntime
internal import TestSupport
internal import Testing

@testable internal import LinkspanLifecycle

@Suite("Running totals", .timeLimit(.minutes(1)))
struct RunningTotalTests {
    /// Notes the totals it hears.
    private final class Follower: CountObserving, FaultObserving {
        let name: ServiceName
        let budgets: Budgets
        let journal = Journal()
        private let onEvent: @Sendable (Stamped<CountEvent>) async throws -> Void

        init(
            _ name: ServiceName, budgets: Budgets = Budgets(),
            onEvent: @escaping @Sendable (Stamped<CountEvent>) async throws -> Void = { _ in }
        ) {
            self.name = name
            self.budgets = budgets
            self.onEvent = onEvent
        }

        func on(_ event: Stamped<CountEvent>, _ scope: ServiceScope) async throws {
            self.journal.add("count \(event.event.name) \(event.event.total)\(event.replayed ? " replayed" : "")")
            self.journal.add("seq \(event.seq)")
            if event.gap > 0 { self.journal.add("gap \(event.gap)") }
            try await self.onEvent(event)
        }

        func on(_ event: Stamped<FaultEvent>, _ scope: ServiceScope) async throws {
            self.journal.add("fault \(event.event.code.rawValue)")
        }
    }

    private func mailbox(_ capacity: Int) -> Mailbox {
        var mailbox = Mailbox(
            Recipient(
                id: .make(), path: "a", capacity: capacity, limit: .seconds(1), receiver: .service(Probe("a"))))
        mailbox.open()
        return mailbox
    }

    private func letter(_ event: some LifecycleEvent, _ seq: UInt64) -> Letter { Letter(event, seq: seq, at: .now) }

    private func drain(_ mailbox: inout Mailbox) -> [UInt64] {
        var numbers: [UInt64] = []
        while let letter = mailbox.take() { numbers.append(letter.stamped.seq) }
        return numbers
    }

    @Test
    func `a mailbox holds only the newest total of each state, in the order of numbers, whatever its capacity`() {
        var mailbox = self.mailbox(2)
        for number in 1...1_000 as ClosedRange<UInt64> {
            let total = CountEvent(name: "name\(number % 10)", total: Int(number))
            let begins = mailbox.post(self.letter(total, number))
            #expect(!begins)
            if number == 995 { mailbox.post(self.letter(message("news"), 995)) }
        }
        #expect(mailbox.waiting == 10 + 1)
        #expect(self.drain(&mailbox) == [991, 992, 993, 994, 995, 995, 996, 997, 998, 999, 1_000])
        #expect(mailbox.lost == 0)
    }

    @Test
    func `a total has its place among other events by its number`() {
        var mailbox = self.mailbox(8)
        for number in [1, 3] as [UInt64] { mailbox.post(self.letter(message("news"), number)) }
        mailbox.post(self.letter(CountEvent(name: "a", total: 1), 2))
        #expect(self.drain(&mailbox) == [1, 2, 3])
    }

    @Test
    func `a total that changes often does not take the place of one that does not`() {
        var mailbox = self.mailbox(8)
        mailbox.post(self.letter(CountEvent(name: "rare", total: 1), 1))
        for number in 2...1_000 as ClosedRange<UInt64> {
            mailbox.post(self.letter(CountEvent(name: "often", total: Int(number)), number))
        }
        #expect(self.drain(&mailbox) == [1, 1_000])
    }

    @Test
    func `a total from before the receiver stays beside a newer one, as what to count from`() {
        var mailbox = Mailbox(
            Recipient(
                id: .make(), path: "a", capacity: 8, limit: .seconds(1), receiver: .service(Probe("a"))))
        mailbox.post(self.letter(CountEvent(name: "a", total: 1), 1))
        mailbox.post(self.letter(CountEvent(name: "a", total: 2), 2))
        mailbox.open()
        mailbox.post(self.letter(CountEvent(name: "a", total: 3), 3))
        mailbox.post(self.letter(CountEvent(name: "a", total: 4), 4))
        #expect(mailbox.waiting == 2)
        #expect(self.drain(&mailbox) == [2, 4])
    }

    @Test
    func `a slow service gets the newest totals alone, and nothing is a fault`() async throws {
        let registry = ServiceRegistry()
        let (entered, door) = (Door(), Door())
        let slow = Follower("slow", budgets: Budgets(handle: .seconds(3_600), mailbox: 4)) { event in
            guard event.event.name == "first" else { return }
            entered.open()
            await door.pass()
        }
        try registry.register(slow).keep()
        try await registry.start()
        registry.emit(CountEvent(name: "first", total: 1))
        await entered.pass()
        for number in 0..<10_000 { registry.emit(CountEvent(name: "name\(number % 3)", total: number)) }
        door.open()
        await registry.stop()
        #expect(slow.journal.all(with: "count ") == ["first 1", "name1 9997", "name2 9998", "name0 9999"])
        let numbers = slow.journal.all(with: "seq ").compactMap { UInt64($0) }
        #expect(numbers == numbers.sorted())
        #expect(slow.journal.all(with: "gap ").isEmpty && slow.journal.all(with: "fault ").isEmpty)
    }

    @Test
    func `a service that starts late gets the totals of present connections, marked as replayed`() async throws {
        let registry = ServiceRegistry()
        try await registry.start()
        registry.emit(CountEvent(name: "a", total: 1))
        registry.emit(CountEvent(name: "a", total: 2))
        registry.emit(CountEvent(connection: 2, name: "b", total: 1))
        registry.emit(connection(2, .released))
        let late = Follower("late")
        let registration = try registry.register(late)
        #expect(await registration.settled() == .ready)
        registry.emit(CountEvent(name: "a", total: 3))
        await registry.stop()
        #expect(late.journal.all(with: "count ") == ["a 2 replayed", "a 3"])
    }

    @Test
    func `totals that changed are reported before a service comes, and before one is stopped`() async throws {
        let registry = ServiceRegistry()
        let total = Lock(1)
        registry.addTotals { registry.emit(CountEvent(name: "a", total: total.withLock { $0 })) }
        let outer = ServiceRegistry(name: "outer")
        try outer.register(registry).keep()
        try await outer.start()
        let late = Follower("late")
        let registration = try outer.register(late)
        #expect(await registration.settled() == .ready)
        total.withLock { $0 = 5 }
        await outer.stop()
        #expect(late.journal.all(with: "count ") == ["a 1 replayed", "a 5"])
    }

    @Test
    func `a handler that throws is reported with the number of its event, and hears the next`() async throws {
        let registry = ServiceRegistry()
        let faults = Lock<[UInt64?]>([])
        let second = Lock<UInt64?>(nil)
        let follower = Follower("follower") { event in
            guard event.event.name == "second" else { return }
            second.withLock { $0 = event.seq }
            throw Trouble()
        }
        try registry.register(follower).keep()
        let observer = registry.observe(weak: follower, FaultEvent.self) { _, fault in
            faults.withLock { $0.append(fault.cause) }
        }
        try await registry.start()
        for name in ["first", "second", "third"] { registry.emit(CountEvent(name: name, total: 1)) }
        try await eventually { faults.withLock { $0.count } == 1 }
        try await eventually { follower.journal.all(with: "count ") == ["first 1", "second 1", "third 1"] }
        #expect(faults.withLock { $0 } == [second.withLock { $0 }])
        observer.cancel()
        await registry.stop()
    }

    @Test
    func `a service that is removed while it handles a total hears no more of them`() async throws {
        let registry = ServiceRegistry()
        let (entered, door) = (Door(), Door())
        let follower = Follower("follower") { event in
            guard event.event.name == "third" else { return }
            entered.open()
            await door.pass()
        }
        let registration = try registry.register(follower)
        try await registry.start()
        for name in ["first", "second", "third", "fourth"] { registry.emit(CountEvent(name: name, total: 1)) }
        await entered.pass()
        registration.cancel()
        door.open()
        await registry.stop()
        #expect(follower.journal.all(with: "count ").count == 3)
    }
}
