/// An error of a service registry.
public struct RegistryError: Error, Sendable, CustomStringConvertible {
    /// The kind of a registry error.
    @nonexhaustive
    public enum Code: Sendable, Hashable {
        /// A sibling already has the name.
        case duplicateName
        /// Needs are missing, unclear or circular; ``RegistryError/problems`` names all of them.
        case invalidPlan
        /// A required service did not start; the services that had started were stopped.
        case startFailed
        /// The start was cancelled, or a stop came first; the services that had started were stopped.
        case startCancelled
        /// The registry has stopped and does not start again.
        case alreadyStopped
        /// The registry to be nested has been started, or is nested already.
        case notNestable
        /// There is no such service.
        case notFound
        /// There are several such services.
        case ambiguous
        /// The service exists, but the one that asks has not declared that it needs it.
        case notDeclared
        /// The registry has given the call up.
        case abandoned
    }

    /// The kind of the error.
    public var code: Code
    /// A description of the error, for a log line.
    public var message: String
    /// All problems, if there may be several.
    public var problems: [String] = []
    /// The paths of the services concerned.
    public var paths: [String] = []
    /// For a start that was rolled back, the fate of every service.
    public var report: ShutdownReport?

    /// The code and the message.
    public var description: String { "\(self.code): \(self.message)" }
}
