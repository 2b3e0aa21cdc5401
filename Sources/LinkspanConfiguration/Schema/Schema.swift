internal import Linkspan
internal import LinkspanMessaging

/// Every key that the catalog declares, and the problem of an undeclared one.
struct Schema: Sendable {
    /// The keys that take a value.
    private(set) var keys: [String: PluginOption] = [:]
    /// The names that may follow each section.
    private var children: [String: [String]] = ["": []]
    /// The problems of the declarations themselves.
    private(set) var problems: [ConfigurationProblem] = []

    let transports: [String]
    let services: [String]

    init(_ catalog: Catalog) {
        self.transports = catalog.transports.keys.sorted()
        self.services = catalog.services.keys.sorted()
        self.declare(Self.adapter(self.transports), in: "transport")
        self.declare(Self.url("The endpoint, for any transport."), in: "transport")
        for name in self.transports {
            guard let factory = catalog.transports[name], self.accept(name, as: "transport") else { continue }
            self.declare(Self.url("The endpoint of this transport."), in: "transport.\(name)")
            for option in factory.options { self.declare(option, in: "transport.\(name)") }
        }
        for option in ConnectionOptions.declared { self.declare(option, in: "connection") }
        for option in catalog.outbox?.options ?? [] { self.declare(option, in: "outbox") }
        for option in Self.lists { self.declare(option, in: "services") }
        for name in self.services {
            guard let factory = catalog.services[name], self.accept(name, as: "service") else { continue }
            for option in PlannedService.declared + factory.options { self.declare(option, in: "services.\(name)") }
        }
    }

    /// The diagnosis of a wrong key.
    struct Diagnosis {
        /// The shortest part of the key that is wrong.
        var path: String
        var message: String
        /// Whether the name is unknown; otherwise a section was given for a value, or the reverse.
        var isUnknown = false
    }

    /// The problem of a key with a value or a section; nil if it is declared so.
    func diagnose(_ path: String, isSection: Bool = false) -> Diagnosis? {
        var prefix = ""
        for name in path.isEmpty ? [] : ConfigurationPath.components(path) {
            if let option = self.keys[prefix] {
                return Diagnosis(path: prefix, message: "expected \(option.expectation), found a section")
            }
            let known = self.children[prefix] ?? []
            let own = ConfigurationPath.join(prefix, name)
            guard known.contains(name) else {
                return Diagnosis(
                    path: Wording.shown(own), message: Wording.unknown(Self.noun(in: prefix), name, known: known),
                    isUnknown: true)
            }
            prefix = own
        }
        if let option = self.keys[prefix] {
            guard isSection, option.kind != .map else { return nil }
            return Diagnosis(path: prefix, message: "expected \(option.expectation), found a section")
        }
        guard !isSection else { return nil }
        let known = (self.children[prefix] ?? []).sorted().joined(separator: ", ")
        return Diagnosis(path: prefix, message: "expected a section (known: \(known)), found a value")
    }

    private static func noun(in prefix: String) -> String {
        switch prefix {
        case "": "section"
        case "transport": "transport or key"
        case "services": "service or key"
        default: "option"
        }
    }

    /// Checks the name of a plug-in, which becomes part of keys, variables and flags.
    private mutating func accept(_ name: String, as noun: String) -> Bool {
        let section = noun == "transport" ? "transport" : "services"
        let isPlain = name.utf8.allSatisfy { (0x61...0x7A).contains($0) || (0x30...0x39).contains($0) }
        guard isPlain, let first = name.utf8.first, first >= 0x61 else {
            let message = "a \(noun) cannot be called '\(Wording.shown(name))': names are lower case letters and digits"
            self.problems.add(.refused, section, message, origin: "the catalog")
            return false
        }
        guard self.keys["\(section).\(name)"] == nil else {
            let message = "a \(noun) cannot be called '\(name)': the key has another meaning"
            self.problems.add(.ambiguous, "\(section).\(name)", message, origin: "the catalog")
            return false
        }
        return true
    }

    private mutating func open(_ section: String) {
        guard self.children[section] == nil else { return }
        self.children[section] = []
        var parent = ConfigurationPath.components(section)
        let name = parent.removeLast()
        let above = parent.joined(separator: ".")
        if !parent.isEmpty { self.open(above) }
        self.children[above, default: []].append(name)
    }

    private mutating func declare(_ option: PluginOption, in section: String) {
        self.open(section)
        let path = "\(section).\(option.name)"
        var option = option
        option.reload = Self.reload(of: option, in: section)
        guard self.keys.updateValue(option, forKey: path) == nil else {
            let isReserved =
                PlannedService.declared.contains { $0.name == option.name } && section.hasPrefix("services.")
            let message =
                isReserved ? "the name is reserved for an option of every service" : "the option is declared twice"
            return self.problems.add(.ambiguous, path, message, origin: "the catalog")
        }
        self.children[section, default: []].append(option.name)
    }

    /// The effect of a change of an option: the declared one, where possible.
    private static func reload(of option: PluginOption, in section: String) -> ChangeEffect {
        switch section {
        case "connection": option.reload ?? .hot
        // Waiting deliveries are in the present file.
        case "outbox": .refused
        // The lists of services start and stop only the services that they name.
        case "services": .hot
        default: section.hasPrefix("services.") ? option.reload == .hot ? .hot : .restart : .reconnect
        }
    }

    private static func adapter(_ names: [String]) -> PluginOption {
        PluginOption("adapter", .choice(names), "The transport that carries the traffic.")
    }

    private static func url(_ summary: String) -> PluginOption { PluginOption("url", .text, fallback: "none", summary) }

    private static let lists = [
        PluginOption(
            "enabled", .list, fallback: "none", "The services to run; their needs and places decide the order."),
        PluginOption("add", .list, fallback: "none", "Services to run besides the enabled ones."),
        PluginOption("remove", .list, fallback: "none", "Services not to run, even if enabled or added."),
    ]
}
