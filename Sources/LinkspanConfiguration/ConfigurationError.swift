/// All problems of a configuration.
///
/// Nothing was started. Its text is one line for one problem, and a headline with a line per problem, at most a hundred, for
/// more. It never holds the values of secrets, nor the queries of URLs.
public struct ConfigurationError: Error, Sendable, Hashable {
    /// The problems found; never empty.
    public var problems: [ConfigurationProblem]

    /// Makes an error.
    public init(problems: [ConfigurationProblem]) { self.problems = problems }

    /// A line for each problem; beyond a hundred, the number of the others.
    var lines: [String] {
        let shown = self.problems.prefix(100).map(\.description)
        let rest = self.problems.count - shown.count
        return rest == 0 ? shown : shown + ["and \(rest) more"]
    }
}

extension ConfigurationError: CustomStringConvertible {
    /// All problems for a person.
    public var description: String {
        guard self.problems.count > 1 else {
            return "1 problem in configuration, nothing was started: \(self.problems.first?.description ?? "unknown")"
        }
        let headline = "\(self.problems.count) problems in configuration, nothing was started:"
        return ([headline] + self.lines).joined(separator: "\n ")
    }
}

/// A problem of a configuration.
public struct ConfigurationProblem: Sendable, Hashable, Encodable {
    /// The kind of problem.
    package var code: Code
    /// The full key, such as `linkspan.transport.adapter`; or the file with line and column, when it cannot be read.
    public var path: String
    /// The fault, and the value that was expected.
    public var message: String
    /// The origin of the value: `file:line`, the variable, or the flag; nil when no value was given.
    public var origin: String?
    /// The value that this one overrides, and its origin.
    public var hides: String?

    /// Whether a required key is missing.
    public var isMissing: Bool { self.code == .missing }

    init(_ code: Code, _ path: String, _ message: String, origin: String? = nil, hides: String? = nil) {
        self.code = code
        self.path = path
        self.message = message
        self.origin = origin
        self.hides = hides
    }

    /// The kind of a problem, which reports for programs name.
    package enum Code: String, Sendable, Hashable, Encodable {
        /// The file does not exist, cannot be read, or is not text.
        case unreadableFile
        /// The file is not well-formed.
        case syntax
        /// The key, transport or service is unknown.
        case unknownName
        /// The value does not have the key's type or range.
        case wrongValue
        /// A required key is missing.
        case missing
        /// A secret stands in a file.
        case secretInFile
        /// A secret stands on a command line.
        case secretInArguments
        /// The key is given twice, or two keys have one spelling.
        case ambiguous
        /// The transport or service refused its options.
        case refused
    }
}

extension [ConfigurationProblem] {
    /// Adds a problem of a key, which is given without its root.
    mutating func add(_ code: Element.Code, _ path: String, _ message: String, origin: String? = nil) {
        self.append(Element(code, ConfigurationPath.full(path), message, origin: origin))
    }
}

extension ConfigurationProblem: CustomStringConvertible {
    /// The problem in one line.
    public var description: String {
        var text = "\(self.path)  \(self.message)"
        if let origin = self.origin { text += "  from \(origin)" }
        if let hides = self.hides { text += "; hides \(hides)" }
        return text
    }
}
