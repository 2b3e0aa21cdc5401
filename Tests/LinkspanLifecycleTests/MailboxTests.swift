internal import LinkspanRuntime
internal import TestSupport
internal import Testing

@testable internal import LinkspanLifecycle

@Suite(.timeLimit(.minutes(1)))
struct MailboxTests {
    @Test
    func `a service gets the events of concurrent emitters in the order of their numbers`() async throws {
        let registry = ServiceRegistry()
        let listener = Listener("listener", budgets: Budgets(handle: .seconds(60), mailbox: 100_000))
        try registry.register(listener).keep()
        try await registry.start()
        await withTaskGroup(of: Void.self) { group in
            for emitter in 0..<8 {
                group.addTask {
                    for index in 0..<500 {
                        if index.isMultiple(of: 3) {
                            registry.emit(connection(UInt64(emitter), .connecting(attempt: index)))
                        } else {
                            registry.emit(message("\(emitter).\(index)"))
                        }
                    }
                }
            }
        }
        await registry.barrier(message("end"))
        let numbers = listener.journal.all(with: "seq ").compactMap { UInt64($0) }
        #expect(numbers.count == 4001)
        #expect(zip(numbers, numbers.dropFirst()).allSatisfy { $0 < $1 })
        await registry.stop()
    }

    @Test
    func `a full mailbox drops the oldest events, counts them in the next one, and faults once`() async throws {
        let registry = ServiceRegistry()
        let (entered, door) = (Door(), Door())
        let slow = Listener("slow", budgets: Budgets(mailbox: 4)) { event, _ in
            if event.event.event == "first" {
                entered.open()
                await door.pass()
            }
        }
        let fast = Listener("fast")
        try registry.register(slow).keep()
        try registry.register(fast).keep()
        try await registry.start()
        registry.emit(message("first"))
        await entered.pass()
        for index in 0..<10 {
            registry.emit(message("\(index)"))
        }
        door.open()
        try await eventually { slow.journal.all(with: "message ").count == 5 }
        await registry.stop()
        #expect(slow.journal.all(with: "message ") == ["first", "6", "7", "8", "9"])
        #expect(slow.journal.all(with: "gap ") == ["6 6"])
        #expect(fast.journal.all(with: "fault ") == ["mailboxOverflow services.slow"])
        #expect(fast.journal.all(with: "gap ").isEmpty)
        #expect(fast.journal.all(with: "message ").count == 11)
    }

    @Test
    func `lost events of one family make no gap in another`() {
        var mailbox = Mailbox(
            Recipient(
                id: .make(), path: "a", capacity: 2, limit: .seconds(1), receiver: .service(Probe("a"))))
        func letter(_ event: some LifecycleEvent, _ seq: UInt64) -> Letter {
            Letter(event, seq: seq, at: .now)
        }
        mailbox.open()
        let begins = (0..<4).map { mailbox.post(letter(message("m"), $0)) }
        #expect(begins == [false, false, true, false])
        mailbox.post(letter(connection(1, .created), 5))
        let taken = (0..<3).map { _ in mailbox.take()?.stamped }
        #expect(taken.map { $0?.seq } == [3, 5, nil])
        #expect(taken.map { $0?.gap } == [3, 0, nil])
        #expect((mailbox.delivered, mailbox.lost) == (2, 3))
        // Empty again: the next loss is worth a word again.
        mailbox.post(letter(message("m"), 6))
        mailbox.post(letter(message("m"), 7))
        let beginsAgain = mailbox.post(letter(message("m"), 8))
        #expect(beginsAgain)
        // What still waits is lost with the mailbox.
        mailbox.discard()
        #expect((mailbox.waiting, mailbox.delivered, mailbox.lost) == (0, 2, 6))
    }

    @Test
    func `events that waited for a service are marked as replayed, and only the latest of each state is delivered`()
        async throws
    {
        let registry = ServiceRegistry()
        let listener = Listener("listener")
        try registry.register(listener).keep()
        registry.emit(connection(1, .created))
        registry.emit(message("early"))
        registry.emit(connection(1, .connecting(attempt: 1)))
        registry.emit(connection(2, .created))
        registry.emit(connection(3, .created))
        registry.emit(connection(3, .disconnected(reason: "", code: nil, willRetry: false)))
        registry.emit(connection(3, .released))
        try await registry.start()
        registry.emit(message("live"))
        await registry.barrier(message("end"))
        #expect(listener.journal.all(with: "message ") == ["early", "live", "end"])
        #expect(listener.journal.all(with: "replayed ") == ["early"])
        #expect(
            listener.journal.all(with: "connection ") == [
                "1 connecting(attempt: 1) replayed", "2 created replayed", "3 released replayed",
            ])
        await registry.stop()
    }

    @Test
    func `a service that starts late gets the current states and no earlier news`() async throws {
        let registry = ServiceRegistry()
        try await registry.start()
        registry.emit(connection(1, .created))
        registry.emit(connection(1, .connecting(attempt: 1)))
        registry.emit(connection(2, .created))
        registry.emit(connection(2, .released))
        registry.emit(message("before"))
        let listener = Listener("listener")
        let registration = try registry.register(listener)
        #expect(await registration.settled() == .ready)
        await registry.barrier(message("end"))
        #expect(listener.journal.all(with: "connection ") == ["1 connecting(attempt: 1) replayed"])
        #expect(listener.journal.all(with: "message ") == ["end"])
        await registry.stop()
    }

    @Test
    func `an event emitted from inside a handler is delivered after the present one, without waiting`() async throws {
        let registry = ServiceRegistry()
        let listener = Listener("listener") { event, scope in
            if event.event.event == "question" {
                try scope.emit(message("answer"))
                try scope.emit(message("end"))
            }
        }
        try registry.register(listener).keep()
        try await registry.start()
        registry.emit(message("question"))
        registry.emit(message("other"))
        try await eventually { listener.journal.all(with: "message ").count == 4 }
        let names = listener.journal.all(with: "message ")
        #expect(Set(names) == ["question", "other", "answer", "end"])
        #expect(names.first == "question")
        await registry.stop()
    }

    @Test
    func `an event emitted by a handler has the number of the handled event as its cause`() async throws {
        let registry = ServiceRegistry()
        let journal = Journal()
        let listener = Listener("listener") { event, scope in
            journal.add("\(event.event.event) \(event.cause.map { "\($0)" } ?? "nil") \(event.seq)")
            if event.event.event == "question" {
                try scope.emit(message("answer"))
            }
        }
        try registry.register(listener).keep()
        try await registry.start()
        let seq = try #require(registry.emit(message("question")))
        try await eventually { journal.all.count == 2 }
        #expect(journal.all.first == "question nil \(seq)")
        #expect(journal.all.last?.hasPrefix("answer \(seq) ") == true)
        await registry.stop()
    }

    @Test
    func `without observers an event is not made`() async throws {
        let registry = ServiceRegistry()
        let journal = Journal()
        func made() -> MessageEvent {
            journal.add("made")
            return message("a")
        }
        #expect(registry.emit(made()) == nil)
        #expect(journal.all.isEmpty)
        let registration = try registry.register(Listener("listener"))
        #expect(registry.emit(made()) != nil)
        registration.cancel()
        #expect(registry.emit(made()) == nil)
        #expect(journal.all.count == 1)
    }

    @Test
    func `a barrier waits for services that handle the event or fail, and for a late one until its limit`() async throws
    {
        let clock = ManualScheduler()
        let registry = ServiceRegistry(options: .init { $0.scheduler = clock })
        let (entered, door) = (Door(), Door())
        let good = Listener("good")
        try registry.register(good).keep()
        try registry.register(Listener("throwing") { _, _ in throw Trouble() }).keep()
        try registry.register(
            Listener("late") { _, _ in
                entered.open()
                await door.pass()
            }
        ).keep()
        try registry.register(Probe("deaf")).keep()
        try await registry.start()
        let isDone = Lock(false)
        async let barrier: Void = {
            defer { isDone.withLock { $0 = true } }
            await registry.barrier(message("a"), within: .milliseconds(300))
        }()
        await entered.pass()
        try await eventually { good.journal.all.contains("fault handlerFailed services.throwing") }
        // Everybody but the late one has told by now, so time may pass in any steps.
        try await eventually(turn: { clock.advance(by: .milliseconds(100)) }) { isDone.withLock { $0 } }
        await barrier
        #expect(good.journal.all(with: "message ") == ["a"])
        door.open()
    }

    @Test
    func `a barrier waits for a service as soon as its state is ready`() async throws {
        let registry = ServiceRegistry()
        try await registry.start()
        for number in 0..<200 {
            let late = Listener("late\(number)")
            let registration = try registry.register(late)
            // Without a pause, which would let the start get ahead, and on no thread that the start may need.
            let isOpen = await withCheckedContinuation { continuation in
                _ = SystemThread.start(name: "spinning") {
                    let end = ContinuousClock.now + .milliseconds(100)
                    var isReady = false
                    while !isReady, .now < end { isReady = registry.state(of: "services.late\(number)") == .ready }
                    let receivers = registry.core.fanout { $0.openReceivers(of: MessageEvent.familyID) }
                    continuation.resume(returning: !isReady || receivers.count == 1)
                }
            }
            #expect(isOpen)
            #expect(await registration.settled() == .ready)
            await registry.barrier(message("end"))
            #expect(late.journal.all(with: "message ") == ["end"])
            registration.cancel()
        }
        await registry.stop()
    }

    @Test
    func `a barrier from inside a handler of its family ends with its limit, not in a deadlock`() async throws {
        let registry = ServiceRegistry()
        let listener = Listener("listener") { event, _ in
            if event.event.event == "outer" {
                await registry.barrier(message("inner"), within: .milliseconds(10))
            }
        }
        try registry.register(listener).keep()
        try await registry.start()
        await registry.barrier(message("outer"))
        #expect(listener.journal.all(with: "message ") == ["outer", "inner"])
        await registry.stop()
    }

    private static func recipient(capacity: Int = 8, limit: Duration = .seconds(1)) -> Recipient {
        Recipient(
            id: .make(), path: "a", capacity: capacity, limit: limit,
            receiver: .observer(MessageEvent.familyID) { _ in true })
    }

    @Test
    func `a mailbox holds an event at least, and a handler has a millisecond at least`() {
        let recipient = Self.recipient(capacity: 0, limit: .zero)
        #expect(recipient.capacity == 1 && recipient.limit == .milliseconds(1))
    }

    @Test
    func `observers are numbered from one`() {
        var fanout = Fanout()
        let numbers = [fanout.nextObserver(), fanout.nextObserver()]
        #expect(numbers == [1, 2])
    }

    @Test
    func `a receiver is watched again after a time in which nothing was watched`() throws {
        var (fanout, effects) = (Fanout(), Fanout.Effects())
        let (recipient, now) = (Self.recipient(), ContinuousClock.now)
        fanout.add(Mailbox(recipient, mode: .open))
        for _ in 0..<2 {
            _ = fanout.post(Letter(message("a"), at: now), effects: &effects)
            let begun = fanout.beginConsumer(recipient.id)
            let consumer = try #require(begun)
            #expect(consumer.watch == .seconds(1))
            for _ in 0..<2 { _ = fanout.take(recipient.id, generation: consumer.generation, now: now) }
            let isStillWatched = fanout.check(recipient.id, now: now + .seconds(1)) != nil
            #expect(!isStillWatched)
        }
    }

    @Test
    func `a receiver that is removed while it handles an event is idle once it has handled it`() throws {
        var (fanout, effects) = (Fanout(), Fanout.Effects())
        let recipient = Self.recipient()
        let id = recipient.id
        fanout.add(Mailbox(recipient, mode: .open))
        _ = fanout.post(Letter(message("a"), at: .now), effects: &effects)
        let begun = fanout.beginConsumer(id)
        let generation = try #require(begun).generation
        _ = fanout.take(id, generation: generation, now: .now)
        _ = fanout.remove(id)
        let waits = fanout.whenIdle(id) {}
        #expect(waits)
        guard case .end(let waiters) = fanout.take(id, generation: generation, now: .now) else {
            Issue.record("it goes on")
            return
        }
        #expect(waiters.count == 1)
        let waitsLater = fanout.whenIdle(id) {}
        #expect(!waitsLater)
    }
}
