internal import LinkspanLifecycle
internal import Linkspan

/// Reads the sources whose values are all text.
struct TextLayers: Sendable {
    private let schema: Schema
    /// The keys by their variables, such as `LINKSPAN_TRANSPORT_ADAPTER`.
    private var variables: [String: String] = [:]
    /// The keys by their flags, such as `--linkspan-transport-adapter`.
    private var flags: [String: String] = [:]
    /// Keys with the same spelling.
    private(set) var problems: [ConfigurationProblem] = []

    /// The variable that chooses traits of the package when it is built; programs that are run by the same command
    /// have it in their environment.
    private static let traits = "LINKSPAN_TRAITS"

    init(_ schema: Schema) {
        self.schema = schema
        for path in schema.keys.keys.sorted() {
            let variable = Self.variable(of: path)
            self.flags[Self.flag(of: path)] = path
            guard let other = self.variables.updateValue(path, forKey: variable) else { continue }
            let message = "cannot be told from '\(ConfigurationPath.full(other))': both are spelt \(variable)"
            self.problems.add(.ambiguous, path, message, origin: "the catalog")
        }
    }

    /// Variables that begin with `LINKSPAN_`; each must be known.
    func environment(_ variables: [String: String]) -> Layer {
        var layer = Layer()
        for (name, value) in variables.sorted(by: { $0.key < $1.key })
        where name.hasPrefix("LINKSPAN_") && name != Self.traits {
            guard let path = self.variables[name] else {
                layer.problems.append(self.unknown("environment variable", name, among: self.variables))
                continue
            }
            layer.entries[path] = self.entry(path, value, origin: name)
        }
        return layer
    }

    /// Arguments that begin with `--linkspan-`; each must be known and have its value after an equals sign, since
    /// the next argument might not belong to it.
    func arguments(_ arguments: [String]) -> Layer {
        var layer = Layer(exposure: .arguments)
        for argument in arguments where argument.hasPrefix("--linkspan-") {
            let parts = argument.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            let name = parts.first.map(String.init) ?? argument
            guard let path = self.flags[name] else {
                layer.problems.append(self.unknown("argument", name, among: self.flags))
                continue
            }
            guard parts.count == 2 else {
                layer.problems.add(.wrongValue, path, "expected a value as in \(name)=…", origin: name)
                continue
            }
            guard layer.entries[path] == nil else {
                layer.problems.add(.ambiguous, path, "given twice", origin: name)
                continue
            }
            layer.entries[path] = self.entry(path, String(parts[1]), origin: name)
        }
        return layer
    }

    /// Overrides, the strongest first: the last one wins.
    ///
    /// One that is said to come from a flag stood on a command line.
    func overrides(_ overrides: [Override]) -> [Layer] {
        overrides.reversed().map { override in
            var layer = Layer(exposure: override.origin.hasPrefix("-") ? .arguments : nil)
            let path = ConfigurationPath.withoutRoot(override.path)
            let origin = Wording.shown(override.origin)
            if let wrong = self.schema.diagnose(path) {
                layer.problems.add(.unknownName, wrong.path, wrong.message, origin: origin)
            } else {
                layer.entries[path] = self.entry(path, override.value, origin: origin)
            }
            return layer
        }
    }

    /// The values of the app's own reader, for each declared key.
    func reader(_ reader: any ConfigurationReading) -> Layer {
        var layer = Layer()
        for (path, option) in self.schema.keys {
            let key = ConfigurationPath.full(path)
            if option.kind == .list, let list = reader.list(key) {
                layer.entries[path] = Layer.Entry(value: .list(list), origin: Wording.shown(reader.name))
            } else if let text = reader.text(key) {
                layer.entries[path] = self.entry(path, text, origin: Wording.shown(reader.name))
            }
        }
        return layer
    }

    private func entry(_ path: String, _ value: String, origin: String) -> Layer.Entry {
        let given: RawValue =
            switch self.schema.keys[path]?.kind {
            case .list: Layer.split(value)
            case .map: Layer.splitMap(value) ?? .text(value)
            default: .text(value)
            }
        return Layer.Entry(value: given, origin: origin)
    }

    private func unknown(_ noun: String, _ name: String, among known: [String: String]) -> ConfigurationProblem {
        // The list of all spellings would fill a screen; the documentation has the keys.
        let prefix = name.prefix(name.hasPrefix("-") ? "--linkspan-".count : "LINKSPAN_".count)
        let guess = Suggestion.closest(
            to: String(name.dropFirst(prefix.count)), among: known.keys.map { String($0.dropFirst(prefix.count)) })
        return ConfigurationProblem(
            .unknownName, ConfigurationPath.root,
            "unknown \(noun) '\(Wording.shown(name))'\(guess.map { " (did you mean '\(prefix)\($0)'?)" } ?? "")")
    }
}

// MARK: - Spelling

extension TextLayers {
    static func variable(of path: String) -> String {
        Self.words(ConfigurationPath.full(path)).joined(separator: "_").uppercased()
    }

    static func flag(of path: String) -> String {
        "--" + Self.words(ConfigurationPath.full(path)).joined(separator: "-")
    }

    /// The words of a path in lower case; `transport.pingInterval` has three.
    private static func words(_ path: String) -> [String] {
        var words = [""]
        var previous: Character = "."
        for character in path {
            let isMark = !character.isLetter && !character.isNumber
            if isMark || previous.isLowercase && character.isUppercase { words.append("") }
            if !isMark { words[words.count - 1] += character.lowercased() }
            previous = character
        }
        return words
    }
}
