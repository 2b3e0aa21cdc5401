@testable internal import Linkspan
internal import LinkspanConfiguration
internal import LinkspanMessaging
internal import Testing

@Suite("What the keeper is configured to do", .timeLimit(.minutes(1)))
struct KeeperRuleTests {
    /// Tells the number of holders of each connection that it is asked about.
    private struct TellingRule: KeeperRule {
        let tell: AsyncStream<Int>.Continuation

        func decide(_ connection: KeptConnection) -> KeeperAction? {
            self.tell.yield(connection.holders)
            return nil
        }
    }

    @available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
    @Test
    func `a rule that the configuration names is asked about the connection`() async throws {
        let (told, tell) = AsyncStream.makeStream(of: Int.self)
        var catalog = Stage().catalog()
        catalog.add(TellingRule(tell: tell), named: "telling")
        let plan = try ConfigurationLoader(catalog: catalog).load(environment: [
            "LINKSPAN_TRANSPORT_ADAPTER": "first", "LINKSPAN_TRANSPORT_FIRST_URL": "first://lobby",
            "LINKSPAN_CONNECTION_KEEPER_RULES": "telling",
        ])
        let messaging = try await Messaging.start(plan.plan)
        try await messaging.connect().release()
        #expect(await told.first { $0 == 0 } == 0)
        await messaging.stop()
    }

    @available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
    @Test(arguments: [nil, "never", "constrained", "expensive"])
    func `the configuration says when data is saved, or else the manager's options`(given: String?) async throws {
        let plan = try Stage().load(given.map { ["LINKSPAN_CONNECTION_DATA_SAVING": $0] } ?? [:])
        let messaging = try await Messaging.start(plan.plan, connections: .init { $0.dataSaving = .expensive })
        #expect(messaging.manager.options.dataSaving.rawValue == given ?? "expensive")
        let other = try Stage().load(["LINKSPAN_CONNECTION_DATA_SAVING": given == "never" ? "expensive" : "never"])
        #expect(plan.difference(to: other).description.hasSuffix("(refused)"))
        await messaging.stop()
    }

    @available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
    @Test
    func `an unknown rule is refused at its place, with the known ones`() throws {
        var catalog = Catalog.sample()
        let (_, tell) = AsyncStream.makeStream(of: Int.self)
        catalog.add(TellingRule(tell: tell), named: "night")
        let text = """
            linkspan:
              transport: { adapter: memory, url: memory://a }
              connection:
                keeperRules: [night, nihgt]
            """
        let failure = try failure(text, catalog: catalog)
        let reason = "keeperRules[1]  unknown keeper rule 'nihgt' (did you mean 'night'? known: night)"
        #expect(failure?.contains("\(reason)  from chat.yaml:4") == true, "\(failure ?? "")")
    }
}
