/// Asks the services of a registry.
struct RegistryQuestions {
    private let core: RegistryCore
    private let events: EventDelivery

    init(_ core: RegistryCore) {
        self.core = core
        self.events = EventDelivery(core)
    }

    func ask<Responder: Sendable, Answer: Sendable>(
        _ type: Responder.Type, merging rule: MergeRule<Answer>, within limit: Duration?,
        onFault: @escaping @Sendable (Responder, String) -> Answer,
        _ body: @escaping @Sendable (Responder, ServiceScope) async throws -> Answer
    ) async -> Answer {
        let responders = self.core.responders(type)
        let answers = await withTaskGroup(of: (Int, Answer).self) { group in
            for (index, (member, responder)) in responders.enumerated() {
                group.addTask {
                    (index, await self.askOne(member, responder, within: limit, onFault: onFault, body))
                }
            }
            var answers: [(Int, Answer)] = []
            for await answer in group {
                answers.append(answer)
            }
            return answers.sorted { $0.0 < $1.0 }.map { $0.1 }
        }
        return answers.reduce(rule.none, rule.combine)
    }

    private func askOne<Responder: Sendable, Answer: Sendable>(
        _ member: RegistryCore.Member, _ responder: Responder, within limit: Duration?,
        onFault: @escaping @Sendable (Responder, String) -> Answer,
        _ body: @escaping @Sendable (Responder, ServiceScope) async throws -> Answer
    ) async -> Answer {
        let own = member.entry.budgets.handle
        let deadline = self.core.later(min(own, limit ?? own))
        let call = ServiceCall()
        let scope = self.core.scope(member.entry.id, member.path, call, deadline: deadline)
        let question = { @Sendable () async throws in try await body(responder, scope) }
        switch await self.core.run(member.entry.urgency, call, until: deadline, grace: .zero, question) {
        case .returned(let answer): return answer
        case .threw(let error):
            self.events.fault(member.path, .handlerFailed, "answering threw: \(error)")
            return onFault(responder, "\(member.path): \(error)")
        case .abandoned:
            self.events.fault(
                member.path, .limitHit, "answering takes longer than \(min(own, limit ?? own))",
                hint: "budgets.handle is \(own)")
            return onFault(responder, "\(member.path): no answer in time")
        }
    }

    /// Asks a ready service for its health.
    func health(of member: RegistryCore.Member, _ service: any LifecycleService) async -> Health {
        let deadline = self.core.later(member.entry.budgets.handle)
        let health = { @Sendable () async throws in await service.health() }
        switch await self.core.run(member.entry.urgency, ServiceCall(), until: deadline, grace: .zero, health) {
        case .returned(let health): return health
        case .threw(let error): return .unhealthy("\(error)")
        case .abandoned: return .unhealthy("no answer in time")
        }
    }
}
