package import Linkspan
internal import LinkspanLifecycle

extension Messaging {
    /// Applies a difference to the running plan, as a whole or not at all.
    ///
    /// Services that go are stopped first, then those that change are restarted and new ones are started, one after the
    /// other in the order of their needs; then hot options are taken over, and last of all the connection moves. What
    /// waits and who listens at the connection stays. Credentials, greeting, interceptors and store, which no configuration has, stay
    /// as they are where the new plan has none.
    ///
    /// When a step fails, those before it are taken back: services that were stopped come back as new objects with
    /// their former options.
    ///
    /// - Parameter difference: the changes to the running plan.
    /// - Throws: ``/Linkspan/LinkspanError``: `wrongState` while another change is made; else why the change failed,
    ///   and whether the former plan is still in effect in full.
    package func apply(_ difference: PlanDifference) async throws(LinkspanError) {
        let (running, former) = try self.beginChange()
        var transaction = PlanTransaction(running, of: self, for: difference.plan)
        do throws(LinkspanError) {
            let configuration = try Self.check(difference, former)
            try await Self.change(difference, by: &transaction)
            if let configuration { try self.change(former, to: configuration, difference) }
        } catch {
            let failures = await transaction.rollBack()
            self.endChange(transaction.running)
            throw Self.explain(error, failures)
        }
        // Before the next change may begin, whose plan is to be the last one shown.
        self.show(difference.plan)
        self.endChange(transaction.running)
    }

    /// Changes the connection, if there is one, and those to come to what `next` says.
    private func change(
        _ former: ConnectionConfiguration, to next: ConnectionConfiguration, _ difference: PlanDifference
    ) throws(LinkspanError) {
        if difference.movesConnection || former.identity != next.identity {
            try self.manager.move(former, to: next)
        } else {
            try self.manager.adjust(former, next.options)
        }
        self.setConfiguration(next)
    }

    /// Checks all that can be checked before anything is touched.
    ///
    /// - Returns: the new configuration of the connection; nil when it stays as it is.
    private static func check(
        _ difference: PlanDifference, _ former: ConnectionConfiguration
    ) throws(LinkspanError) -> ConnectionConfiguration? {
        let refused = difference.changes.filter { $0.effect == .refused }.map(\.key)
        guard refused.isEmpty else {
            throw LinkspanError(
                .conflictingOptions,
                "these options cannot change while the program runs: \(refused.joined(separator: ", "))")
        }
        var plan = difference.plan
        let next = try plan.configuration(after: former)
        if difference.movesConnection { return next }
        guard difference.changesConnection || former.credentials != next.credentials else { return nil }
        // It stays where it is, which is another place than the plan's when the app has moved it.
        (plan.url, plan.transport) = (former.url.text, former.transport)
        return try plan.configuration(after: former)
    }

    private static func change(
        _ difference: PlanDifference, by transaction: inout PlanTransaction
    ) async throws(LinkspanError) {
        let effects = difference.services.reduce(into: [:]) { effects, effect in
            // What does not run can take nothing over, but may run with the new options.
            effects[effect.key] = effect.value == .hot && !transaction.isReady(effect.key) ? .restart : effect.value
        }
        let coming = try Self.order(difference.plan.services)
        for name in try Self.order(transaction.running.planned).map(\.name).reversed()
        where effects[name] == .stop || effects[name] == .restart {
            await transaction.stop(name)
        }
        for planned in coming where effects[planned.name] == .start || effects[planned.name] == .restart {
            try await transaction.start(planned)
        }
        for planned in coming where effects[planned.name] == .hot { try await transaction.reconfigure(planned) }
    }

    /// The services in the order of start; a nested registry where the first service in it is.
    private static func order(_ services: [PlannedService]) throws(LinkspanError) -> [PlannedService] {
        let steps: [StartOrder.Step]
        do {
            steps = try MessagingPlan.startOrder(of: services).steps
        } catch {
            throw LinkspanError(.invalidConfiguration, error.message, cause: error)
        }
        var ranks: [Substring: Int] = [:]
        for (rank, step) in steps.enumerated() {
            let name = step.name.prefix { $0 != "." }
            ranks[name] = ranks[name] ?? rank
        }
        func rank(_ service: PlannedService) -> Int { ranks[Substring(service.name.rawValue)] ?? steps.count }
        return services.sorted { rank($0) < rank($1) }
    }

    private static func explain(_ error: LinkspanError, _ failures: [String]) -> LinkspanError {
        let fate =
            failures.isEmpty
            ? "the former plan is still in effect"
            : "and restoring the former plan failed: \(failures.joined(separator: "; "))"
        var told = error
        told.message = "the change of the plan failed: \(error.message); \(fate)"
        return told
    }
}

extension MessagingPlan {
    /// The connection's part, with what only code can decide taken from the former one where the plan has nothing.
    func configuration(after former: ConnectionConfiguration) throws(LinkspanError) -> ConnectionConfiguration {
        var plan = self
        if plan.credentials.isNone { plan.credentials = former.credentials }
        plan.options.greeting = plan.options.greeting ?? former.options.greeting
        plan.options.store = plan.options.store ?? former.options.store
        if plan.options.interceptors.isEmpty { plan.options.interceptors = former.options.interceptors }
        return try plan.configuration
    }
}
