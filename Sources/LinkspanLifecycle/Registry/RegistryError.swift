/// What a registry refuses or fails to do.
public struct RegistryError: Error, Sendable, CustomStringConvertible {
    /// What kind of error; the list may grow.
    public struct Code: RawRepresentable, Sendable, Hashable {
        /// The name of the code.
        public var rawValue: String

        /// Makes a code from its name.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// A sibling already has the name.
        public static let duplicateName = Code(rawValue: "duplicateName")
        /// Needs are missing, unclear or circular; ``RegistryError/problems`` names all of them.
        public static let invalidPlan = Code(rawValue: "invalidPlan")
        /// A required service did not start; what had started was stopped.
        public static let startFailed = Code(rawValue: "startFailed")
        /// The start was given up because a stop or a cancellation came; what had started was stopped.
        public static let startCancelled = Code(rawValue: "startCancelled")
        /// The registry has stopped and does not start again.
        public static let alreadyStopped = Code(rawValue: "alreadyStopped")
        /// The registry to be nested has been started, or is nested already.
        public static let notNestable = Code(rawValue: "notNestable")
        /// There is no such service.
        public static let notFound = Code(rawValue: "notFound")
        /// There are several such services.
        public static let ambiguous = Code(rawValue: "ambiguous")
        /// There is such a service, but the one that asks has not declared that it needs it.
        public static let notDeclared = Code(rawValue: "notDeclared")
        /// The call that asks was given up by the registry.
        public static let abandoned = Code(rawValue: "abandoned")
    }

    /// What kind of error.
    public var code: Code
    /// What happened, for a log line.
    public var message: String
    /// All problems, if there may be several.
    public var problems: [String]
    /// The paths of the services that are meant.
    public var paths: [String]
    /// What was thrown underneath.
    public var cause: (any Error)?
    /// For a start that was rolled back, the fate of every service.
    public var report: ShutdownReport?

    /// Makes an error.
    public init(
        code: Code, message: String, problems: [String] = [], paths: [String] = [], cause: (any Error)? = nil,
        report: ShutdownReport? = nil
    ) {
        self.code = code
        self.message = message
        self.problems = problems
        self.paths = paths
        self.cause = cause
        self.report = report
    }

    /// The code and the message.
    public var description: String { "\(self.code.rawValue): \(self.message)" }
}
