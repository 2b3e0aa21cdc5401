internal import Linkspan
internal import LinkspanLifecycle
internal import LinkspanMessaging

/// The services of a plan.
extension Resolver {
    /// The enabled and added services without the removed ones.
    mutating func serviceNames() -> [String] {
        var names: [String] = []
        for path in ["services.enabled", "services.add"] {
            for name in self.known(path) {
                if !names.contains(name.text) {
                    names.append(name.text)
                } else if path == "services.enabled" {
                    self.report(.ambiguous, path, element: name.index, "service '\(name.text)' is listed twice")
                }
            }
        }
        let removed = Set(self.known("services.remove").map { $0.text })
        return names.filter { !removed.contains($0) }
    }

    private mutating func known(_ path: String) -> [(index: Int, text: String)] {
        self.known(path, "service", among: self.schema.services)
    }

    /// The names in a list that are known, each with its place; the others are reported.
    mutating func known(_ path: String, _ noun: String, among names: [String]) -> [(index: Int, text: String)] {
        guard case .list(let listed) = self.values[path] else { return [] }
        for (index, name) in listed.enumerated() where !names.contains(name) {
            self.report(.unknownName, path, element: index, Wording.unknown(noun, name, known: names))
        }
        return listed.enumerated().map { (index: $0, text: $1) }.filter { names.contains($0.text) }
    }

    /// Makes a service with its registration settings.
    mutating func makeService(_ name: String, all names: [String]) -> PlannedService? {
        guard let factory = self.catalog.services[name] else { return nil }
        let section = "services.\(name)"
        self.checkAfter(name, all: names)
        let planned = self.make(section, factory.options) { values throws(LinkspanError) in
            try PlannedService(factory, options: values)
        }
        guard var planned else { return nil }
        let isAdded = if case .list(let added) = self.values["services.add"] { added.contains(name) } else { false }
        let enabled = self.winners[isAdded ? "services.add" : "services.enabled"]
        planned.settings = ServiceSettings(
            self.options(of: section, PlannedService.declared), for: planned.service,
            origin: enabled?.origin ?? "configuration")
        planned.settings.name = ServiceName(rawValue: name)
        return planned
    }

    /// Checks the services that a service starts after.
    private mutating func checkAfter(_ name: String, all names: [String]) {
        let path = "services.\(name).after"
        for (index, other) in self.known(path) {
            if other == name {
                self.report(.wrongValue, path, element: index, "service '\(name)' cannot start after itself")
            } else if !names.contains(other) {
                let enabled = names.filter { $0 != name }.sorted().joined(separator: ", ")
                self.report(
                    .missing, path, element: index,
                    "service '\(other)' is not enabled (enabled: \(enabled.isEmpty ? "none other" : enabled))")
            }
        }
    }

    /// The start order; nil when the needs form a cycle or name unknown services.
    mutating func order(of services: [PlannedService]) -> StartOrder? {
        guard self.problems.isEmpty else { return nil }
        do {
            return try MessagingPlan.startOrder(of: services)
        } catch {
            for problem in error.problems.isEmpty ? [error.message] : error.problems {
                // A cycle through an `after` is corrected at that key, other needs in the list of services.
                let words = problem.split(separator: " ").map(String.init)
                let path = services.map { "services.\($0.name).after" }.sorted().first {
                    self.winners[$0] != nil && words.contains(ConfigurationPath.components($0)[1])
                }
                self.report(.missing, path ?? "services.enabled", Wording.shown(problem, limit: 300))
            }
            return nil
        }
    }
}
