internal import LinkspanRuntime
internal import Testing

@testable internal import LinkspanLifecycle

@Suite("The states of a registry")
struct StateMachineTests {
    private static let root = ServiceID.make()

    private static func group(
        _ name: ServiceName, id: ServiceID = .make(), in parent: ServiceID?, _ importance: Importance
    ) -> Group {
        Group(
            id: id, parent: parent, name: name, placement: Placement(), importance: importance, origin: "code")
    }

    /// A registry with one service.
    private static func machine(
        _ importance: Importance = .optional, in groups: [Group] = []
    ) throws -> (RegistryStateMachine, service: ServiceID) {
        var machine = RegistryStateMachine(root: Self.group("services", id: Self.root, in: nil, .required))
        let service = ServiceID.make()
        let entry = Entry(
            Probe("probe") { $0.importance = importance }, id: service, group: groups.last?.id ?? Self.root,
            settings: ServiceSettings())
        _ = try machine.add([entry], groups: groups)
        return (machine, service)
    }

    @Test
    func `a start that succeeds ends the row of failed ones`() throws {
        var (machine, service) = try Self.machine()
        guard case .begin(let plan) = try machine.beginStart({ _ in }) else {
            Issue.record("not begun")
            return
        }
        for wave in plan.waves { _ = machine.claim(wave) }
        _ = machine.settle(service, .failed("once"))
        _ = machine.finishStart(waves: plan.waves, time: .zero)
        #expect(machine.failuresToRetry(service) == 1)
        guard case .begin = machine.claimRetry(service) else {
            Issue.record("not tried again")
            return
        }
        _ = machine.settle(service, .ready)
        #expect(machine.failuresToRetry(service) == nil)
        let hasWorkFailed = machine.runFailed(service, "later")
        #expect(hasWorkFailed)
        #expect(machine.failuresToRetry(service) == nil, "its work failed, and no start of it")
    }

    @Test
    func `a service that was removed during its start is not started again when that fails`() throws {
        var (machine, service) = try Self.machine()
        guard case .begin(let plan) = try machine.beginStart({ _ in }) else {
            Issue.record("not begun")
            return
        }
        for wave in plan.waves { _ = machine.claim(wave) }
        _ = machine.remove(service)
        _ = machine.settle(service, .failed("once"))
        #expect(machine.failuresToRetry(service) == nil)
    }

    @Test(arguments: [(1, 2), (2, 1)])
    func `of two stops during a start the earlier deadline counts`(_ first: Int, _ second: Int) throws {
        var (machine, _) = try Self.machine()
        _ = try machine.beginStart { _ in }
        let now = ContinuousClock.now
        for seconds in [first, second] {
            guard case .abortStart = machine.beginStop(until: now + .seconds(seconds), { _ in }) else {
                Issue.record("the start goes on")
                return
            }
        }
        #expect(machine.abort?.deadline == now + .seconds(1))
    }

    @Test(arguments: 0..<8)
    func `a service is required when it and all groups around it are`(_ bits: Int) throws {
        let isRequired = (0..<3).map { bits >> $0 & 1 == 1 }
        let importances = isRequired.map { $0 ? Importance.required : .optional }
        let outer = Self.group("outer", in: Self.root, importances[0])
        let inner = Self.group("inner", in: outer.id, importances[1])
        let (machine, service) = try Self.machine(importances[2], in: [outer, inner])
        #expect(machine.isRequired(service) == isRequired.allSatisfy { $0 })
    }

    /// A registry with one service whose start has begun.
    private static func starting() throws -> (RegistryStateMachine, service: ServiceID, plan: ServicePlan) {
        var (machine, service) = try Self.machine()
        guard case .begin(let plan) = try machine.beginStart({ _ in }) else { throw Trouble() }
        for wave in plan.waves { _ = machine.claim(wave) }
        return (machine, service, plan)
    }

    @Test(arguments: [false, true], [false, true])
    func `a service works after its start when that succeeded and nobody removed it`(
        _ succeeds: Bool, _ isRemoved: Bool
    ) throws {
        var (machine, service, _) = try Self.starting()
        if isRemoved { _ = machine.remove(service) }
        let settled = machine.settle(service, succeeds ? .ready : .failed("trouble"))
        #expect(settled?.isReady == (succeeds && !isRemoved))
        #expect(settled?.mustTearDown == isRemoved)
    }

    @Test
    func `a start is in vain once the service is removed, or the registry gives up or stops`() throws {
        let (machine, service, plan) = try Self.starting()
        #expect(!machine.isInVain(service))
        #expect(machine.isInVain(.make()))
        var removed = machine
        _ = removed.remove(service)
        #expect(removed.isInVain(service))
        var aborted = machine
        aborted.abortStart(.startCancelled)
        #expect(aborted.isInVain(service))
        var stopping = machine
        _ = stopping.finishStart(waves: plan.waves, time: .zero)
        _ = stopping.beginStop(until: .now) { _ in }
        #expect(stopping.isInVain(service))
    }

    @Test
    func `a registry lacks a service that is started again, and not one that is started for the first time`() throws {
        var (machine, service, plan) = try Self.starting()
        _ = machine.settle(service, .failed("trouble"))
        _ = machine.finishStart(waves: plan.waves, time: .zero)
        #expect(machine.noteDegraded() == ["services.probe"])
        _ = machine.claimRetry(service)
        #expect(machine.noteDegraded() == nil)
        let late = Entry(Probe("late"), id: .make(), group: Self.root, settings: ServiceSettings())
        #expect(try machine.add([late], groups: []).begin.map { $0.path } == ["services.late"])
        #expect(machine.noteDegraded() == nil)
    }

    @Test(arguments: [false, true])
    func `a service is stopped once, whether or not it has started`(_ succeeds: Bool) throws {
        var (machine, service, plan) = try Self.starting()
        _ = machine.settle(service, succeeds ? .ready : .failed("trouble"))
        _ = machine.finishStart(waves: plan.waves, time: .zero)
        let claims = (0..<2).map { _ in machine.claimTearDown(service, isRemoval: false)?.path }
        #expect(claims == ["services.probe", nil])
    }

    @Test
    func `a service that is still starting when the registry has stopped is kept, and reported as abandoned`() throws {
        var (machine, _, _) = try Self.starting()
        _ = machine.beginStop(until: .now) { _ in }
        _ = machine.beginRollback()
        let (report, _) = machine.finishStop([], time: .zero)
        #expect(
            report.rows == [
                .init(path: "services.probe", fate: .abandoned(during: [.start]), time: .zero, undelivered: 0)
            ])
        let dropped = machine.dropServices()
        #expect(dropped.isEmpty)
    }

    @Test
    func `a group whose services cannot be added is not there`() throws {
        var (machine, _) = try Self.machine()
        let before = machine.nodes.count
        let again = Entry(Probe("probe"), id: .make(), group: Self.root, settings: ServiceSettings())
        #expect(throws: RegistryError.self) {
            try machine.add([again], groups: [Self.group("group", in: Self.root, .required)])
        }
        #expect(machine.nodes.count == before)
    }

    @Test
    func `background work that throws counts only while its service is ready`() throws {
        var (machine, service, _) = try Self.starting()
        let counts = machine.runFailed(service, "early")
        #expect(!counts && machine.members[service]?.state == .starting)
    }

    @Test
    func `nobody waits for a service that is unknown or that works`() throws {
        var (machine, service, _) = try Self.starting()
        let waits = (machine.whenSettled(service) {}, machine.whenSettled(.make()) {})
        #expect(waits == (true, false))
        _ = machine.settle(service, .ready)
        let waitsLater = machine.whenSettled(service) {}
        #expect(!waitsLater)
    }
}
