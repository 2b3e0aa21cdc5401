/// The states of a registry and its services: decides what is started and stopped, and calls no service itself.
struct RegistryStateMachine: Sendable {
    typealias StartWaiter = @Sendable (Result<StartReport, RegistryError>) -> Void
    typealias StopWaiter = @Sendable (ShutdownReport) -> Void

    struct Member: Sendable {
        var entry: Entry
        var path: String
        var state: ServiceState = .registered
        /// Removed while it was being started; it is stopped once that is over.
        var isRemoved = false
        /// The starts in a row that threw.
        var failedStarts = 0
    }

    struct Waiters: Sendable {
        var start: [StartWaiter] = []
        var stop: [StopWaiter] = []
    }

    /// The reason for giving a start up, and the deadline for stopping the rest of it, if there is one.
    struct Abort: Sendable {
        var code: RegistryError.Code
        var deadline: ContinuousClock.Instant?
    }

    private enum State: Sendable {
        case idle
        /// `abort` tells why the start is to be given up.
        case starting(Waiters, abort: Abort?)
        case running(StartReport)
        case stopping(Waiters)
        case stopped(ShutdownReport)
    }

    private var state: State = .idle
    var groups: GroupTree
    private var names = TakenNames()
    private(set) var members: [ServiceID: Member] = [:]
    private(set) var plan: ServicePlan = .empty
    /// The lacking services that were last reported.
    private var notedDegraded: [String] = []
    private var settleWaiters: [ServiceID: [@Sendable () -> Void]] = [:]

    init(root: Group) {
        self.groups = GroupTree(root: root)
    }
}

// MARK: - Registering

extension RegistryStateMachine {
    /// Adds services and groups, all or none; in a running registry they may have to be started now.
    mutating func add(_ entries: [Entry], groups: [Group]) throws(RegistryError) -> OnClaim {
        let isPlanned: Bool
        switch self.state {
        case .idle: isPlanned = false
        case .starting, .running: isPlanned = true
        case .stopping, .stopped:
            throw RegistryError(code: .alreadyStopped, message: "\(self.groups.rootPath) has been stopped")
        }
        let known = isPlanned ? Set(self.members.keys).union(self.groups.ids) : []
        // What was added so far, for the case that the rest cannot be.
        var added: (groups: [Group], entries: [Entry]) = ([], [])
        do throws(RegistryError) {
            for group in groups {
                try self.take(group.name, in: group.parent, by: group.origin)
                self.groups.add(group)
                added.groups.append(group)
            }
            for entry in entries {
                try self.take(entry.name, in: entry.group, by: entry.origin)
                self.put(entry)
                added.entries.append(entry)
            }
            if isPlanned { self.plan = try ServicePlan.make(self.nodes, tolerating: known) }
        } catch {
            for entry in added.entries { _ = self.forget(entry.id) }
            for group in added.groups { _ = self.remove(group: group.id) }
            throw error
        }
        return self.claimLate()
    }

    private mutating func take(
        _ name: ServiceName, in group: ServiceID?, by origin: String
    ) throws(RegistryError) {
        guard let other = self.names.take(name, in: group, by: origin), let group else { return }
        let path = "\(self.groups.path(of: group)).\(name)"
        throw RegistryError(
            code: .duplicateName, message: "\(path) is registered twice: by \(other) and by \(origin)", paths: [path])
    }

    private mutating func put(_ entry: Entry) {
        self.members[entry.id] = Member(entry: entry, path: "\(self.groups.path(of: entry.group)).\(entry.name)")
    }

    /// The groups and services as they are planned.
    var nodes: [ServiceNode] {
        self.groups.nodes
            + self.members.values.map { member in
                ServiceNode(
                    id: member.entry.id, group: member.entry.group, name: member.entry.name,
                    placement: member.entry.placement, isGroup: false)
            }
    }

    /// Whether a service and every group around it are required.
    func isRequired(_ id: ServiceID) -> Bool {
        guard let entry = self.members[id]?.entry, entry.importance == .required else { return false }
        return self.groups.isRequired(entry.group)
    }

    /// Gives everything away to the registry in which this one is nested.
    mutating func surrender() throws(RegistryError) -> (groups: [Group], entries: [Entry]) {
        guard case .idle = self.state else {
            throw RegistryError(
                code: .notNestable, message: "\(self.groups.rootPath) has been started and cannot be nested")
        }
        defer { (self.members, self.names) = ([:], TakenNames()) }
        return (groups: self.groups.removeNested(), entries: self.members.values.map { $0.entry })
    }

    /// Takes back what was given away.
    mutating func restore(_ content: (groups: [Group], entries: [Entry])) {
        for group in content.groups {
            _ = self.names.take(group.name, in: group.parent, by: group.origin)
            self.groups.add(group)
        }
        for entry in content.entries {
            _ = self.names.take(entry.name, in: entry.group, by: entry.origin)
            self.put(entry)
        }
    }
}

// MARK: - Starting

extension RegistryStateMachine {
    enum OnStart: Sendable {
        /// The caller drives the start.
        case begin(ServicePlan)
        /// Somebody else does; the waiter is called.
        case join
        case done(StartReport)
    }

    mutating func beginStart(_ waiter: @escaping StartWaiter) throws(RegistryError) -> OnStart {
        switch self.state {
        case .idle:
            self.plan = try ServicePlan.make(self.nodes)
            self.state = .starting(Waiters(), abort: nil)
            return .begin(self.plan)
        case .starting(var waiters, let abort):
            waiters.start.append(waiter)
            self.state = .starting(waiters, abort: abort)
            return .join
        case .running(let report): return .done(report)
        case .stopping, .stopped:
            throw RegistryError(
                code: .alreadyStopped, message: "\(self.groups.rootPath) has been stopped and does not start again")
        }
    }

    /// Whether the start is to be given up.
    var abort: Abort? {
        guard case .starting(_, let abort) = self.state else { return nil }
        return abort
    }

    /// Gives the start up, for the first reason that comes.
    mutating func abortStart(_ code: RegistryError.Code) {
        if case .starting(let waiters, nil) = self.state {
            self.state = .starting(waiters, abort: Abort(code: code))
        }
    }

    struct OnClaim: Sendable {
        var begin: [Member] = []
        var skipped: [Member] = []
    }

    /// Picks out of a wave what can start; the rest is skipped.
    mutating func claim(_ wave: [ServiceID]) -> OnClaim {
        var result = OnClaim()
        guard self.abort == nil else { return result }
        for id in wave {
            guard var member = self.members[id], member.state == .registered else { continue }
            if let culprit = self.failedNeed(of: id) {
                member.state = .skipped(because: culprit)
                result.skipped.append(member)
                if self.isRequired(id) {
                    self.abortStart(.startFailed)
                }
            } else {
                member.state = .starting
                result.begin.append(member)
            }
            self.members[id] = member
        }
        return result
    }

    private func failedNeed(of id: ServiceID) -> String? {
        for edge in self.plan.needs[id] ?? [] where edge.isHard {
            guard let need = self.members[edge.to], need.state != .ready else { continue }
            return need.path
        }
        return nil
    }

    /// Picks the services that came while the registry was starting or running and whose needs have settled.
    mutating func claimLate() -> OnClaim {
        var result = OnClaim()
        guard case .running = self.state else { return result }
        for wave in self.plan.waves {
            let free = wave.filter { id in
                (self.plan.needs[id] ?? []).allSatisfy { edge in
                    switch self.members[edge.to]?.state {
                    case .registered, .starting: false
                    case nil, .ready, .quiescing, .stopping, .stopped, .failed, .skipped, .abandoned: true
                    }
                }
            }
            let claim = self.claim(free)
            result.begin += claim.begin
            result.skipped += claim.skipped
        }
        return result
    }

    struct OnSettle: Sendable {
        var isReady = false
        /// Removed meanwhile: it must be stopped now.
        var mustTearDown = false
        var late = OnClaim()
        var waiters: [@Sendable () -> Void] = []
    }

    /// A start has ended, well or not.
    mutating func settle(_ id: ServiceID, _ state: ServiceState) -> OnSettle? {
        guard var member = self.members[id], member.state == .starting else { return nil }
        member.state = state
        if case .failed = state { member.failedStarts += 1 } else { member.failedStarts = 0 }
        self.members[id] = member
        if state == .ready { self.revive() }
        if state != .ready, !member.isRemoved, self.isRequired(id) { self.abortStart(.startFailed) }
        var result = OnSettle(
            isReady: state == .ready && !member.isRemoved, mustTearDown: member.isRemoved, late: self.claimLate())
        // One that is being removed settles when it is gone.
        if !member.isRemoved { result.waiters = self.settleWaiters.removeValue(forKey: id) ?? [] }
        return result
    }

    /// Revives services that were skipped for want of one that is ready now.
    private mutating func revive() {
        guard case .running = self.state else { return }
        let revived = self.members.filter { id, member in
            guard case .skipped = member.state else { return false }
            return self.failedNeed(of: id) == nil
        }
        for id in revived.keys { self.members[id]?.state = .registered }
    }

    /// The starts in a row that threw, of a service that may be started again.
    func failuresToRetry(_ id: ServiceID) -> Int? {
        guard let member = self.members[id], member.failedStarts > 0, !member.isRemoved, !self.isRequired(id),
            self.abort == nil
        else { return nil }
        switch self.state {
        case .starting, .running: return member.failedStarts
        case .idle, .stopping, .stopped: return nil
        }
    }

    enum OnRetry: Sendable {
        case begin(Member)
        case later
        case never
    }

    /// Takes a service that failed to start, to start it again; as it was before.
    mutating func claimRetry(_ id: ServiceID) -> OnRetry {
        guard let member = self.members[id], case .failed = member.state, self.failuresToRetry(id) != nil else {
            return .never
        }
        guard case .running = self.state else { return .later }
        self.members[id]?.state = .starting
        return .begin(member)
    }

    struct OnStarted: Sendable {
        var report: StartReport
        var waiters: [StartWaiter]
        var late: OnClaim
    }

    /// All waves have been gone through; `nil` if the start is to be rolled back instead.
    mutating func finishStart(waves: [[ServiceID]], time: Duration) -> OnStarted? {
        guard case .starting(let waiters, nil) = self.state else { return nil }
        let report = StartReport(
            waves: waves.map { $0.compactMap { self.members[$0]?.path } }, degraded: self.degraded, time: time)
        self.state = .running(report)
        return OnStarted(report: report, waiters: waiters.start, late: self.claimLate())
    }

    /// Whether the start of a service that was claimed is in vain.
    func isInVain(_ id: ServiceID) -> Bool {
        switch self.state {
        case .stopping, .stopped: return true
        case .idle, .starting, .running: return self.abort != nil || self.members[id]?.isRemoved ?? true
        }
    }

    /// The services that the registry works without.
    var degraded: [String: ServiceState] {
        let lacking = self.members.values.filter { member in
            switch member.state {
            case .failed, .skipped, .abandoned: !member.isRemoved
            case .registered, .starting, .ready, .quiescing, .stopping, .stopped: false
            }
        }
        return Dictionary(lacking.map { ($0.path, $0.state) }) { first, _ in first }
    }

    /// Notes which services are lacking while the registry runs.
    ///
    /// - Returns: their paths when others were lacking before.
    mutating func noteDegraded() -> [String]? {
        guard case .running = self.state else { return nil }
        // One that is tried again works no more than before.
        let retried = self.members.values.filter { $0.state == .starting && $0.failedStarts > 0 && !$0.isRemoved }
        let paths = (self.degraded.keys + retried.map(\.path)).sorted()
        guard paths != self.notedDegraded else { return nil }
        self.notedDegraded = paths
        return paths
    }

    /// The required services for which a start was given up, by path.
    var culprits: [(path: String, state: ServiceState)] {
        self.degraded.filter { path, _ in
            self.members.values.contains { $0.path == path && self.isRequired($0.entry.id) }
        }.map { ($0.key, $0.value) }.sorted { $0.0 < $1.0 }
    }

    /// Background work has thrown.
    mutating func runFailed(_ id: ServiceID, _ text: String) -> Bool {
        guard self.members[id]?.state == .ready else { return false }
        self.members[id]?.state = .failed(text)
        return true
    }

    /// Calls `waiter` once the service is no longer being started or stopped; `false` if it is not now.
    mutating func whenSettled(_ id: ServiceID, _ waiter: @escaping @Sendable () -> Void) -> Bool {
        guard let member = self.members[id] else { return false }
        if case .stopped = self.state {
            return false
        }
        switch member.state {
        case .registered, .starting, .quiescing, .stopping: ()
        case .ready, .stopped, .failed, .skipped, .abandoned:
            // Removed, and about to be stopped.
            guard member.isRemoved else { return false }
        }
        self.settleWaiters[id, default: []].append(waiter)
        return true
    }
}

// MARK: - Removing

extension RegistryStateMachine {
    /// The values that are released outside the lock, since a service may do anything when it goes away.
    struct Forgotten: Sendable {
        var member: Member?
        var waiters: [@Sendable () -> Void]
    }

    enum OnRemove: Sendable {
        /// There was nothing to stop.
        case forgotten(Forgotten)
        /// Its start is to be cancelled; it is stopped after that.
        case cancelStart
        /// It must be stopped now.
        case tearDown
        /// Somebody else stops it.
        case nothing
    }

    mutating func remove(_ id: ServiceID) -> OnRemove {
        guard let member = self.members[id], !member.isRemoved else { return .nothing }
        switch member.state {
        case .registered, .skipped, .stopped, .abandoned:
            return .forgotten(self.forget(id))
        case .starting:
            self.markRemoved(id)
            return .cancelStart
        case .ready, .failed:
            guard case .stopping = self.state else {
                self.markRemoved(id)
                return .tearDown
            }
            return .nothing
        case .quiescing, .stopping: return .nothing
        }
    }

    /// The services in a group at any depth, and the groups in it, itself included.
    func contents(of group: ServiceID) -> (groups: [ServiceID], members: [ServiceID]) {
        let groups = self.groups.inside(group)
        let inside = Set(groups)
        return (groups, self.members.values.filter { inside.contains($0.entry.group) }.map { $0.entry.id })
    }

    /// Leaves the name of a service that is to be stopped to others.
    private mutating func markRemoved(_ id: ServiceID) {
        guard let member = self.members[id], !member.isRemoved else { return }
        self.members[id]?.isRemoved = true
        self.names.release(member.entry.name, in: member.entry.group)
    }

    /// A removed service has been stopped.
    mutating func forget(_ id: ServiceID) -> Forgotten {
        self.markRemoved(id)
        return Forgotten(
            member: self.members.removeValue(forKey: id), waiters: self.settleWaiters.removeValue(forKey: id) ?? [])
    }

    /// Removes a group without services.
    ///
    /// - Returns: puts its registry on its own again.
    mutating func remove(group id: ServiceID) -> (@Sendable () -> Void)? {
        if let group = self.groups[id] { self.names.release(group.name, in: group.parent) }
        return self.groups.remove(id)
    }
}

// MARK: - Stopping

extension RegistryStateMachine {
    enum OnStop: Sendable {
        /// The caller drives the stop.
        case begin(ServicePlan)
        /// The start is given up, and its driver stops the services that had started; the waiter is called.
        case abortStart
        /// Somebody else drives the stop; the waiter is called.
        case join
        case done(ShutdownReport)
    }

    mutating func beginStop(until deadline: ContinuousClock.Instant, _ waiter: @escaping StopWaiter) -> OnStop {
        switch self.state {
        case .starting(var waiters, let abort):
            waiters.stop.append(waiter)
            var abort = abort ?? Abort(code: .startCancelled)
            abort.deadline = min(abort.deadline ?? deadline, deadline)
            self.state = .starting(waiters, abort: abort)
            return .abortStart
        case .idle, .running:
            self.state = .stopping(Waiters())
            return .begin(self.plan)
        case .stopping(var waiters):
            waiters.stop.append(waiter)
            self.state = .stopping(waiters)
            return .join
        case .stopped(let report): return .done(report)
        }
    }

    /// Turns a start that is given up into a stop; the reason is returned.
    mutating func beginRollback() -> (plan: ServicePlan, abort: Abort) {
        guard case .starting(let waiters, let abort) = self.state else { return (.empty, Abort(code: .startCancelled)) }
        self.state = .stopping(waiters)
        return (self.plan, abort ?? Abort(code: .startCancelled))
    }

    /// The services that are being started or removed by others and must be over before the rest is stopped.
    var unsettled: [ServiceID] {
        self.members.values.filter { member in
            switch member.state {
            case .starting, .quiescing, .stopping: true
            case .ready, .failed: member.isRemoved
            case .registered, .stopped, .skipped, .abandoned: false
            }
        }.map { $0.entry.id }
    }

    /// Picks a service to be stopped, once; `nil` if there is nothing to stop or somebody else does.
    mutating func claimTearDown(_ id: ServiceID, isRemoval: Bool) -> Member? {
        guard let member = self.members[id], member.isRemoved == isRemoval else { return nil }
        switch member.state {
        case .ready:
            self.members[id]?.state = .quiescing
        case .failed:
            self.members[id]?.state = .stopping
        case .registered, .starting, .quiescing, .stopping, .stopped, .skipped, .abandoned: return nil
        }
        return member
    }

    mutating func set(_ id: ServiceID, _ state: ServiceState) {
        self.members[id]?.state = state
    }

    /// The stop is over.
    mutating func finishStop(_ done: [ShutdownReport.Row], time: Duration) -> (ShutdownReport, Waiters) {
        let report = ShutdownReport(rows: self.rows(done), time: time)
        var waiters = Waiters()
        if case .stopping(let own) = self.state {
            waiters = own
        }
        self.state = .stopped(report)
        for waiter in self.settleWaiters.values.joined() {
            waiters.stop.append { _ in waiter() }
        }
        self.settleWaiters = [:]
        return (report, waiters)
    }

    /// Drops the services that are neither starting nor stopping: one that holds its registry would keep it.
    mutating func dropServices() -> [ServiceID: any LifecycleService] {
        let done = self.members.filter { _, member in
            switch member.state {
            case .registered, .stopped, .skipped, .abandoned: true
            case .starting, .ready, .quiescing, .stopping, .failed: false
            }
        }
        return done.keys.reduce(into: [:]) { $0[$1] = self.members[$1]?.entry.dropService() }
    }

    /// The rows of the services that were stopped, then those of all others.
    private func rows(_ done: [ShutdownReport.Row]) -> [ShutdownReport.Row] {
        let named = Set(done.map { $0.path })
        let others = self.members.values.filter { !named.contains($0.path) }.sorted { $0.path < $1.path }
        return done
            + others.map { member in
                let fate: ServiceState =
                    switch member.state {
                    case .starting: .abandoned(during: [.start])
                    case .ready, .quiescing, .stopping: .abandoned(during: [.stop])
                    case .registered, .skipped, .abandoned, .failed, .stopped: member.state
                    }
                return ShutdownReport.Row(path: member.path, fate: fate, time: .zero, undelivered: 0)
            }
    }
}
