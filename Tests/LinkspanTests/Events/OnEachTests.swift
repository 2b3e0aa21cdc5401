@testable import Linkspan
internal import Dispatch
internal import TestSupport
internal import LinkspanRuntime
internal import LinkspanTesting
internal import Testing

extension Event where Value == Int, Reply == NoReply {
    fileprivate static var number: Self { Event("number") }
}

/// Listeners that run elsewhere than on the connection's executor, written as an app writes them.
@Suite("Listeners on an actor, the main actor or an executor", .timeLimit(.minutes(1)))
struct OnEachTests {
    let harness = PoolHarness()

    private func connect() throws -> (ConnectionHandler, ScriptedPeer) {
        let handler = try self.harness.connect()
        self.harness.scheduler.settle()
        return (handler, try #require(self.harness.transport.peers.first))
    }

    private func say(_ numbers: some Sequence<Int>, from peer: ScriptedPeer) {
        for number in numbers { peer.emit("number", .json("\(number)")) }
        self.harness.scheduler.settle()
    }

    @Test
    @MainActor
    func `in a class of the main actor each form runs there, in order, and keeps the class no longer than it`()
        async throws
    {
        let (handler, peer) = try self.connect()
        var model: Model? = Model()
        weak let weakModel = model
        let subscriptions = try #require(try model?.listen(to: handler))
        self.say(1...300, from: peer)
        peer.drop()
        self.harness.scheduler.settle()
        try await model?.heard.wait {
            $0.count { !$0.hasPrefix("state") } == 3 * 300 && $0.contains("state reconnecting")
        }
        for form in ["value", "message", "item"] {
            let numbers = model?.heard.entries.filter { $0.hasPrefix(form) && !$0.contains("gap") }
            #expect(numbers == (1...300).map { "\(form) \($0)" })
        }
        #expect(model?.count == 300 * 301 / 2)
        #expect(model?.state == .reconnecting)
        model = nil
        #expect(weakModel == nil, "the listeners keep nothing that they do not capture")
        for subscription in subscriptions { subscription.cancel() }
        try await eventually { handler.subscriptionCount == 0 }
    }

    @Test
    func `in an actor it runs on the actor, which is entered once for all that wait`() async throws {
        let (handler, peer) = try self.connect()
        let executor = CountingExecutor()
        let place = Place(executor)
        try await place.listen(to: handler)
        try await place.heard.wait { $0 == ["began"] }
        let before = executor.jobs
        executor.hold {
            self.say(1...200, from: peer)
        }
        try await place.heard.wait { $0.count == 201 }
        #expect(place.heard.entries.dropFirst() == (1...200).map { "\($0)" }[...])
        #expect(executor.jobs - before <= 3, "it was entered \(executor.jobs - before) times for 200 messages")
    }

    @Test
    func `on an executor it runs there, in one job for all that wait, and in order`() async throws {
        let (handler, peer) = try self.connect()
        let (executor, heard) = (CountingExecutor(), Heard())
        try handler.values(.number).onEach(on: executor) { number in
            heard.note(executor.isCurrent ? "\((try? number.get()) ?? -1)" : "elsewhere")
        }
        self.say([0], from: peer)
        try await heard.wait { $0.count == 1 }
        let before = executor.jobs
        executor.hold {
            self.say(1...200, from: peer)
        }
        try await heard.wait { $0.count == 201 }
        #expect(heard.entries == (0...200).map { "\($0)" })
        #expect(executor.jobs - before <= 3, "it took \(executor.jobs - before) jobs for 200 messages")
    }

    @Test
    func `a long run of elements lets others on the actor have their turn`() async throws {
        let (handler, peer) = try self.connect()
        let executor = CountingExecutor()
        let place = Place(executor)
        try await place.listen(to: handler)
        try await place.heard.wait { $0 == ["began"] }
        let hold = executor.hold()
        self.say(1...1_000, from: peer)
        let another = executor.nextJob()
        async let note: Void = place.note("another")
        // Until it waits for its turn.
        await another.value
        hold.signal()
        await note
        try await place.heard.wait { $0.count == 1_002 }
        let index = try #require(place.heard.entries.firstIndex(of: "another"))
        #expect(index < 1_001)
    }

    @Test
    func `it is bounded: the oldest goes while the actor is busy, with a gap at its place`() async throws {
        let (handler, peer) = try self.connect()
        let (executor, heard) = (CountingExecutor(), Heard())
        try handler.events("number", capacity: 3).items.onEach(on: executor) { heard.note($0.text) }
        self.say([0], from: peer)
        try await heard.wait { $0 == ["0"] }
        executor.hold {
            // One is on its way already when the next finds nobody who waits.
            self.say([1], from: peer)
            self.say(2...11, from: peer)
        }
        try await heard.wait { $0.last == "11" }
        // Another gap comes first if the one on its way was asked for in the midst of the others.
        var (next, gaps) = (0, 0)
        for entry in heard.entries {
            if entry.hasPrefix("gap ") {
                (next, gaps) = (next + (Int(entry.dropFirst(4)) ?? 0), gaps + 1)
            } else {
                #expect(Int(entry) == next, "\(heard.entries)")
                next += 1
            }
        }
        #expect(next == 12 && (1...2).contains(gaps), "\(heard.entries)")
        #expect(heard.entries.suffix(3) == ["9", "10", "11"])
    }

    @Test
    func `once it is cancelled on its executor no call follows, and nothing is left`() async throws {
        let (handler, peer) = try self.connect()
        let (executor, heard, witness, later) = (CountingExecutor(), Heard(), Witness(), Later())
        later.subscription = try handler.values(.number).onEach(on: executor) { [held = Held(witness)] number in
            held.touch()
            heard.note("\((try? number.get()) ?? -1)")
            if case .success(3) = number { later.cancel() }
        }
        executor.hold { self.say(1...100, from: peer) }
        try await eventually { handler.subscriptionCount == 0 && witness.count == 0 }
        #expect(heard.entries == ["1", "2", "3"])
    }

    @Test
    func `it ends with the connection, behind what waits`() async throws {
        let (handler, peer) = try self.connect()
        let (executor, heard, witness) = (CountingExecutor(), Heard(), Witness())
        try handler.events("number").onEach(on: executor) { [held = Held(witness)] element in
            held.touch()
            heard.note(element.message.payload.text)
        }
        executor.hold {
            self.say(1...5, from: peer)
            handler.release()
        }
        try await eventually { witness.count == 0 }
        #expect(heard.entries == ["1", "2", "3", "4", "5"])
    }

    @Test
    func `a handler that takes its time is called for one element after the other`() async throws {
        let (handler, peer) = try self.connect()
        let heard = Heard()
        try handler.values(.number).onEach { number in
            heard.note("begin \((try? number.get()) ?? -1)")
            await Task.yield()
            heard.note("end \((try? number.get()) ?? -1)")
        }
        self.say(1...20, from: peer)
        try await heard.wait { $0.count == 40 }
        #expect(heard.entries == (1...20).flatMap { ["begin \($0)", "end \($0)"] })
    }

    @Test
    func `a main actor that is blocked holds up neither the loop nor another connection`() async throws {
        let (handler, peer) = try self.connect()
        let other = try self.harness.connect("scripted://other")
        self.harness.scheduler.settle()
        let otherPeer = try #require(self.harness.transport.peers.last)
        let (gate, shown, heard) = (DispatchSemaphore(value: 0), Heard(), Heard())
        try handler.values(.number).onEach { @MainActor number in
            // Nobody else on the main thread can go on, either.
            if case .success(0) = number { Self.block(until: gate, noting: shown) }
            shown.note("\((try? number.get()) ?? -1)")
        }
        try handler.on("number") { heard.note("one \($0.payload.text)") }
        try other.on("number") { heard.note("other \($0.payload.text)") }
        self.say([0], from: peer)
        try await shown.wait { $0 == ["blocked"] }
        self.say(1...3, from: peer)
        self.say(1...3, from: otherPeer)
        #expect(heard.entries == (0...3).map { "one \($0)" } + (1...3).map { "other \($0)" })
        #expect(shown.entries == ["blocked"])
        gate.signal()
        try await shown.wait { $0 == ["blocked", "0", "1", "2", "3"] }
    }

    private static func block(until gate: DispatchSemaphore, noting shown: Heard) {
        shown.note("blocked")
        gate.wait()
    }
}

/// A view's model.
@MainActor
private final class Model {
    private(set) var count = 0
    private(set) var state = ConnectionState.created
    let heard = Heard()

    func listen(to connection: ConnectionHandler) throws -> [Subscription] {
        [
            try connection.values(.number).onEach { [weak self] number in
                MainActor.assertIsolated()
                let number = (try? number.get()) ?? 0
                self?.count += number
                self?.heard.note("value \(number)")
            },
            try connection.events("number").onEach { [weak self] element in
                MainActor.assertIsolated()
                self?.heard.note("message \(element.message.payload.text)")
            },
            try connection.events("number").items.onEach { [weak self] item in
                MainActor.assertIsolated()
                self?.heard.note("item \(item.text)")
            },
            connection.stateChanges.onEach { [weak self] change in
                MainActor.assertIsolated()
                self?.state = change.to
                self?.heard.note("state \(change.to)")
            },
        ]
    }
}

/// An actor on an executor that counts.
private actor Place {
    nonisolated let heard = Heard()
    private nonisolated let executor: CountingExecutor

    init(_ executor: CountingExecutor) { self.executor = executor }

    nonisolated var unownedExecutor: UnownedSerialExecutor { self.executor.asUnownedSerialExecutor() }

    func note(_ text: String) { self.heard.note(text) }

    func listen(to connection: ConnectionHandler) throws {
        try connection.values(.number).onEach { number in
            self.preconditionIsolated()
            self.note("\((try? number.get()) ?? -1)")
        }
        self.note("began")
    }
}

/// An executor that can be held up, for actors and for listeners.
private final class CountingExecutor: JobExecutor, SerialExecutor {
    private let base = SystemScheduler.makeExecutor(label: "counted")
    private let count = Counter()
    private let waiting = Lock<[Promise<Void>]>([])

    var jobs: Int { self.count.value }
    var isCurrent: Bool { self.base.isCurrent }

    func execute(_ job: @escaping @Sendable () -> Void) {
        self.count.increment()
        self.base.execute(job)
        let waiting = self.waiting.withLock { waiting in
            defer { waiting = [] }
            return waiting
        }
        for promise in waiting { promise.fulfill(()) }
    }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        self.execute { job.runSynchronously(on: self.asUnownedSerialExecutor()) }
    }

    func checkIsolated() { precondition(self.isCurrent) }

    /// Fulfilled when the next job is given.
    func nextJob() -> Promise<Void> {
        let promise = Promise<Void>()
        self.waiting.withLock { $0.append(promise) }
        return promise
    }

    /// Lets nothing run here while `body` does.
    func hold(_ body: () -> Void) {
        let end = self.hold()
        body()
        end.signal()
    }

    /// Lets nothing run here until the result is signalled.
    func hold() -> DispatchSemaphore {
        let (began, ended) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        self.base.execute {
            began.signal()
            ended.wait()
        }
        began.wait()
        return ended
    }
}

/// What has been heard, to wait for.
private final class Heard: Sendable {
    private let journal = Journal<String>("what is heard elsewhere")

    var entries: [String] { self.journal.entries }

    func note(_ entry: String) { self.journal.append(entry) }

    func wait(until isEnough: @escaping @Sendable ([String]) -> Bool) async throws {
        try await self.journal.entries(until: isEnough)
    }
}
