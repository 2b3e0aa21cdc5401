internal import Linkspan
internal import LinkspanLifecycle
internal import LinkspanMessaging

/// The plan that would run, for a person or a program.
struct PlanReport: Encodable {
    /// A value with its origin.
    struct Item: Encodable {
        var key: String
        var value: String
        var origin: String
    }

    /// A service and the services that it starts after.
    struct Service: Encodable {
        struct Need: Encodable {
            var after: String
            /// `need`, or `wish` for an optional dependency.
            var kind: String
            var origin: String
        }

        var name: String
        var needs: [Need]
        var settings: [Item]
    }

    var transport: Item
    var endpoint: Item
    /// The options of the transport and the connection that differ from the defaults.
    var options: [Item]
    /// The services; those of one group start together.
    var waves: [[Service]]

    init(_ plan: LoadedPlan) {
        let adapter = plan.explain("transport.adapter")
        self.transport = Item(key: "transport", value: plan.adapter, origin: adapter?.origin ?? "code")
        self.endpoint = Self.endpoint(of: plan)
        self.options = ["transport.\(plan.adapter)", "connection", "outbox"].flatMap { section in
            plan.settings(in: section).filter { !$0.path.hasSuffix(".url") }.compactMap { Item(changed: $0) }
        }
        self.waves = plan.order.waves.map { $0.map { Service($0, in: plan) } }
    }

    /// The chosen endpoint without its query: the stronger of the transport's own and the common one.
    private static func endpoint(of plan: LoadedPlan) -> Item {
        let url = (try? ConnectionURL(plan.plan.url))?.description ?? "(unreadable)"
        let settings = ["transport.\(plan.adapter).url", "transport.url"].compactMap { plan.explain($0) }
        let origin = settings.first { $0.value == url }?.origin ?? "code"
        return Item(key: "endpoint", value: url, origin: origin)
    }
}

extension PlanReport.Service {
    fileprivate init(_ step: StartOrder.Step, in plan: LoadedPlan) {
        self.name = step.name
        let own = plan.plan.services.first { $0.name.rawValue == step.name }?.service.placement.needs ?? []
        let after = plan.explain("services.\(step.name).after")
        self.needs = step.needs.map { need in
            Need(
                after: need.name.rawValue, kind: need.isHard ? "need" : "wish",
                origin: own.contains(need) ? "the service" : after?.origin ?? "the service")
        }
        self.settings = plan.settings(in: "services.\(step.name)").filter { !$0.path.hasSuffix(".after") }
            .compactMap { PlanReport.Item(changed: $0) }
    }

    fileprivate var lines: [String] {
        let why = self.needs.map { "after \($0.after): \($0.kind), from \($0.origin)" }
        let head = why.isEmpty ? self.name : "\(self.name) \(why.joined(separator: "; "))"
        return [head] + self.settings.map { "    \($0.line)" }
    }
}

extension PlanReport {
    /// The plan in one line.
    var summary: String {
        let services = self.waves.flatMap { $0.map { $0.name } }
        return "\(self.transport.value) to \(self.endpoint.value), services \(services.joined(separator: ", "))"
    }

    /// The plan for a person.
    var lines: [String] {
        var lines = [self.transport, self.endpoint].map { "\($0.key): \($0.value), from \($0.origin)" }
        lines += self.options.map { "option: \($0.line)" }
        for (number, wave) in self.waves.enumerated() {
            lines.append("start \(number + 1):")
            lines += wave.flatMap { $0.lines.map { "  \($0)" } }
        }
        return lines
    }
}

extension LoadedPlan {
    /// The settings of a section; the root `linkspan.` may be left out.
    func settings(in section: String) -> [Setting] {
        let full = section.hasPrefix("linkspan") ? section : "linkspan.\(section)"
        return self.settings.filter { $0.path.hasPrefix("\(full).") }
    }
}

extension PlanReport.Item {
    /// Nil for a default.
    fileprivate init?(changed setting: Setting) {
        guard setting.value != setting.fallback else { return nil }
        let key = setting.path.split(separator: ".").dropFirst().joined(separator: ".")
        self.init(key: key, value: setting.value ?? "(none)", origin: setting.origin)
    }

    fileprivate var line: String { "\(self.key) = \(self.value), from \(self.origin)" }
}
