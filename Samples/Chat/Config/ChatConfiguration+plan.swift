import ArgumentParser
import LinkspanConfiguration
import LinkspanTerminal

@available(macOS 15, *)
extension ChatConfiguration {
    /// Makes the plan for a visitor, and prints what is wrong.
    ///
    /// - Throws: the exit with status 64, after everything that is wrong was printed.
    func plan(for visitor: Visitor, _ news: ChatNews) throws -> LoadedPlan {
        do {
            return try self.load(for: visitor, news)
        } catch {
            throw Self.complain(error)
        }
    }

    /// Prints everything that is wrong.
    ///
    /// - Returns: the exit with status 64.
    private static func complain(_ error: ConfigurationError) -> ExitCode {
        if let problem = error.problems.first, error.problems.count == 1, problem.isMissing,
            problem.path.hasSuffix(".url")
        {
            LineOutput.complain("\(problem.path) is missing: name the server, as in --url http://127.0.0.1:3000")
        } else {
            for line in error.description.split(separator: "\n") { LineOutput.complain(String(line)) }
        }
        return .validationFailure
    }
}
