internal import LinkspanRuntime
internal import TestSupport
internal import Testing

@testable internal import LinkspanLifecycle

private protocol Outbox: LifecycleService {
    var size: Int { get }
}

private struct DiskOutbox: Outbox {
    var name: ServiceName = "outbox"
    let size = 7
}

private final class View: Sendable {
    let journal: Journal

    init(_ journal: Journal) { self.journal = journal }
}

/// An answer that allows something or vetoes it.
private enum Verdict: Sendable, Hashable {
    case allow
    case veto([String])

    static func veto(_ reason: String) -> Verdict { .veto([reason]) }

    /// Allowed unless one of both vetoes; all reasons are kept, in order.
    static func merge(_ left: Verdict, _ right: Verdict) -> Verdict {
        switch (left, right) {
        case (.allow, let other), (let other, .allow): other
        case (.veto(let first), .veto(let second)): .veto(first + second)
        }
    }
}

/// A question that the services of a test answer.
private protocol Deciding: LifecycleService {
    var isClosedOnFault: Bool { get }

    func decide() async throws -> Verdict
}

private struct Decider: Deciding {
    var name: ServiceName
    var isClosedOnFault = false
    var answer: @Sendable () async throws -> Verdict

    func decide() async throws -> Verdict { try await self.answer() }
}

extension ServiceRegistry {
    fileprivate func mayGoOn() async -> Verdict {
        await self.ask(
            (any Deciding).self, onFault: { $0.isClosedOnFault ? .veto($1) : .allow },
            { responder, _ in try await responder.decide() }
        ).reduce(.allow, Verdict.merge)
    }
}

@Suite(.timeLimit(.minutes(1)))
struct RegistrationTests {
    @Test
    func `a name is taken once among siblings, and the error names both origins`() throws {
        let registry = ServiceRegistry(name: "app")
        var settings = ServiceSettings()
        settings.origin = "msg.json"
        try registry.register(Probe("a"), settings: settings).keep()
        let error = #expect(throws: RegistryError.self) { try registry.register(Probe("a")).keep() }
        #expect(error?.code == .duplicateName)
        #expect(error?.message == "app.a is registered twice: by msg.json and by code")
        let nested = ServiceRegistry(name: "nested")
        try nested.register(Probe("a")).keep()
        try registry.register(nested).keep()
        #expect(registry.state(of: "app.nested.a") == .registered)
    }

    @Test
    func `settings of a registration take the place of the service's own`() throws {
        let registry = ServiceRegistry(name: "app")
        let settings = ServiceSettings(
            name: "b", placement: Placement(phase: .storage, priority: 7), budgets: Budgets(mailbox: 9))
        try registry.register(Probe("a"), settings: settings).keep()
        let service = try #require(registry.inspected.first)
        #expect(service.path == "app.b" && service.phase == 100 && service.priority == 7)
        #expect(service.mailbox.capacity == 9)
    }

    @Test
    func `a registration looks at no other service, and one that fails leaves everything as it was`() throws {
        try expectLinear(stepsEach: 2) { size in
            let registry = ServiceRegistry(name: "app")
            for number in 0...size { try registry.register(Probe("\(number)")).keep() }
        }
        let (registry, nested) = (ServiceRegistry(name: "app"), ServiceRegistry(name: "nested"))
        try registry.register(Probe("a")).keep()
        for name in ["b", "c"] as [ServiceName] { try nested.register(Probe(name)).keep() }
        try nested.register(ServiceRegistry(name: "inner")).keep()
        var settings = ServiceSettings()
        settings.name = "a"
        #expect(throws: RegistryError.self) { try registry.register(nested, settings: settings).keep() }
        #expect(nested.state(of: "nested.b") == .registered, "it has its services back")
        for name in ["c", "inner"] as [ServiceName] {
            #expect(throws: RegistryError.self, "and their names") { try nested.register(Probe(name)).keep() }
        }
        try registry.register(nested).keep()
        #expect(registry.state(of: "app.nested.c") == .registered)
    }

    @Test
    func `a name is free again when its service has been removed`() async throws {
        let registry = ServiceRegistry(name: "app")
        _ = try registry.register(Probe("a"))
        var again: Registration? = try registry.register(Probe("a"))
        try await registry.start()
        #expect(again != nil)
        again = nil
        let third = try registry.register(Probe("a"))
        #expect(await third.settled() == .ready)
        #expect(throws: RegistryError.self) { try registry.register(Probe("a")).keep() }
        await registry.stop()
    }

    @Test
    func `settings of the registration override the service's own`() async throws {
        let journal = Journal()
        let registry = ServiceRegistry(options: .init { $0.isSequential = true })
        try registry.register(
            Probe("a", in: journal), settings: ServiceSettings(name: "z", placement: Placement(needs: [.hard("b")]))
        ).keep()
        try registry.register(Probe("b", in: journal)).keep()
        #expect(try await registry.start().waves == [["services.b"], ["services.z"]])
        await registry.stop()
    }

    @Test
    func `releasing the registration removes the service and stops it`() async throws {
        let stopped = Door()
        let registry = ServiceRegistry()
        var registration: Registration? = try registry.register(Probe("a") { $0.onStop = { _ in stopped.open() } })
        try await registry.start()
        #expect(await registration?.settled() == .ready)
        registration = nil
        await stopped.pass()
        try await eventually { registry.state(of: "services.a") == nil }
        #expect(await registry.stop().rows.isEmpty)
    }

    @Test
    func `a removed service gets no more events, waiting ones included, and its handler may finish`() async throws {
        let registry = ServiceRegistry()
        let (entered, door) = (Door(), Door())
        let journal = Journal()
        let listener = Listener("listener", journal: journal) { event, _ in
            if event.event.event == "first" {
                entered.open()
                await door.pass()
                journal.add("finished")
            }
        }
        let registration = try registry.register(listener)
        try await registry.start()
        registry.emit(message("first"))
        registry.emit(message("second"))
        await entered.pass()
        registration.cancel()
        registry.emit(message("third"))
        async let drained: Void = registration.cancelAndDrain()
        #expect(!journal.all.contains("finished"))
        door.open()
        await drained
        #expect(journal.all(with: "message ") == ["first"])
        #expect(journal.all.contains("finished"))
        #expect(registry.state(of: "services.listener") == nil)
        await registry.stop()
    }

    @Test
    func `a service may remove itself from inside its handler`() async throws {
        let registry = ServiceRegistry()
        let own = Lock<Registration?>(nil)
        let listener = Listener("listener") { _, _ in own.withLock { $0 }?.cancel() }
        let registration = try registry.register(listener)
        own.withLock { $0 = registration }
        try await registry.start()
        registry.emit(message("first"))
        registry.emit(message("second"))
        try await eventually { registry.state(of: "services.listener") == nil }
        #expect(listener.journal.all(with: "message ") == ["first"])
        await registry.stop()
    }

    @Test
    func `a service registered from inside a handler is started and gets later events`() async throws {
        let registry = ServiceRegistry()
        let late = Listener("late")
        let first = Listener("first") { event, _ in
            if event.event.event == "go" {
                try registry.register(late).keep()
            }
        }
        try registry.register(first).keep()
        try await registry.start()
        registry.emit(message("go"))
        try await eventually { registry.state(of: "services.late") == .ready }
        await registry.barrier(message("end"))
        #expect(late.journal.all(with: "message ") == ["end"])
        await registry.stop()
    }

    @Test
    func `late services wait for late needs, and are skipped with them`() async throws {
        let registry = ServiceRegistry()
        let (door, journal) = (Door(), Journal())
        try await registry.start()
        let error = #expect(throws: RegistryError.self) {
            try registry.register(Probe("user") { $0.placement.needs = [.hard("base")] }).keep()
        }
        #expect(error?.problems == ["services.user.needs: 'base' is not registered"])
        try registry.register(
            Probe("base", in: journal) {
                $0.onStart = { _ in
                    await door.pass()
                    journal.add("start base")
                }
            }
        ).keep()
        let user = try registry.register(Probe("user", in: journal) { $0.placement.needs = [.hard("base")] })
        let broken = try registry.register(Probe("broken") { $0.onStart = { _ in throw Trouble() } })
        #expect(await broken.settled() == .failed("trouble"))
        let lost = try registry.register(Probe("lost", in: journal) { $0.placement.needs = [.hard("broken")] })
        #expect(await lost.settled() == .skipped(because: "services.broken"))
        door.open()
        #expect(await user.settled() == .ready)
        #expect(journal.all == ["start base", "start user"])
        let report = await registry.stop()
        #expect(report.rows.map { $0.path }.prefix(2) == ["services.user", "services.lost"] || report.rows.count == 4)
        #expect(journal.all(with: "stop ") == ["user", "base"])
    }

    @Test
    func `dependants of a removed service go on, and others can still be registered`() async throws {
        let registry = ServiceRegistry()
        let base = try registry.register(Probe("base"))
        try registry.register(Probe("user") { $0.placement.needs = [.hard("base")] }).keep()
        try await registry.start()
        await base.cancelAndDrain()
        #expect(registry.state(of: "services.user") == .ready)
        let other = try registry.register(Probe("other"))
        #expect(await other.settled() == .ready)
        #expect(await registry.stop().isClean)
    }

    @Test
    func `a removal while the service starts cancels the start and stops it`() async throws {
        let registry = ServiceRegistry()
        let (entered, stopped) = (Door(), Door())
        try await registry.start()
        let registration = try registry.register(
            Probe("a") {
                $0.onStart = { _ in
                    entered.open()
                    try await Task.sleep(for: .seconds(3600))
                }
                $0.onStop = { _ in stopped.open() }
            })
        await entered.pass()
        await registration.cancelAndDrain()
        await stopped.pass()
        try await eventually { registry.state(of: "services.a") == nil }
        await registry.stop()
    }

    @Test
    func `a nested registry emits into, registers in and stops the whole tree`() async throws {
        let root = ServiceRegistry(name: "app")
        let chat = ServiceRegistry(name: "chat")
        let deep = ServiceRegistry(name: "deep")
        let listener = Listener("listener")
        try deep.register(listener).keep()
        try chat.register(deep).keep()
        let observer = Listener("observer")
        let observation = chat.observe(weak: observer, MessageEvent.self) { $0.journal.add("seen \($1.event.event)") }
        let registration = try root.register(chat)
        let report = try await deep.start()
        #expect(report.waves == [["app.chat.deep.listener"]])
        deep.emit(message("from below"))
        root.emit(message("from above"))
        await chat.barrier(message("end"))
        try await eventually { observer.journal.all.count == 3 }
        #expect(listener.journal.all(with: "message ") == ["from below", "from above", "end"])
        #expect(observer.journal.all(with: "seen ") == ["from below", "from above", "end"])
        try deep.register(Probe("more")).keep()
        try await eventually { root.state(of: "app.chat.deep.more") == .ready }
        let error = #expect(throws: RegistryError.self) { try root.register(deep).keep() }
        #expect(error?.code == .notNestable)
        registration.cancel()
        try await eventually { root.state(of: "app.chat.deep.listener") == nil }
        root.emit(message("after"))
        #expect(listener.journal.all(with: "message ").last == "end")
        // On its own again, and empty.
        #expect(try await chat.start().waves.isEmpty)
        withExtendedLifetime((observation, observer)) {}
    }

    @Test
    func `a nested registry that is registered again stays when its former registration goes`() throws {
        let root = ServiceRegistry()
        let chat = ServiceRegistry(name: "chat")
        try chat.register(Probe("a")).keep()
        var former: Registration? = try root.register(chat)
        former?.cancel()
        #expect(root.services(of: Probe.self).isEmpty)
        try chat.register(Probe("b")).keep()
        let latter = try root.register(chat)
        former?.cancel()
        former = nil
        #expect(root.services(of: Probe.self).map(\.name) == ["b"])
        latter.cancel()
        #expect(root.services(of: Probe.self).isEmpty)
    }

    @Test
    func `lookup searches the tree by type and by protocol, and throws if the result is ambiguous`() throws {
        let root = ServiceRegistry()
        let chat = ServiceRegistry(name: "chat")
        try chat.register(DiskOutbox()).keep()
        try root.register(chat).keep()
        #expect(try root.service(of: DiskOutbox.self).size == 7)
        #expect(try root.service(of: (any Outbox).self).name == "outbox")
        #expect(try root.service(of: ServiceRegistry.self) === chat)
        #expect(#expect(throws: RegistryError.self) { try root.service(of: Listener.self) }?.code == .notFound)
        try root.register(DiskOutbox()).keep()
        let error = #expect(throws: RegistryError.self) { try root.service(of: (any Outbox).self) }
        #expect(error?.code == .ambiguous)
        #expect(error?.paths == ["services.chat.outbox", "services.outbox"])
        #expect(try chat.service(of: DiskOutbox.self).size == 7)
        #expect(root.services(of: (any Outbox).self).count == 2)
    }

    @Test
    func `a service finds the services that it declared to need, and no others`() async throws {
        let registry = ServiceRegistry()
        let journal = Journal()
        try registry.register(DiskOutbox()).keep()
        try registry.register(
            Probe("honest") {
                $0.placement.needs = [.hard("outbox")]
                $0.onStart = { journal.add("size \(try $0.require((any Outbox).self).size)") }
            }
        ).keep()
        try registry.register(Probe("sly") { $0.onStart = { _ = try $0.require(DiskOutbox.self) } }).keep()
        let report = try await registry.start()
        #expect(journal.all == ["size 7"])
        #expect(
            report.degraded["services.sly"]
                == .failed("notDeclared: services.sly asks for services.outbox without declaring the need"))
        await registry.stop()
    }

    @Test
    func `a weak observer ends with its object, also in the middle of delivery`() async throws {
        let registry = ServiceRegistry()
        let journal = Journal()
        let (entered, door) = (Door(), Door())
        var view: View? = View(journal)
        let registration = registry.observe(weak: try #require(view), MessageEvent.self) { view, event in
            view.journal.add(event.event.event)
            if event.event.event == "first" {
                entered.open()
                await door.pass()
            }
        }
        registry.emit(message("first"))
        registry.emit(message("second"))
        await entered.pass()
        view = nil
        door.open()
        // The handler itself held the object for as long as it took.
        try await eventually { registry.emit(message("probe")) == nil }
        #expect(journal.all == ["first"])
        withExtendedLifetime(registration) {}
    }

    @Test
    func `an observer gets the current state first, and nothing after its registration is cancelled`() async throws {
        let registry = ServiceRegistry()
        registry.emit(connection(4, .created))
        let view = View(Journal())
        let registration = registry.observe(weak: view, ConnectionEvent.self) { view, event in
            view.journal.add("\(event.event.connection) \(event.replayed)")
        }
        registry.emit(connection(5, .created))
        try await eventually { view.journal.all.count == 2 }
        await registration.cancelAndDrain()
        registry.emit(connection(6, .created))
        let other = View(Journal())
        let second = registry.observe(weak: other, ConnectionEvent.self) { view, event in
            view.journal.add("\(event.event.connection) \(event.replayed)")
        }
        try await eventually { other.journal.all.count == 3 }
        #expect(view.journal.all == ["4 true", "5 false"])
        #expect(other.journal.all == ["4 true", "5 true", "6 true"])
        withExtendedLifetime(second) {}
    }

    @Test
    func `one veto decides, all reasons are kept, and a missing answer counts as onFault says`() async throws {
        let clock = ManualScheduler()
        let registry = ServiceRegistry(options: .init { $0.scheduler = clock })
        try registry.register(Decider(name: "yes") { .allow }).keep()
        try registry.register(Decider(name: "broken") { throw Trouble() }).keep()
        try await registry.start()
        #expect(await registry.mayGoOn() == .allow)
        let battery = try registry.register(Decider(name: "battery") { .veto("battery low") })
        let roaming = try registry.register(Decider(name: "roaming") { .veto("roaming") })
        _ = await (battery.settled(), roaming.settled())
        #expect(await registry.mayGoOn() == .veto(["battery low", "roaming"]))
        await battery.cancelAndDrain()
        await roaming.cancelAndDrain()
        let (entered, door) = (Door(), Door())
        let silent = try registry.register(
            Decider(name: "silent", isClosedOnFault: true) {
                entered.open()
                await door.pass()
                return .allow
            })
        _ = await silent.settled()
        async let verdict = registry.mayGoOn()
        await entered.pass()
        clock.advance(by: .seconds(1))
        #expect(await verdict == .veto(["services.silent: no answer in time"]))
        door.open()
        let names = await registry.ask(
            (any Deciding).self, onFault: { _, _ in nil },
            { responder, _ in responder.name == "silent" ? responder.name : nil })
        #expect(names == [nil, "silent", nil])
        await registry.stop()
    }

    @Test
    func `every ready service reports its health, and one without an answer is unhealthy`() async throws {
        struct Sick: LifecycleService {
            let name: ServiceName = "sick"
            func health() async -> Health { .degraded("slow disk") }
        }
        let registry = ServiceRegistry()
        try registry.register(Sick()).keep()
        try registry.register(Probe("well")).keep()
        // One that did not start is not asked.
        try registry.register(Probe("broken") { $0.onStart = { _ in throw Trouble() } }).keep()
        try await registry.start()
        #expect(await registry.healths() == ["services.sick": .degraded("slow disk"), "services.well": .healthy])
        await registry.stop()
    }
}
