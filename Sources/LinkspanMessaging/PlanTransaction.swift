internal import Linkspan
internal import LinkspanLifecycle

/// Changes the services of a registry step by step, and takes the steps back when one fails.
struct PlanTransaction {
    private enum Step {
        case stopped(PlannedService, wasReady: Bool)
        case started(ServiceName)
        case reconfigured(PlannedService)
    }

    private let messaging: Messaging
    private(set) var running: RunningServices
    private var done: [Step] = []
    /// The plan that is to be, for services that show it.
    private let plan: MessagingPlan

    init(_ running: RunningServices, of messaging: Messaging, for plan: MessagingPlan) {
        self.plan = plan
        self.messaging = messaging
        self.running = running
    }

    /// Stops a service, and waits until it has stopped or its budget has passed.
    mutating func stop(_ name: ServiceName) async {
        let wasReady = self.isReady(name)
        guard let member = self.running.members.removeValue(forKey: name) else { return }
        await self.end(member)
        self.done.append(.stopped(member.planned, wasReady: wasReady))
    }

    /// Starts a service, and waits until it is ready.
    mutating func start(_ planned: PlannedService) async throws(LinkspanError) {
        try await self.register(planned, mustBeReady: true)
        self.done.append(.started(planned.name))
    }

    /// Gives a running service other options.
    mutating func reconfigure(_ planned: PlannedService) async throws(LinkspanError) {
        guard let former = self.running.members[planned.name]?.planned else { return }
        // Also one that threw may have taken something over.
        self.done.append(.reconfigured(former))
        try await self.hand(planned)
        self.running.members[planned.name]?.planned = planned
    }

    /// Takes everything back, the latest first.
    ///
    /// - Returns: what could not be taken back.
    mutating func rollBack() async -> [String] {
        var failures: [String] = []
        while let step = self.done.popLast() {
            do throws(LinkspanError) {
                switch step {
                case .stopped(let planned, let wasReady):
                    try await self.register(try planned.renewed(), mustBeReady: wasReady)
                case .started(let name):
                    if let member = self.running.members.removeValue(forKey: name) { await self.end(member) }
                case .reconfigured(let former):
                    try await self.hand(former)
                    self.running.members[former.name]?.planned = former
                }
            } catch {
                failures.append(error.message)
            }
        }
        return failures
    }

    /// Whether a service works; one that failed to start may be part of what runs, too.
    func isReady(_ name: ServiceName) -> Bool {
        let services = self.messaging.services
        return services.state(of: "\(services.name).\(name)") == .ready
    }

    private func end(_ member: RunningServices.Member) async {
        await member.registration.cancelAndDrain()
        self.messaging.dismiss(member.planned.name)
    }

    private mutating func register(
        _ planned: PlannedService, mustBeReady: Bool
    ) async throws(LinkspanError) {
        try await self.messaging.introduce(planned)
        self.messaging.show(to: planned.service, self.plan)
        let registration: Registration
        do {
            registration = try self.messaging.services.register(planned.service, settings: planned.settings)
        } catch {
            self.messaging.dismiss(planned.name)
            throw LinkspanError(
                .invalidConfiguration, "service '\(planned.name)' cannot be registered: \(error.message)",
                cause: error)
        }
        registration.keep()
        let state = await registration.settled()
        // A registry inside the registry has no state of its own, and an empty one none at all.
        guard state == .ready || !mustBeReady || planned.service is ServiceRegistry else {
            await self.end(RunningServices.Member(planned: planned, registration: registration))
            throw LinkspanError(
                .invalidConfiguration, "service '\(planned.name)' did not start: \(Self.words(state))")
        }
        self.running.members[planned.name] = RunningServices.Member(planned: planned, registration: registration)
    }

    private func hand(_ planned: PlannedService) async throws(LinkspanError) {
        do {
            try await self.messaging.services.call(planned.name) {
                try await planned.factory?.reconfigure?($0, planned.options)
            }
        } catch {
            let reason = (error as? LinkspanError)?.message ?? (error as? RegistryError)?.message ?? "\(error)"
            throw LinkspanError(
                .invalidConfiguration, "service '\(planned.name)' rejected its new options: \(reason)",
                cause: error)
        }
    }

    private static func words(_ state: ServiceState?) -> String {
        switch state {
        case .failed(let text): text
        case .skipped(let path): "it needs '\(path)', which is not ready"
        case .abandoned(let steps): "\(steps.map { "\($0)" }.joined(separator: ", ")) took too long"
        case nil: "it was removed"
        case .registered, .starting, .ready, .quiescing, .stopping, .stopped: "the services are being stopped"
        }
    }
}
