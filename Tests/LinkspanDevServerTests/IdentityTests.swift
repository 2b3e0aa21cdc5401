internal import Linkspan
internal import LinkspanDevServer
internal import LinkspanInMemory
internal import LinkspanMessaging
internal import LinkspanSocketIO
internal import LinkspanWebSocket
internal import TestedBackEnds
internal import LinkspanNetwork
internal import Testing

/// Users who share a process and a server, on every wire and within the process.
@Suite(.timeLimit(.minutes(2)), .overSomeBackEnd)
struct IdentityTests {
    /// A wire, or none.
    enum Place: Sendable, CaseIterable, CustomTestStringConvertible {
        case memory
        case way(Way)

        static let allCases: [Place] = [.memory] + Way.allCases.map { .way($0) }

        var testDescription: String {
            switch self {
            case .memory: "in memory"
            case .way(let way): way.testDescription
            }
        }

        func transport(_ bench: Bench) -> (url: String, transport: any Transport) {
            switch self {
            case .memory: ("memory://hub", InMemoryTransport(hub: bench.hub))
            case .way(let way): bench.place(way)
            }
        }
    }

    private static func user(_ name: String) -> CredentialSource {
        .provider { _ in try Credentials(auth: ["name": name]) }
    }

    /// Whom the server takes a connection for.
    private static func whoami(_ handler: ConnectionHandler) async throws -> String? {
        let answer = try await handler.request("whoami", timeout: .seconds(30))
        return answer[0]?["name"]?.string.map { String($0) }
    }

    private static func run(
        _ place: Place,
        _ body: (ConnectionManager, (CredentialSource) throws -> ConnectionConfiguration) async throws -> Void
    ) async throws {
        try await Bench.run { bench in
            let (url, transport) = place.transport(bench)
            let manager = ConnectionManager()
            do {
                try await body(manager) {
                    try ConnectionBuilder(url).transport(transport).credentials($0).build()
                }
            } catch {
                await manager.shutdown()
                throw error
            }
            await manager.shutdown()
        }
    }

    @Test(arguments: Place.allCases)
    func `the second user within the idle timeout of the first is the second to the server`(_ place: Place) async throws
    {
        try await Self.run(place) { manager, configuration in
            let first = try manager.connect(configuration(Self.user("ann")))
            #expect(try await Self.whoami(first) == "ann")
            first.release()
            let second = try manager.connect(configuration(Self.user("bob")))
            #expect(try await Self.whoami(second) == "bob")
            let nobody = try manager.connect(configuration(.none))
            #expect(try await Self.whoami(nobody) == nil)
        }
    }

    @Test(arguments: Place.allCases)
    func `users beside one another are themselves, and holders of one source share`(_ place: Place) async throws {
        try await Self.run(place) { manager, configuration in
            let ann = Self.user("ann")
            let holders = [try manager.connect(configuration(ann)), try manager.connect(configuration(ann))]
            let bob = try manager.connect(configuration(Self.user("bob")))
            let nobody = try manager.connect(configuration(.none))
            for holder in holders { #expect(try await Self.whoami(holder) == "ann") }
            #expect(try await Self.whoami(bob) == "bob")
            #expect(try await Self.whoami(nobody) == nil)
            // An optimised build lets go of what is not used any more.
            withExtendedLifetime((holders, bob, nobody)) {
                #expect(manager.statistics.map(\.holders).sorted() == [1, 1, 2])
            }
        }
    }

    @Test(arguments: Place.allCases)
    func `after a move the server sees the new user there, and only there`(_ place: Place) async throws {
        try await Self.run(place) { manager, configuration in
            let (ann, bob) = (Self.user("ann"), Self.user("bob"))
            let (first, second) = (
                try manager.connect(configuration(ann)), try manager.connect(configuration(bob))
            )
            #expect(try await Self.whoami(first) == "ann")
            #expect(try await Self.whoami(second) == "bob")
            try manager.move(first, to: try configuration(Self.user("cid")))
            #expect(try await Self.whoami(first) == "cid")
            #expect(try await Self.whoami(second) == "bob")
            #expect(first.status.resumption == nil)
            let again = try manager.connect(configuration(ann))
            #expect(try await Self.whoami(again) == "ann")
        }
    }

    @Test(arguments: Place.allCases)
    func `after a log-out the server has no session of the user, and the next user is the next`(_ place: Place)
        async throws
    {
        try await Self.run(place) { manager, configuration in
            let (ann, bob) = (Self.user("ann"), Self.user("bob"))
            let held = try manager.connect(configuration(ann))
            let other = try manager.connect(configuration(bob))
            #expect(try await Self.whoami(held) == "ann")
            #expect(try await Self.whoami(other) == "bob")
            await manager.logOut(ann)
            #expect(held.state == .released)
            #expect(held.status.resumption == nil)
            #expect(other.state == .connected)
            let error = await #expect(throws: LinkspanError.self) { try await held.request("whoami") }
            #expect(error?.code == .released)
            let next = try manager.connect(configuration(Self.user("cid")))
            #expect(try await Self.whoami(next) == "cid")
            #expect(try await Self.whoami(other) == "bob")
        }
    }

    @Test(arguments: Place.allCases)
    func `the facade moves to another user, and its manager keeps users apart`(_ place: Place) async throws {
        try await Bench.run { bench in
            let (url, transport) = place.transport(bench)
            var plan = MessagingPlan(url: url, transport: transport, credentials: Self.user("ann"))
            let messaging = try await Messaging.start(plan)
            let first = try await messaging.connect()
            #expect(try await Self.whoami(first) == "ann")
            first.release()
            let other = try ConnectionBuilder(url).transport(transport).credentials(Self.user("bob"))
                .connect(by: messaging.manager)
            #expect(try await Self.whoami(other) == "bob")
            let second = try await messaging.connect()
            #expect(try await Self.whoami(second) == "ann")
            plan.credentials = Self.user("cid")
            try messaging.move(to: plan)
            #expect(try await Self.whoami(second) == "cid")
            #expect(try await Self.whoami(try await messaging.connect()) == "cid")
            #expect(try await Self.whoami(other) == "bob")
            await messaging.stop()
        }
    }
}
