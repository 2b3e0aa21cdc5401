internal import LinkspanLifecycle
internal import Testing

@Suite("Predicted order of start")
struct StartOrderTests {
    private struct Part: LifecycleService {
        let name: ServiceName
        var placement = Placement()
    }

    private static func order(_ parts: any LifecycleService...) throws -> StartOrder {
        try StartOrder(parts.map { ($0, ServiceSettings()) })
    }

    @Test(.timeLimit(.minutes(1)))
    func `a registry of the same services starts them in this order`() async throws {
        func parts() throws -> [any LifecycleService] {
            let chat = ServiceRegistry(name: "chat", placement: Placement(phase: .feature))
            try chat.register(Part(name: "rooms", placement: Placement(needs: [.hard("store")]))).keep()
            try chat.register(Part(name: "presence", placement: Placement(needs: [.hard("rooms")]))).keep()
            return [
                Part(name: "log", placement: Placement(phase: .core, priority: 9)),
                Part(name: "clock", placement: Placement(phase: .core)), chat,
                Part(name: "store", placement: Placement(phase: .storage, needs: [.soft("clock")])),
                Part(name: "late", placement: Placement(needs: [.hard("chat.presence"), .soft("nobody")])),
            ]
        }
        let order = try StartOrder(try parts().map { ($0, ServiceSettings()) })
        #expect(
            order.waves.map { $0.map { $0.name } } == [
                ["log", "clock"], ["store"], ["chat.rooms"], ["chat.presence"], ["late"],
            ])
        let registry = ServiceRegistry(name: "app")
        for part in try parts() { try registry.register(part).keep() }
        let report = try await registry.start()
        #expect(report.waves == order.waves.map { $0.map { "app.\($0.name)" } })
        await registry.stop()
    }

    @Test(.timeLimit(.minutes(1)))
    func `a prediction leaves a nested registry as it is`() async throws {
        let chat = ServiceRegistry(name: "chat")
        try chat.register(Part(name: "rooms")).keep()
        #expect(try Self.order(chat).steps.map { $0.name } == ["chat.rooms"])
        let report = try await chat.start()
        #expect(report.waves == [["chat.rooms"]])
        await chat.stop()
    }

    @Test
    func `a step lists its needs, and dependants are found through others`() throws {
        let order = try Self.order(
            Part(name: "a"), Part(name: "b", placement: Placement(needs: [.hard("a")], priority: 4)),
            Part(name: "c", placement: Placement(needs: [.soft("a"), .hard("b")])),
            Part(name: "d", placement: Placement(needs: [.soft("a")])))
        #expect(order.steps.first { $0.name == "c" }?.needs == [.soft("a"), .hard("b")])
        #expect(order.steps.first { $0.name == "b" }?.priority == 4)
        #expect(order.dependants(of: ["a"]) == ["b", "c"])
        #expect(order.dependants(of: ["b"]) == ["c"])
        #expect(order.dependants(of: ["d"]).isEmpty)
    }

    @Test
    func `services that cannot be ordered are reported`() throws {
        let cycle = #expect(throws: RegistryError.self) {
            try Self.order(
                Part(name: "a", placement: Placement(needs: [.hard("b")])),
                Part(name: "b", placement: Placement(needs: [.hard("a")])))
        }
        #expect(cycle?.code == .invalidPlan && cycle?.message == "dependency cycle a -> b -> a")
        let missing = #expect(throws: RegistryError.self) {
            try Self.order(Part(name: "a", placement: Placement(needs: [.hard("bee"), .hard("cee")])))
        }
        #expect(missing?.problems.count == 2)
        let twice = #expect(throws: RegistryError.self) { try Self.order(Part(name: "a"), Part(name: "a")) }
        #expect(twice?.code == .duplicateName)
    }
}
