import LinkspanNetwork
import LinkspanRuntime
import Testing

@testable import LinkspanLWS

@Suite("The resolver", .timeLimit(.minutes(1)))
struct ResolverTests {
    @Test("looks a name up once for all who ask at the same time, and answers each")
    func sharing() async {
        let (holds, hold) = Gate.make()
        let lookups = Lock(0)
        let resolver = Resolver(threadLimit: 2) { name in
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

    @Test("answers all names with few threads, and again after they have ended")
    func manyNames() async {
        let resolver = Resolver(threadLimit: 2) { .success([$0]) }
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

    @Test("knows the loopback and fails on a name that cannot exist")
    func system() throws {
        let addresses = try Resolver.addresses(of: "localhost").get()
        #expect(addresses.contains("127.0.0.1") || addresses.contains("::1"))
        #expect(Set(addresses).count == addresses.count)
        #expect(throws: ByteStreamError.self) { try Resolver.addresses(of: "name.invalid").get() }
    }
}
