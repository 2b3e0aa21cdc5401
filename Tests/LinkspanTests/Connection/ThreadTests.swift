@testable import Linkspan
internal import LinkspanInMemory
internal import LinkspanRuntime
internal import LinkspanTesting
internal import TestSupport
internal import Testing

/// Real threads over one connection: run these under the thread sanitizer.
@Suite("Threads", .timeLimit(.minutes(1)))
struct ThreadTests {
    @Test
    func `G5: commands of many threads have one outcome each, whatever happens to the links`() async throws {
        let hub = InMemoryHub()
        hub.onConnect { peer in peer.onOther { $0.reply($0.payload) } }
        let manager = ConnectionManager(
            options: .init {
                $0.random = { 0 }
                $0.attempts = AttemptLimits(perSecond: 1_000_000, burst: 1_000_000, spacing: .zero)
            })
        let handler = try ConnectionBuilder("memory://threads").transport(.inMemory(hub))
            .options { $0.retry = RetryPolicy { _ in .zero } }.connect(by: manager)
        let outcomes = Lock<[Int: Int]>([:])
        let calls = Counter()
        await withDiscardingTaskGroup { group in
            for thread in 0..<4 {
                group.addTask {
                    for number in 0..<500 {
                        let kinds: [Command.Kind] = [.send, .request, .deliver(orderingKey: "\(thread)")]
                        let key = thread * 1_000 + number
                        let command = Command(
                            kinds[number % 3], event: "event", payload: .json("\(key)"), timeout: .seconds(40)
                        ) { _ in outcomes.withLock { $0[key, default: 0] += 1 } }
                        guard (try? handler.perform(command)) != nil else { continue }
                        calls.increment()
                        if number.isMultiple(of: 50) { handler.cancel(command.id) }
                    }
                }
            }
            group.addTask {
                for _ in 0..<50 {
                    hub.cut()
                    hub.restore()
                    await Task.yield()
                }
            }
        }
        try await eventually { handler.status.waitingCommands == 0 }
        await manager.shutdown()
        let counts = outcomes.withLock { $0 }
        #expect(counts.count == calls.value)
        #expect(counts.values.allSatisfy { $0 == 1 })
    }

    @Test
    func `deliveries of many threads keep their order over a store that commits in any order`() async throws {
        let (store, hub, manager) = (MemoryDeliveryStore(), InMemoryHub(), ConnectionManager())
        let random = Lock(SeededGenerator(seed: 7))
        store.onCommit { _, decide in
            let delay = random.withLock { Int.random(in: 0..<500, using: &$0) }
            _ = SystemScheduler.shared.schedule(at: .now + .microseconds(delay)) { decide(nil) }
        }
        let applied = Lock<[String: [Int]]>([:])
        hub.onConnect { peer in
            peer.onOther { message in
                let number = (try? message.payload.decode(Int.self)) ?? -1
                applied.withLock { $0[message.event, default: []].append(number) }
                message.reply(message.payload)
            }
        }
        let handler = try ConnectionBuilder("memory://threads").transport(.inMemory(hub))
            .options { $0.store = store }.connect(by: manager)
        await withDiscardingTaskGroup { group in
            for thread in 0..<4 {
                group.addTask {
                    for number in 0..<100 {
                        let command = Command(
                            .deliver(orderingKey: "\(thread)"), event: "\(thread)", payload: .json("\(number)"))
                        try? handler.perform(command)
                        if number.isMultiple(of: 10) { _ = try? await handler.enqueue("receipt \(thread)", number) }
                    }
                }
            }
        }
        #expect(await handler.drain(within: .seconds(30)).isEmpty)
        await manager.shutdown()
        for thread in 0..<4 { #expect(applied.withLock { $0["\(thread)"] } == Array(0..<100)) }
        #expect(store.rows.allSatisfy { $0.outcome != nil })
        #expect(store.rows.count == 440)
    }

    @Test
    func `signals of many threads leave no connection behind that does not come up in the foreground`() async throws {
        let hub = InMemoryHub()
        let manager = ConnectionManager(
            options: .init {
                $0.random = { 0 }
                $0.backgroundIdleTimeout = .nanoseconds(1)
                $0.attempts = AttemptLimits(perSecond: 1_000_000, burst: 1_000_000, spacing: .zero)
            })
        let handlers = try (0..<4).map {
            try ConnectionBuilder("memory://threads\($0)").transport(.inMemory(hub)).connect(by: manager)
        }
        await withDiscardingTaskGroup { group in
            for thread in 0..<4 {
                group.addTask {
                    for number in 0..<200 {
                        manager.signal(KeeperSignal.allCases[(number * 7 + thread) % 4])
                        await Task.yield()
                    }
                }
            }
        }
        manager.signal(.foreground)
        // The thread of a timer may still tell the connections of former signals, and these deal with them on their own.
        try await eventually { !manager.pool.withLock { $0.surroundings.isLooking } }
        for handler in handlers { _ = await handler.connection.commands }
        for handler in handlers {
            for await change in handler.stateChanges where change.to == .connected { break }
            #expect(handler.state == .connected)
        }
        await manager.shutdown()
    }

    @Test
    func `listeners, streams and states may be taken and left on many threads`() async throws {
        let hub = InMemoryHub()
        let manager = ConnectionManager()
        let handler = try ConnectionBuilder("memory://threads").transport(.inMemory(hub)).connect(by: manager)
        await withDiscardingTaskGroup { group in
            for _ in 0..<4 {
                group.addTask {
                    for number in 0..<200 {
                        let subscription = try? handler.on("event\(number % 5)") { _ in }
                        let changes = handler.onStateChange { _ in }
                        var iterator = try? handler.events("event\(number % 5)").makeAsyncIterator()
                        hub.emit("event\(number % 5)", .json("\(number)"))
                        if number.isMultiple(of: 20) { _ = await iterator?.next() }
                        subscription?.cancel()
                        changes.cancel()
                    }
                }
            }
        }
        // The executor may be the last to let go of a stream.
        try await eventually { handler.subscriptionCount == 0 }
        await manager.shutdown()
        #expect(handler.state == .released)
    }

    @Test
    func `a connection that moves to and fro within one callback lives where its transport does`() async throws {
        let hubs = [InMemoryHub(), InMemoryHub()]
        for (number, hub) in hubs.enumerated() {
            hub.onConnect { peer in
                peer.on("where") { $0.reply(.json("\(number)")) }
                peer.on("go") { message in peer.emit("go", message.payload) }
            }
        }
        let manager = ConnectionManager(
            options: .init {
                $0.random = { 0 }
                $0.attempts = AttemptLimits(perSecond: 1_000_000, burst: 1_000_000, spacing: .zero)
            })
        let configurations = try hubs.map { try ConnectionBuilder("memory://moving").transport(.inMemory($0)).build() }
        let handler = try configurations[0].connect(by: manager)
        try handler.on("go") { message in
            for place in (try? message.decode([Int].self)) ?? [] {
                _ = try? manager.move(handler, to: configurations[place])
            }
        }
        for path in [[1, 0], [1], [0, 1, 0], [0], [1, 0, 1], [1, 0, 1, 0], [0, 1]] {
            try handler.send("go", path)
            var answer: Int?
            while answer != path.last {
                answer = try? await handler.request("where", timeout: .seconds(20)).decode(Int.self)
            }
        }
        await manager.shutdown()
    }

    @Test
    func `one thread's sends arrive in order while other threads send too`() async throws {
        let hub = InMemoryHub()
        let arrived = Lock<[String: [Int]]>([:])
        hub.onConnect { peer in
            peer.onOther { message in
                arrived.withLock { $0[message.event, default: []].append(message.payload[0]?.int ?? -1) }
            }
        }
        let manager = ConnectionManager()
        let handler = try ConnectionBuilder("memory://threads").transport(.inMemory(hub)).connect(by: manager)
        for await change in handler.stateChanges where change.to == .connected { break }
        try await withThrowingDiscardingTaskGroup { group in
            for thread in 0..<4 {
                group.addTask { for number in 0..<1_000 { try handler.send("\(thread)", number) } }
            }
        }
        try await eventually { arrived.withLock { $0.values.reduce(0) { $0 + $1.count } } >= 4_000 }
        await manager.shutdown()
        for thread in 0..<4 { #expect(arrived.withLock { $0["\(thread)"] } == Array(0..<1_000)) }
    }
}
