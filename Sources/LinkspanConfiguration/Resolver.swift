internal import Linkspan
internal import LinkspanMessaging

/// Picks the value of each key from the layers, checks it, and collects the problems.
struct Resolver {
    let catalog: Catalog
    let schema: Schema
    /// The sources, the strongest first.
    let layers: [Layer]
    var problems: [ConfigurationProblem] = []
    private(set) var settings: [Setting] = []
    /// The checked values by key.
    var values: [String: OptionValue] = [:]
    /// The winning entry of each key, checked or not.
    var winners: [String: Layer.Entry] = [:]

    init(_ catalog: Catalog, _ schema: Schema, _ layers: [Layer]) {
        self.catalog = catalog
        self.schema = schema
        self.layers = layers
        for path in schema.keys.keys.sorted() {
            guard let option = schema.keys[path] else { continue }
            self.check(path, option)
        }
    }

    /// The plan; nil when there are problems.
    mutating func plan() -> LoadedPlan? {
        let adapter = self.adapter()
        let endpoint = adapter.flatMap { self.endpoint(of: $0) }
        let names = self.serviceNames()
        let transport = adapter.flatMap { self.makeTransport($0) }
        if let adapter, let endpoint { self.checkEndpoints(after: endpoint, adapter) }
        let services = names.map { self.makeService($0, all: names) }
        let order = self.order(of: services.compactMap { $0 })
        var options = ConnectionOptions(self.options(of: "connection", ConnectionOptions.declared))
        options.store = self.makeOutbox()
        let rules = self.keeperRules()
        guard self.problems.isEmpty, let adapter, let endpoint, let transport, let order else { return nil }
        var plan = MessagingPlan(url: endpoint, transport: transport, options: options)
        plan.services = services.compactMap { $0 }
        plan.rules = rules
        plan.dataSaving = self.values["connection.dataSaving"].flatMap(Self.text).flatMap(DataSaving.init)
        plan.settings = self.settings.map { setting in
            InspectedSetting(path: setting.path, value: setting.value ?? "", origin: setting.origin)
        }
        plan.alternatives =
            [TransportAlternative(name: adapter, url: endpoint, transport: transport)]
            + self.alternatives(to: adapter, at: endpoint)
        return LoadedPlan(
            plan: plan, adapter: adapter, services: names, settings: self.settings, order: order, values: self.values,
            keys: self.schema.keys)
    }
}

// MARK: - Values

extension Resolver {
    /// The given values of a key, the strongest first.
    private func candidates(_ path: String, _ option: PluginOption) -> [Layer.Entry] {
        self.layers.compactMap { layer in
            guard let entry = layer.entries[path] else { return nil }
            // An empty variable unsets the key.
            return option.kind != .list && option.kind != .map && entry.value == .text("") ? nil : entry
        }
    }

    private mutating func check(_ path: String, _ option: PluginOption) {
        let candidates = self.candidates(path, option)
        self.refuseExposedSecrets(path, option)
        let hidden = candidates.dropFirst().map {
            Setting.Hidden(value: self.shown($0.value, path, option), origin: $0.origin)
        }
        let winner = candidates.first
        self.settings.append(
            Setting(
                path: ConfigurationPath.full(path),
                value: winner.map { self.shown($0.value, path, option) } ?? option.fallback,
                origin: winner?.origin ?? "default", hidden: hidden, summary: option.summary,
                expectation: option.expectation, fallback: option.fallback, reload: "\(option.reload ?? .restart)",
                variable: TextLayers.variable(of: path), flag: TextLayers.flag(of: path)))
        guard let winner else { return }
        self.winners[path] = winner
        // These keys have messages of their own for unknown names.
        guard path != "transport.adapter" else { return }
        if let value = option.parse(winner.value) {
            self.values[path] = value
        } else {
            self.report(.wrongValue, path, option.mismatch(winner.value))
        }
    }

    private mutating func refuseExposedSecrets(_ path: String, _ option: PluginOption) {
        guard option.isSecret else { return }
        for layer in self.layers {
            guard let exposure = layer.exposure, let entry = layer.entries[path] else { continue }
            let message = "is a secret and must not \(exposure.place); give it by an environment variable"
            self.problems.add(exposure.code, path, message, origin: entry.origin)
        }
    }

    /// Reports a problem of the effective value of a key.
    mutating func report(
        _ code: ConfigurationProblem.Code, _ path: String, element: Int? = nil, _ message: String
    ) {
        let full = ConfigurationPath.full(path)
        let loser = self.settings.first { $0.path == full }?.hidden.first
        self.problems.append(
            ConfigurationProblem(
                code, full + (element.map { "[\($0)]" } ?? ""), message, origin: self.winners[path]?.origin,
                hides: loser.map { "\($0.value) in \($0.origin)" }))
    }

    private func shown(_ value: RawValue, _ path: String, _ option: PluginOption) -> String {
        guard !option.isSecret else { return "(secret)" }
        if path == "connection.endpoints", case .list = value {
            return value.replacingTexts(ConnectionURL.redacted).text
        }
        if path.hasSuffix(".url") { return ConnectionURL.redacted(value.text) }
        return Wording.shown(value.replacingTexts(Wording.redacted).text)
    }

    /// The checked values of a section.
    func options(of section: String, _ declared: [PluginOption]) -> OptionValues {
        var values = OptionValues()
        for option in declared { values.values[option.name] = self.values["\(section).\(option.name)"] }
        return values
    }
}

// MARK: - Transport

extension Resolver {
    private mutating func adapter() -> String? {
        let path = "transport.adapter"
        let known = self.schema.transports
        guard let winner = self.winners[path] else {
            self.reportMissing(path, "one of \(known.joined(separator: ", "))")
            return nil
        }
        guard case .text(let name) = winner.value else {
            self.report(.wrongValue, path, "expected one of \(known.joined(separator: ", ")), found a list")
            return nil
        }
        guard known.contains(name) else {
            self.report(.unknownName, path, Wording.unknown("transport", name, known: known))
            return nil
        }
        return name
    }

    /// The endpoint of the chosen transport: the stronger of its own and the common one.
    private mutating func endpoint(of adapter: String) -> String? {
        let own = "transport.\(adapter).url"
        let schemes = self.schemes(of: adapter)
        for layer in self.layers {
            for path in [own, "transport.url"] {
                guard let given = layer.entries[path]?.value, given != .text("") else { continue }
                // A list was reported before.
                guard let text = self.values[path].flatMap(Self.text) else { return nil }
                return self.url(text, path, for: adapter, schemes).map { _ in text }
            }
        }
        self.reportMissing(own, Self.shape(schemes))
        return nil
    }

    /// The URL of an endpoint; nil, with a problem, for an invalid one and for a scheme that the transport does not speak.
    private mutating func url(
        _ text: String, _ path: String, element: Int? = nil, for adapter: String, _ schemes: [String]
    ) -> ConnectionURL? {
        let shape = Self.shape(schemes)
        do {
            let url = try ConnectionURL(text)
            if schemes.contains(url.scheme) { return url }
            self.report(
                .wrongValue, path, element: element,
                "expected \(shape) for transport '\(adapter)', found \"\(url)\"")
        } catch {
            let expected = element == nil ? "expected \(shape); " : ""
            self.report(.wrongValue, path, element: element, "\(expected)\(error.message)")
        }
        return nil
    }

    private func schemes(of adapter: String) -> [String] {
        (self.catalog.transports[adapter]?.schemes ?? []).sorted()
    }

    private static func shape(_ schemes: [String]) -> String {
        "a URL beginning with " + schemes.map { "\($0)://" }.joined(separator: " or ")
    }

    /// Checks the further endpoints by the rules of the connection.
    private mutating func checkEndpoints(after first: String, _ adapter: String) {
        let path = "connection.endpoints"
        guard case .list(let texts) = self.values[path], let first = try? ConnectionURL(first) else { return }
        let schemes = self.schemes(of: adapter)
        for (index, text) in texts.enumerated() {
            guard let url = self.url(text, path, element: index, for: adapter, schemes), first.isSecure, !url.isSecure
            else { continue }
            let message = "\"\(url)\" would give up the encryption of the first endpoint"
            self.report(.wrongValue, path, element: index, message)
        }
    }

    private mutating func keeperRules() -> [any KeeperRule] {
        self.known("connection.keeperRules", "keeper rule", among: self.catalog.rules.keys.sorted())
            .compactMap { self.catalog.rules[$0.text] }
    }

    private static func text(_ value: OptionValue) -> String? {
        if case .text(let text) = value { text } else { nil }
    }

    mutating func reportMissing(_ path: String, _ shape: String) {
        // An unreadable source may have the value.
        guard !self.layers.contains(where: { $0.isBroken }) else { return }
        self.report(.missing, path, "is missing: expected \(shape)")
    }
}

// MARK: - Making

extension Resolver {
    mutating func makeTransport(_ name: String) -> (any Transport)? {
        guard let factory = self.catalog.transports[name] else { return nil }
        return self.make("transport.\(name)", factory.options) { values throws(LinkspanError) in
            try factory.make(values)
        }
    }

    /// The other transports that could carry the connection: to their own endpoints, or to the same host and path.
    private func alternatives(to adapter: String, at endpoint: String) -> [TransportAlternative] {
        guard let rest = endpoint.firstRange(of: "://").map({ endpoint[$0.upperBound...] }) else { return [] }
        let isSecure = ["https", "wss"].contains { endpoint.hasPrefix("\($0)://") }
        return self.catalog.transports.keys.sorted().filter { $0 != adapter }.compactMap { name in
            guard let factory = self.catalog.transports[name] else { return nil }
            let scheme = (isSecure ? ["https", "wss"] : ["http", "ws"]).first { factory.schemes.contains($0) }
            let own = self.values["transport.\(name).url"].flatMap(Self.text)
            guard let url = own ?? scheme.map({ "\($0)://\(rest)" }),
                let transport = try? factory.make(self.options(of: "transport.\(name)", factory.options))
            else { return nil }
            return TransportAlternative(name: name, url: url, transport: transport)
        }
    }

    /// Makes the store of deliveries, if it is configured.
    private mutating func makeOutbox() -> (any DeliveryStore)? {
        guard let factory = self.catalog.outbox, self.winners.keys.contains(where: { $0.hasPrefix("outbox.") }) else {
            return nil
        }
        return self.make("outbox", factory.options) { values throws(LinkspanError) in try factory.make(values) }
    }

    /// Makes a part, if its values are valid.
    mutating func make<Part>(
        _ section: String, _ declared: [PluginOption], _ make: (OptionValues) throws(LinkspanError) -> Part
    ) -> Part? {
        let before = self.problems.count
        for option in declared where option.fallback == nil && self.winners["\(section).\(option.name)"] == nil {
            self.reportMissing("\(section).\(option.name)", option.expectation)
        }
        let full = ConfigurationPath.full(section)
        let isRight = before == self.problems.count && !self.problems.contains { $0.path.hasPrefix("\(full).") }
        guard isRight, !self.layers.contains(where: { $0.isBroken }) else { return nil }
        do {
            return try make(self.options(of: section, declared))
        } catch {
            let origin = self.origin(in: section, declared, of: error.message)
            self.problems.add(.refused, section, Wording.shown(error.message, limit: 300), origin: origin)
            return nil
        }
    }

    /// The origin of the option that a message is about: the only given one, or the first that it names.
    private func origin(in section: String, _ declared: [PluginOption], of message: String) -> String? {
        let given = declared.filter { self.winners["\(section).\($0.name)"] != nil }
        let words = message.split { !$0.isLetter && !$0.isNumber }
        let meant = given.count == 1 ? given.first : given.first { words.contains(Substring($0.name)) }
        return meant.flatMap { self.winners["\(section).\($0.name)"]?.origin }
    }
}
