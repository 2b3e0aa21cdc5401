internal import Linkspan
internal import LinkspanConfiguration
internal import LinkspanLifecycle
internal import LinkspanMessaging
internal import Testing

@Suite("Placement of services by configuration")
struct PlacementTests {
    private static func catalog() -> Catalog {
        var catalog = Catalog.sample()
        catalog.add(ServiceFactory("typing") { PlacedService(name: "typing", placement: .needing("presence"), $0) })
        return catalog
    }

    private static let file = """
        linkspan:
          transport: { adapter: memory, memory: { url: memory://a } }
          services:
            enabled: [typing, presence, logging]

        """

    @available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
    @Test
    func `without a word about it a service stands as it says`() throws {
        let planned = try #require(try load(Self.file, catalog: Self.catalog()).plan.services.first)
        #expect(planned.name == "typing")
        #expect(planned.settings.placement == nil)
        #expect(planned.settings.budgets == nil)
        #expect(planned.settings.importance == nil)
        #expect(planned.settings.origin.hasSuffix("chat.yaml:4"))
    }

    @available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
    @Test
    func `configured settings are added to the service's own`() throws {
        let section = "    typing: { importance: required, after: [logging], priority: 3, handleLimit: 0.25 }"
        let plan = try load(Self.file + section, catalog: Self.catalog())
        let planned = try #require(plan.plan.services.first)
        #expect(
            planned.settings.placement == Placement(needs: [.hard("presence"), .hard("logging")], priority: 3))
        #expect(planned.settings.budgets == Budgets(handle: .milliseconds(250), stop: .seconds(9)))
        #expect(planned.settings.importance == .required)
        #expect(plan.explain("services.typing.after")?.value == "[logging]")
    }

    @available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
    @Test(.timeLimit(.minutes(1)))
    func `the plan tells the order of start and its reasons, and the registry keeps to it`() async throws {
        let section = "    presence: { after: [logging] }\n"
        let plan = try load(Self.file + section, catalog: Self.catalog())
        let waves = plan.order.waves.map { $0.map { $0.name } }
        #expect(waves == [["connections"], ["logging"], ["presence"], ["typing"]])
        #expect(plan.order.steps.last?.needs == [.hard("presence")])
        #expect(plan.order.dependants(of: ["logging"]) == ["presence", "typing"])
        let registry = ServiceRegistry()
        for planned in plan.plan.services { try registry.register(planned.service, settings: planned.settings).keep() }
        let report = try await registry.start()
        #expect(report.waves == [["services.logging"], ["services.presence"], ["services.typing"]])
        await registry.stop()
    }

    @available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
    @Test(.timeLimit(.minutes(1)))
    func `the configuration alone makes a service required`() async throws {
        var catalog = Catalog.sample()
        catalog.add(ServiceFactory("broken") { _ in BrokenService() })
        let text = Self.file.replacing("[typing, presence, logging]", with: "[broken]")
        let tolerant = try await Messaging.start(try load(text, catalog: catalog).plan)
        #expect(tolerant.services.degraded.keys.sorted() == ["services.broken"])
        await tolerant.stop()
        let strict = try load(text + "    broken: { importance: required }", catalog: catalog)
        let error = await #expect(throws: LinkspanError.self) { try await Messaging.start(strict.plan) }
        #expect(error?.code == .invalidConfiguration)
        #expect(error?.message.contains("services.broken") == true)
    }
}

private struct BrokenService: LifecycleService {
    let name: ServiceName = "broken"

    func start(_ scope: ServiceScope) async throws { throw LinkspanError(.unsupported, "not today") }
}
