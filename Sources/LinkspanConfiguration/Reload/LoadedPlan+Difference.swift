internal import Linkspan
internal import LinkspanLifecycle
package import LinkspanMessaging

extension LoadedPlan {
    /// The changes that turn this plan, which runs, into `next`.
    ///
    /// Options of transports that are not chosen, and of services that are not enabled, are not compared.
    package func difference(to next: LoadedPlan) -> PlanDifference {
        PlanDifference(to: next.plan, self.connectionChanges(next) + self.serviceChanges(next))
    }

    private func connectionChanges(_ next: LoadedPlan) -> [PlanChange] {
        var changes: [PlanChange] = []
        if self.adapter != next.adapter {
            changes.append(PlanChange(.connection, "transport", old: self.adapter, new: next.adapter, .reconnect))
        } else {
            changes = self.changes(next, in: "transport.\(self.adapter)", except: ["url"])
        }
        if self.plan.url != next.plan.url {
            let change = PlanChange(
                .connection, "endpoint", old: ConnectionURL.redacted(self.plan.url),
                new: ConnectionURL.redacted(next.plan.url),
                .reconnect)
            changes.insert(change, at: self.adapter == next.adapter ? 0 : 1)
        }
        return changes + ["connection", "outbox"].flatMap { self.changes(next, in: $0) }
    }

    private func serviceChanges(_ next: LoadedPlan) -> [PlanChange] {
        let (old, new) = (Set(self.services), Set(next.services))
        var changes = self.services.filter { !new.contains($0) }.map { PlanChange(Self.service($0), $0, .stop) }
        changes += next.services.filter { !old.contains($0) }.map { PlanChange(Self.service($0), $0, .start) }
        for name in next.services where old.contains(name) {
            let takesOver = next.plan.services.first { $0.name.rawValue == name }?.factory?.reconfigure != nil
            for var change in self.changes(next, in: "services.\(name)") {
                change.subject = Self.service(name)
                change.key.removeFirst("services.".count)
                if change.effect == .hot, !takesOver { change.effect = .restart }
                changes.append(change)
            }
        }
        return changes + self.dependants(next, of: changes)
    }

    /// Unchanged services that need a service which restarts.
    private func dependants(_ next: LoadedPlan, of changes: [PlanChange]) -> [PlanChange] {
        let touched = Dictionary(grouping: changes) { $0.subject }
        func stops(_ name: String) -> Bool {
            touched[Self.service(name)]?.contains { $0.effect == .restart || $0.effect == .start } ?? false
        }
        let restarted = Set(next.services.filter { stops($0) })
        let pulled = next.order.dependants(of: restarted)
        return next.services.filter { pulled.contains($0) }.map { name in
            let needs = next.order.steps.first { $0.name == name }?.needs.map { $0.name.rawValue } ?? []
            let culprits = needs.filter { restarted.contains($0) || pulled.contains($0) }
            return PlanChange(
                Self.service(name), name, .restart, reason: "needs \(culprits.joined(separator: ", "))")
        }
    }

    private static func service(_ name: String) -> PlanChange.Subject { .service(ServiceName(rawValue: name)) }
}

// MARK: - Values

extension LoadedPlan {
    /// The keys of a section whose values differ, as changes of the connection.
    private func changes(
        _ next: LoadedPlan, in section: String, except left: Set<String> = []
    ) -> [PlanChange] {
        next.keys.keys.filter { $0.hasPrefix("\(section).") }.sorted().compactMap { path in
            let name = String(path.dropFirst(section.count + 1))
            guard let option = next.keys[path], !left.contains(name), self.value(path) != next.value(path) else {
                return nil
            }
            return PlanChange(
                .connection, path, old: self.explain(path)?.value, new: next.explain(path)?.value,
                option.reload ?? .restart)
        }
    }

    /// The effective value of a key: the given one or the default.
    private func value(_ path: String) -> OptionValue? {
        if let value = self.values[path] { return value }
        guard let option = self.keys[path], let fallback = option.fallback else { return nil }
        // No value is spelled like this.
        guard fallback != "none" else { return option.kind == .list ? .list([]) : nil }
        return option.parse(option.kind == .list ? Layer.split(fallback) : .text(fallback))
    }
}
