/// Everything that is wrong with a configuration, found at once.
///
/// Nothing was started. Its text is one line for one problem, and a headline with a line per problem for more. It never
/// holds the values of secrets, nor the queries of URLs.
public struct ConfigurationError: Error, Sendable, Hashable {
    /// What is wrong; never empty.
    public var problems: [ConfigurationProblem]

    /// Makes an error.
    public init(problems: [ConfigurationProblem]) { self.problems = problems }
}

extension ConfigurationError: CustomStringConvertible {
    /// All problems for a person.
    public var description: String {
        guard self.problems.count != 1, let first = self.problems.first else {
            return "1 problem in configuration, nothing was started: "
                + (self.problems.first?.description ?? "unknown")
        }
        var text = "\(self.problems.count) problems in configuration, nothing was started:\n \(first)"
        for problem in self.problems.dropFirst() { text += "\n \(problem)" }
        return text
    }
}

/// One thing that is wrong with a configuration.
public struct ConfigurationProblem: Sendable, Hashable {
    /// The kind of problem.
    public var code: Code
    /// The full key, such as `linkspan.transport.adapter`; or the file with line and column, when it cannot be read.
    public var path: String
    /// What is wrong, and what was expected.
    public var message: String
    /// Where the value was given: `file:line`, the variable, or the flag; nil when nothing was given.
    public var origin: String?
    /// What would hold without the value, and where that was given.
    public var hides: String?

    /// Makes a problem.
    public init(_ code: Code, _ path: String, _ message: String, origin: String? = nil, hides: String? = nil) {
        self.code = code
        self.path = path
        self.message = message
        self.origin = origin
        self.hides = hides
    }

    /// The kind of a ``ConfigurationProblem``.
    ///
    /// A struct, so that new kinds are not a breaking change.
    public struct Code: RawRepresentable, Sendable, Hashable {
        /// The name of the kind.
        public var rawValue: String

        /// Makes a code from its name.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// The file does not exist, cannot be read, or is not text.
        public static let unreadableFile = Self(rawValue: "unreadableFile")
        /// The file is not well-formed.
        public static let syntax = Self(rawValue: "syntax")
        /// Nobody knows the key, or the transport or service that is named.
        public static let unknownName = Self(rawValue: "unknownName")
        /// The value is not what the key takes.
        public static let wrongValue = Self(rawValue: "wrongValue")
        /// The key must be given and is not.
        public static let missing = Self(rawValue: "missing")
        /// A secret stands in a file.
        public static let secretInFile = Self(rawValue: "secretInFile")
        /// A secret stands on a command line.
        public static let secretInArguments = Self(rawValue: "secretInArguments")
        /// The key is given twice, or two keys have one spelling.
        public static let ambiguous = Self(rawValue: "ambiguous")
        /// The transport or service refused its options.
        public static let refused = Self(rawValue: "refused")
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
