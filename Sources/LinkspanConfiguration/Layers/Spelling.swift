/// The spelling of keys in sources that allow no dots.
struct Spelling: Sendable {
    /// The keys by their variables, such as `LINKSPAN_TRANSPORT_ADAPTER`.
    private(set) var variables: [String: String] = [:]
    /// The keys by their flags, such as `--linkspan-transport-adapter`.
    private(set) var flags: [String: String] = [:]
    /// Keys with the same spelling.
    private(set) var problems: [ConfigurationProblem] = []

    init(_ schema: Schema) {
        for path in schema.keys.keys.sorted() {
            let variable = Self.variable(of: path)
            self.flags[Self.flag(of: path)] = path
            guard let other = self.variables.updateValue(path, forKey: variable) else { continue }
            let message = "cannot be told from '\(ConfigurationPath.full(other))': both are spelt \(variable)"
            self.problems.add(.ambiguous, path, message, origin: "the catalog")
        }
    }

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
