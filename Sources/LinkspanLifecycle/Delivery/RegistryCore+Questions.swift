extension RegistryCore {
    /// The ready services that adopt `Responder`, in the order of start.
    func responders<Responder>(_ type: Responder.Type) -> [(member: Member, responder: Responder)] {
        let members = self.machine { machine in
            machine.plan.order.compactMap { machine.members[$0] }.filter { $0.state == .ready && !$0.isRemoved }
        }
        return members.compactMap { member in
            (member.entry.service as? Responder).map { (member, $0) }
        }
    }

    func ask<Responder: Sendable, Answer: Sendable>(
        _ type: Responder.Type, merging rule: MergeRule<Answer>, within limit: Duration?,
        onFault: @escaping @Sendable (Responder, String) -> Answer,
        _ body: @escaping @Sendable (Responder, ServiceScope) async throws -> Answer
    ) async -> Answer {
        let responders = self.responders(type)
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
        _ member: Member, _ responder: Responder, within limit: Duration?,
        onFault: @escaping @Sendable (Responder, String) -> Answer,
        _ body: @escaping @Sendable (Responder, ServiceScope) async throws -> Answer
    ) async -> Answer {
        let own = member.entry.budgets.handle
        let deadline = self.later(min(own, limit ?? own))
        let call = ServiceCall()
        let scope = self.scope(member.entry.id, member.path, call, deadline: deadline)
        let question = { @Sendable () async throws in try await body(responder, scope) }
        switch await self.run(member.entry.urgency, call, until: deadline, grace: .zero, question) {
        case .returned(let answer): return answer
        case .threw(let error):
            self.fault(member.path, .handlerFailed, "answering threw: \(error)")
            return onFault(responder, "\(member.path): \(error)")
        case .abandoned:
            self.fault(
                member.path, .limitHit, "answering takes longer than \(min(own, limit ?? own))",
                hint: "budgets.handle is \(own)")
            return onFault(responder, "\(member.path): no answer in time")
        }
    }
}
