internal import Testing

@testable internal import LinkspanLifecycle

struct PlanTests {
    private let root = ServiceID.make()

    private func plan(_ services: [(ServiceName, Placement)]) -> Result<[[ServiceName]], RegistryError> {
        var names: [ServiceID: ServiceName] = [:]
        var nodes = [ServiceNode(id: self.root, group: nil, name: "services", placement: .init(), isGroup: true)]
        for (name, placement) in services {
            let id = ServiceID.make()
            names[id] = name
            nodes.append(.init(id: id, group: self.root, name: name, placement: placement, isGroup: false))
        }
        return Result { () throws(RegistryError) in
            try ServicePlan.make(nodes).waves.map { $0.compactMap { names[$0] } }
        }
    }

    private func problems(_ services: [(ServiceName, Placement)]) -> [String] {
        guard case .failure(let error) = self.plan(services) else {
            return []
        }
        return error.problems
    }

    @Test
    func `puts needs before phases, phases before priorities, priorities before names`() throws {
        let waves = try self.plan([
            ("zeta", Placement(priority: 5)),
            ("alpha", Placement()),
            ("beta", Placement()),
            ("watcher", Placement(phase: .observer)),
            ("store", Placement(phase: .storage)),
            ("log", Placement(phase: .core)),
            ("early", Placement(phase: .core, needs: [.hard("store")])),
            ("user", Placement(needs: [.hard("alpha")])),
        ]).get()
        #expect(waves == [["log"], ["store"], ["early"], ["zeta", "alpha", "beta"], ["user"], ["watcher"]])
    }

    @Test
    func `before and soft needs order the services that are registered`() throws {
        let waves = try self.plan([
            ("b", Placement(needs: [.soft("missing"), .soft("a")])), ("a", Placement(needs: [])),
            ("first", Placement(before: ["a", "nobody"])),
        ]).get()
        #expect(waves == [["first"], ["a"], ["b"]])
    }

    @Test
    func `a missing need is reported with a suggestion`() {
        let problems = self.problems([("presence", Placement(needs: [.hard("loging")])), ("logging", Placement())])
        #expect(problems == ["services.presence.needs: 'loging' is not registered (did you mean 'logging'?)"])
    }

    @Test
    func `a path with an empty name names nothing`() {
        for path in ["logging.", ".logging"] as [ServiceName] {
            let problems = self.problems([("presence", Placement(needs: [.hard(path)])), ("logging", Placement())])
            #expect(problems == ["services.presence.needs: '\(path)' is not registered (did you mean 'logging'?)"])
        }
    }

    @Test
    func `a service has the phase of the closest group that has one, unless it has its own`() throws {
        let groups = [ServiceID.make(), ServiceID.make()]
        let nodes = [
            ServiceNode(id: self.root, group: nil, name: "app", placement: .init(), isGroup: true),
            ServiceNode(
                id: groups[0], group: self.root, name: "outer", placement: Placement(phase: .observer), isGroup: true),
            ServiceNode(
                id: groups[1], group: groups[0], name: "inner", placement: Placement(phase: .storage), isGroup: true),
        ]
        func member(_ name: ServiceName, in group: ServiceID, _ phase: Placement.Phase? = nil) -> ServiceNode {
            ServiceNode(id: .make(), group: group, name: name, placement: Placement(phase: phase), isGroup: false)
        }
        let members = [
            member("a", in: self.root), member("b", in: groups[0]), member("c", in: groups[1]),
            member("d", in: groups[1], .core),
        ]
        let plan = try ServicePlan.make(nodes + members)
        #expect(plan.waves == [[members[3].id], [members[2].id], [members[0].id], [members[1].id]])
    }

    @Test
    func `all missing needs are reported at once, without far-fetched suggestions`() {
        let problems = self.problems([("a", Placement(needs: [.hard("x1234"), .hard("y1234")]))])
        #expect(
            problems == [
                "services.a.needs: 'x1234' is not registered", "services.a.needs: 'y1234' is not registered",
            ])
    }

    @Test
    func `a cycle is reported by its members, without services that only depend on it`() {
        let problems = self.problems([
            ("b", Placement(needs: [.hard("a")])), ("a", Placement(needs: [.hard("b")])),
            ("behind", Placement(needs: [.hard("a")])),
        ])
        #expect(problems == ["dependency cycle a -> b -> a"])
        #expect(self.problems([("self", Placement(needs: [.hard("self")]))]) == ["dependency cycle self -> self"])
    }

    @Test
    func `resolves a name to a sibling first, then outwards, then anywhere if it is the only one`() throws {
        let chat = ServiceID.make()
        let other = ServiceID.make()
        func node(_ name: ServiceName, _ group: ServiceID?, _ needs: [Placement.Need] = [], isGroup: Bool = false)
            -> ServiceNode
        {
            .init(id: .make(), group: group, name: name, placement: Placement(needs: needs), isGroup: isGroup)
        }
        var nodes = [
            ServiceNode(id: self.root, group: nil, name: "app", placement: .init(), isGroup: true),
            ServiceNode(id: chat, group: self.root, name: "chat", placement: .init(), isGroup: true),
            ServiceNode(id: other, group: self.root, name: "other", placement: .init(), isGroup: true),
        ]
        let ownStore = node("store", chat)
        let rootStore = node("store", self.root)
        let far = node("far", other)
        let user = node("user", chat, [.hard("store"), .hard("far")])
        let group = node("group", self.root, [.hard("chat")])
        nodes += [ownStore, rootStore, far, user, group]
        let plan = try ServicePlan.make(nodes)
        #expect(plan.needs[user.id]?.map { $0.to } == [ownStore.id, far.id])
        #expect(Set(plan.needs[group.id]?.map { $0.to } ?? []) == [ownStore.id, user.id])
        nodes.append(node("lost", self.root, [.hard("thing")]))
        nodes += [node("thing", chat), node("thing", other)]
        let error = #expect(throws: RegistryError.self) { try ServicePlan.make(nodes) }
        #expect(error?.problems == ["app.lost.needs: 'thing' is ambiguous (app.chat.thing, app.other.thing)"])
    }
}

@Suite("Defaults of a registry")
struct RegistryDefaultTests {
    @Test
    func `phases are a hundred apart, so that others fit between`() {
        let phases: [Placement.Phase] = [.core, .storage, .authentication, .transport, .feature, .observer]
        #expect(phases.map(\.rawValue) == [0, 100, 200, 300, 400, 500])
    }

    @Test
    func `are the documented ones`() {
        let (options, budgets) = (RegistryOptions(), Budgets())
        #expect(
            [options.startBudget, options.shutdownBudget, options.grace] == [.seconds(30), .seconds(8), .seconds(1)])
        #expect(options.retryDelay == .seconds(1) && options.retryCap == .seconds(60) && !options.isSequential)
        #expect(options.threads == 4 && options.threadLimit == 64)
        #expect([budgets.start, budgets.handle] == [.seconds(10), .seconds(1)])
        #expect([budgets.quiesce, budgets.stop] == [.seconds(2), .seconds(3)] && budgets.mailbox == 1024)
    }
}
