import LinkspanNetwork
import LinkspanRuntime
import TestSupport
import Testing

@Suite("The resolver", .timeLimit(.minutes(1)))
struct ResolverTests {
    @Test
    func `looks a name up once for all who ask at the same time, and answers each`() async {
        let (holds, hold) = Gate.make()
        let lookups = Lock(0)
        let resolver = Resolver(limits: .init(quick: 2, eager: 2, patient: 2)) { name, _ in
            lookups.withLock { $0 += 1 }
            holds.wait()
            return .success([name])
        }
        let (answers, answer) = AsyncStream.makeStream(of: [String].self)
        for _ in 0..<100 { resolver.resolve("one") { answer.yield((try? $0.get()) ?? []) } }
        hold.open()
        var count = 0
        for await addresses in answers {
            #expect(addresses == ["one"])
            count += 1
            if count == 100 { break }
        }
        #expect(lookups.withLock { $0 } == 1)
    }

    @Test
    func `answers all names with few threads, and again after they have ended`() async {
        let resolver = Resolver(limits: .init(quick: 2, eager: 1, patient: 2), pause: {}) { name, _ in .success([name])
        }
        for _ in 0..<20 {
            await withTaskGroup(of: Bool.self) { group in
                for number in 0..<50 {
                    group.addTask {
                        let addresses = await withCheckedContinuation { continuation in
                            resolver.resolve("\(number)") { continuation.resume(returning: try? $0.get()) }
                        }
                        return addresses == ["\(number)"]
                    }
                }
                for await isRight in group { #expect(isRight) }
            }
        }
    }

    /// Look-ups of names that begin with `hang` wait for a gate, and then fail a minute later; others are answered.
    private final class NameServer: Sendable {
        private struct Names {
            var asked: [String] = []
            var hanging = 0
            var most = 0
        }

        private let begun: AsyncStream<Void>
        private let begin: AsyncStream<Void>.Continuation
        private let time = Lock(ContinuousClock.now)
        private let gate = Lock(Gate())
        private let names = Lock(Names())

        init() { (self.begun, self.begin) = AsyncStream.makeStream(of: Void.self) }

        func resolver(_ limits: Resolver.Limits, pause: @escaping @Sendable () -> Void = {}) -> Resolver {
            Resolver(limits: limits, now: { self.time.withLock { $0 } }, pause: pause) { name, isQuick in
                let hangs = name.hasPrefix("hang")
                self.names.withLock { names in
                    names.asked.append(isQuick ? name : "\(name), patiently")
                    names.hanging += hangs ? 1 : 0
                    names.most = max(names.most, names.hanging)
                }
                let gate = self.gate.withLock { $0 }
                self.begin.yield()
                guard hangs else { return .success([name]) }
                gate.wait()
                self.names.withLock { $0.hanging -= 1 }
                return .failure(ByteStreamError(.nameNotResolved, "no answer"))
            }
        }

        /// Has all look-ups under way fail, a minute after they began.
        func fail() {
            self.time.withLock { $0 += .seconds(60) }
            let gate = self.gate.withLock { gate in
                defer { gate = Gate() }
                return gate
            }
            gate.open()
        }

        /// The names of look-ups so far.
        var asked: [String] { self.names.withLock { $0.asked } }

        /// The most look-ups that hung at the same time.
        var most: Int { self.names.withLock { $0.most } }

        /// Waits until so many look-ups more have begun.
        func begins(_ count: Int) async {
            var iterator = self.begun.makeAsyncIterator()
            for _ in 0..<count { _ = await iterator.next() }
        }
    }

    private func addresses(_ resolver: Resolver, _ name: String) async -> [String]? {
        // A stream, so that the test's time limit ends the wait.
        let (answers, answer) = AsyncStream.makeStream(of: [String]?.self)
        resolver.resolve(name) { answer.yield(try? $0.get()) }
        return await answers.first { _ in true } ?? nil
    }

    @Test
    func `while 300 names hang, another one is asked for after one pause`() async {
        let server = NameServer()
        let (pauses, pause) = Gate.make()
        let resolver = server.resolver(.init(), pause: { pauses.wait() })
        for number in 0..<300 { resolver.resolve("hang\(number)") { _ in } }
        await server.begins(8)
        let (answers, answer) = AsyncStream.makeStream(of: [String]?.self)
        resolver.resolve("healthy") { answer.yield(try? $0.get()) }
        pause.open()
        // Were the oldest name the next one, 16 more would take all threads, and this would never come.
        #expect(await answers.first { _ in true } == ["healthy"])
        server.fail()
    }

    @Test
    func `300 names that hang twice have no more than 32 threads`() async {
        let server = NameServer()
        let resolver = server.resolver(.init())
        let (ends, end) = AsyncStream.makeStream(of: Bool.self)
        for number in 0..<300 { resolver.resolve("hang\(number)") { end.yield((try? $0.get()) == nil) } }
        await server.begins(24)
        #expect(server.most == 24)
        server.fail()
        let failing = Task { while !Task.isCancelled { await server.begins(1); server.fail() } }
        var count = 0
        for await hasFailed in ends {
            #expect(hasFailed)
            count += 1
            if count == 300 { break }
        }
        failing.cancel()
        #expect(server.most <= 32)
        #expect(Set(server.asked).count == 600)
    }

    @Test
    func `a name without an answer in time is asked for patiently, and so the next time`() async {
        let (time, asked) = (Lock(ContinuousClock.now), Lock<[Bool]>([]))
        let resolver = Resolver(now: { time.withLock { $0 } }) { name, isQuick in
            let count = asked.withLock { asked in
                asked.append(isQuick)
                return asked.count
            }
            // Only the third look-up is answered in time.
            if count < 3 { time.withLock { $0 += .seconds(1) } }
            return isQuick && count == 1 ? .failure(ByteStreamError(.nameNotResolved, "no answer")) : .success([name])
        }
        for _ in 0..<3 { #expect(await self.addresses(resolver, "slow") == ["slow"]) }
        #expect(asked.withLock { $0 } == [true, false, false, true])
    }

    @Test(arguments: [(500, false, 1), (501, false, 2), (1_000, true, 1)])
    func `a name is asked for patiently when it has failed after half a second`(
        milliseconds: Int, isAnswered: Bool, count: Int
    ) async {
        let (time, asked) = (Lock(ContinuousClock.now), Lock(0))
        let resolver = Resolver(now: { time.withLock { $0 } }) { name, _ in
            asked.withLock { $0 += 1 }
            time.withLock { $0 += .milliseconds(milliseconds) }
            return isAnswered ? .success([name]) : .failure(ByteStreamError(.nameNotResolved, "no answer"))
        }
        #expect(await self.addresses(resolver, "name") == (isAnswered ? ["name"] : nil))
        #expect(asked.withLock { $0 } == count)
    }

    @Test
    func `a name that the server does not know is asked for once`() async {
        let asked = Lock(0)
        let resolver = Resolver { _, _ in
            asked.withLock { $0 += 1 }
            return .failure(ByteStreamError(.nameNotResolved, "unknown"))
        }
        #expect(await self.addresses(resolver, "unknown") == nil)
        #expect(asked.withLock { $0 } == 1)
    }

    @Test
    func `forgets callers that no longer wait, and skips names without a waiter`() async {
        let server = NameServer()
        let resolver = server.resolver(.init(quick: 1, eager: 1, patient: 1))
        let hanging = resolver.resolve("hang") { _ in Issue.record("this one does not wait") }
        await server.begins(1)
        let forgotten = resolver.resolve("forgotten") { _ in Issue.record("nobody waits for it") }
        let half = resolver.resolve("wanted") { _ in Issue.record("this one does not wait") }
        resolver.forget(hanging)
        resolver.forget(forgotten)
        resolver.forget(half)
        async let answer = self.addresses(resolver, "wanted")
        server.fail()
        #expect(await answer == ["wanted"])
        #expect(server.asked == ["hang", "wanted"])
    }

    @Test
    func `a name that is forgotten and asked for again during its look-up is not looked up twice`() async {
        let (holds, hold) = Gate.make()
        let (begun, begin) = AsyncStream.makeStream(of: String.self)
        let asked = Lock<[String]>([])
        let resolver = Resolver(limits: .init(quick: 3, eager: 3, patient: 1)) { name, _ in
            asked.withLock { $0.append(name) }
            begin.yield(name)
            holds.wait()
            return .success([name])
        }
        let (answers, answer) = AsyncStream.makeStream(of: String.self)
        let first = resolver.resolve("one") { _ in Issue.record("this one does not wait") }
        _ = await begun.first { $0 == "one" }
        resolver.forget(first)
        resolver.resolve("one") { _ in answer.yield("again") }
        resolver.resolve("two") { _ in answer.yield("two") }
        _ = await begun.first { $0 == "two" }
        hold.open()
        var got: Set<String> = []
        for await name in answers {
            got.insert(name)
            if got.count == 2 { break }
        }
        #expect(got == ["again", "two"])
        #expect(asked.withLock { $0 }.sorted() == ["one", "two"])
    }

    @Test
    func `a name that waits for patience is not looked up once it is forgotten`() async {
        let server = NameServer()
        let resolver = server.resolver(.init(quick: 2, eager: 2, patient: 1))
        for name in ["hang b", "hang a"] {
            resolver.resolve(name) { _ in }
            await server.begins(1)
            server.fail()
            await server.begins(1)
            // The look-up of the last one goes on.
            if name == "hang b" { server.fail() }
        }
        resolver.forget(resolver.resolve("hang b") { _ in Issue.record("this one does not wait") })
        server.fail()
        for name in ["one", "two"] { #expect(await self.addresses(resolver, name) == [name]) }
        #expect(!server.asked.dropFirst(4).contains { $0.hasPrefix("hang") })
    }

    @Test
    func `a thread that finds its name forgotten makes room for another one`() async throws {
        let server = NameServer()
        let pauses = Lock(0)
        let resolver = server.resolver(.init(quick: 2, eager: 1, patient: 1)) { pauses.withLock { $0 += 1 } }
        resolver.resolve("hang") { _ in }
        await server.begins(1)
        try await eventually {
            resolver.forget(resolver.resolve("forgotten") { _ in })
            return pauses.withLock { $0 } >= 5
        }
        server.fail()
    }

    @Test
    func `a name is looked up for those who still wait when another one does not`() async {
        let (holds, hold) = Gate.make()
        let pauses = Lock(0)
        let resolver = Resolver(limits: .init(), pause: { pauses.withLock { $0 += 1 } }) { name, _ in
            holds.wait()
            return .success([name])
        }
        let (answers, answer) = AsyncStream.makeStream(of: String.self)
        let first = resolver.resolve("one") { _ in answer.yield("first") }
        resolver.resolve("one") { _ in answer.yield("second") }
        resolver.forget(first)
        hold.open()
        #expect(await answers.first { _ in true } == "second")
        #expect(pauses.withLock { $0 } == 0, "a name alone is looked up at once")
    }

    #if os(Linux)
    @Test
    func `a name fails at once while the system has no thread left, and is looked up when it has one`() async {
        await #expect(processExitsWith: .success) {
            let shortage = try ThreadShortage()
            let resolver = Resolver(limits: .init()) { name, _ in .success([name]) }
            let failures = Lock(0)
            for _ in 0..<2 {
                resolver.resolve("one") { if case .failure = $0 { failures.withLock { $0 += 1 } } }
            }
            try #require(failures.withLock { $0 } == 2)
            shortage.end()
            let addresses = await withCheckedContinuation { continuation in
                resolver.resolve("one") { continuation.resume(returning: try? $0.get()) }
            }
            try #require(addresses == ["one"])
        }
    }
    #endif

    @Test
    func `knows the loopback and fails on a name that cannot exist`() throws {
        let addresses = try Resolver.addresses(of: "localhost", isQuick: true).get()
        #expect(addresses.contains("127.0.0.1") || addresses.contains("::1"))
        #expect(Set(addresses).count == addresses.count)
        #expect(throws: ByteStreamError.self) { try Resolver.addresses(of: "name.invalid", isQuick: true).get() }
    }
}
