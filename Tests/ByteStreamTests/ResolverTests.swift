import LinkspanNetwork
import LinkspanRuntime
import Testing

@Suite("The resolver", .timeLimit(.minutes(1)))
struct ResolverTests {
    @Test
    func `looks a name up once for all who ask at the same time, and answers each`() async {
        let (holds, hold) = Gate.make()
        let lookups = Lock(0)
        let resolver = Resolver(threads: [.overdue: 2, .unknown: 2, .answered: 2]) { name in
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
        let resolver = Resolver(threads: [.overdue: 2, .unknown: 2, .answered: 2]) { .success([$0]) }
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
        let begun: AsyncStream<String>
        private let begin: AsyncStream<String>.Continuation
        private let time = Lock(ContinuousClock.now)
        private let gate = Lock(Gate())
        private let names = Lock<[String]>([])

        init() { (self.begun, self.begin) = AsyncStream.makeStream(of: String.self) }

        func resolver(
            _ threads: [Resolver.Record: Int] = [.answered: 256, .unknown: 248, .overdue: 40]
        ) -> Resolver {
            Resolver(threads: threads, now: { self.time.withLock { $0 } }) { name in
                self.names.withLock { $0.append(name) }
                let gate = self.gate.withLock { $0 }
                self.begin.yield(name)
                guard name.hasPrefix("hang") else { return .success([name]) }
                gate.wait()
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
        var asked: [String] { self.names.withLock { $0 } }

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
    func `answers a healthy name while 40 others hang`() async {
        let server = NameServer()
        let resolver = server.resolver()
        for number in 0..<40 { resolver.resolve("hang\(number)") { _ in } }
        #expect(await self.addresses(resolver, "healthy") == ["healthy"])
        server.fail()
    }

    @Test
    func `leaves threads to new names when old ones hang again, and to answered ones when new ones hang, and no more`()
        async
    {
        let server = NameServer()
        let resolver = server.resolver([.overdue: 2, .unknown: 4, .answered: 5])
        #expect(await self.addresses(resolver, "known") == ["known"])
        await withTaskGroup(of: Void.self) { group in
            for number in 0..<4 { group.addTask { _ = await self.addresses(resolver, "hang\(number)") } }
            await server.begins(5)
            server.fail()
        }
        // These hung the last time, and get no more than their share.
        for number in 0..<4 { resolver.resolve("hang\(number)") { _ in } }
        #expect(await self.addresses(resolver, "new") == ["new"])
        // These are new, and take the rest but one.
        for number in 4..<10 { resolver.resolve("hang\(number)") { _ in } }
        #expect(await self.addresses(resolver, "known") == ["known"])
        let hanging = server.asked.dropFirst(5).filter { $0.hasPrefix("hang") }
        #expect(hanging.count { "hang0"..."hang3" ~= $0 } <= 2)
        #expect(hanging.count <= 4)
        server.fail()
    }

    @Test
    func `forgets callers that no longer wait, and skips names without a waiter`() async {
        let server = NameServer()
        let resolver = server.resolver([.overdue: 1, .unknown: 1, .answered: 1])
        resolver.resolve("hang") { _ in }
        await server.begins(1)
        let forgotten = resolver.resolve("forgotten") { _ in Issue.record("nobody waits for it") }
        let half = resolver.resolve("wanted") { _ in Issue.record("this one does not wait") }
        resolver.forget(forgotten)
        resolver.forget(half)
        async let answer = self.addresses(resolver, "wanted")
        server.fail()
        #expect(await answer == ["wanted"])
        #expect(server.asked == ["hang", "wanted"])
    }

    @Test
    func `knows the loopback and fails on a name that cannot exist`() throws {
        let addresses = try Resolver.addresses(of: "localhost").get()
        #expect(addresses.contains("127.0.0.1") || addresses.contains("::1"))
        #expect(Set(addresses).count == addresses.count)
        #expect(throws: ByteStreamError.self) { try Resolver.addresses(of: "name.invalid").get() }
    }
}
