#if os(Linux)
internal import Linkspan
internal import LinkspanLifecycle
@testable import LinkspanServices
internal import Testing

@Suite("The network path of a live kernel", .timeLimit(.minutes(1)), .serialized)
struct PathSourceTests {
    @Test(.enabled(if: Namespace.isAvailable, "needs root and iproute2"))
    func `losing and regaining a cable is reported, and so is a removed interface`() async throws {
        let namespace = try Namespace()
        try namespace.ip("link add v0 type veth peer name v1")
        try namespace.ip("addr add 192.0.2.1/24 dev v0")
        try namespace.ip("link set lo up")
        var events = try namespace.inside { try RouteSocket() }.events { () throws(LinkspanError) in
            do {
                return try namespace.inside { try RouteSocket.addresses() }
            } catch {
                throw LinkspanError(.unsupported, "no addresses in the namespace", cause: error)
            }
        }.makeAsyncIterator()
        #expect(try await events.next()?.status == .unsatisfied, "there is only the loopback")
        try namespace.ip("link set v0 up")
        try namespace.ip("link set v1 up")
        #expect(
            try await events.next() == NetworkEvent(status: .satisfied, interfaces: [.other]))
        try namespace.ip("link set v1 down")
        #expect(try await events.next()?.status == .unsatisfied)
        try namespace.ip("link set v1 up")
        #expect(try await events.next()?.status == .satisfied)
        try namespace.ip("link del v0")
        #expect(try await events.next()?.status == .unsatisfied)
    }

    @Test
    func `the machine's path is reported at once, and the source ends with its task`() async throws {
        let (told, teller) = AsyncStream.makeStream(of: NetworkEvent.self)
        let running = Task { try await NetworkPathSource().run { teller.yield($0) } }
        for await _ in told { break }
        running.cancel()
        try await running.value
    }
}
#endif
