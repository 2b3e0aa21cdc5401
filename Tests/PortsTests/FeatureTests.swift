internal import LinkspanKit
internal import LinkspanTesting
internal import Synchronization
internal import Testing

/// A feature as an app has it: a cart that is told to the server.
private final class Cart: Sendable {
    private let connection: any Connection
    private let prices = Mutex<[String: Double]>([:])

    var total: Double { self.prices.withLock { $0.values.reduce(0, +) } }

    init(_ connection: any Connection) throws {
        self.connection = connection
        try connection.on("price", as: [String: Double].self) { prices in
            if case .success(let prices) = prices { self.prices.withLock { $0.merge(prices) { $1 } } }
        }
    }

    func add(_ item: String) async throws -> Int { try await self.connection.deliver("add", item).decode(Int.self) }
}

/// Unit tests of feature code: a conversation, and an outage in virtual time.
@Suite
struct FeatureTests {
    @Test(.timeLimit(.minutes(1)))
    func `the server's prices are in the total before an item is confirmed`() async throws {
        let hub = InMemoryHub()
        hub.onConnect { peer in
            peer.on("add") { message in
                peer.emit("price", (try? Payload(["tea": 2.5])) ?? .empty)
                message.reply((try? Payload(1)) ?? .empty)
            }
        }
        let connection = try ConnectionBuilder("memory://shop").transport(.inMemory(hub))
            .connect(by: ConnectionManager())
        let cart = try Cart(connection)
        #expect(try await cart.add("tea") == 1)
        #expect(cart.total == 2.5)
        connection.release()
    }
    @Test
    func `an item added during an outage is confirmed once the server is back`() throws {
        let scheduler = VirtualScheduler()
        let transport = ScriptedTransport(scheduler: scheduler) { number in
            number <= 3 ? .refusing(LinkspanError(.connectionLost, "the server is down")) : .perfect
        }
        let manager = ConnectionManager(options: .init { $0.scheduler = scheduler })
        let connection = try ConnectionBuilder("scripted://shop").transport(transport).connect(by: manager)
        try connection.send("add", "tea")
        scheduler.advance(by: .seconds(60))
        #expect(connection.state == .connected)
        #expect(transport.received.map(\.event) == ["add"])
        connection.release()
    }
}
