import ArgumentParser
import Foundation
import LinkspanConfiguration

/// The command `chat config`: what the configuration says, without starting anything.
@available(macOS 15, *)
struct ConfigCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "config", abstract: "Checks and explains the configuration without starting anything.",
        subcommands: [Check.self, Plan.self, Explain.self, Path.self])

    /// The flags of each report.
    struct Flags: ParsableArguments {
        @OptionGroup var configuration: ChatConfigurationFlags
        @Flag(help: "Prints JSON.") var json = false

        /// Prints a report; the exit status is 64 when there are problems.
        func print(_ report: (ConfigurationSources, ConfigurationLoader) -> ConfigurationReport) throws {
            let report = report(self.configuration.sources, self.configuration.loader)
            for line in self.json ? [report.json] : report.lines { LineOutput.showLines(line) }
            if !self.json { report.problems.forEach(LineOutput.complain) }
            if !report.problems.isEmpty { throw ExitCode.validationFailure }
        }
    }

    /// `chat config check`.
    struct Check: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Reports all problems of the configuration.",
            discussion: "The exit status is 0 without problems, else 64.")

        @OptionGroup var flags: Flags

        func run() throws { try self.flags.print { .check($0, by: $1) } }
    }

    /// `chat config plan`.
    struct Plan: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Prints the plan: transport, endpoint, options, and the services in the order of start.")

        @OptionGroup var flags: Flags

        func run() throws { try self.flags.print { .plan($0, by: $1) } }
    }

    /// `chat config explain KEY`.
    struct Explain: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Prints the value of a key, its origin and its purpose.",
            discussion: "For a section, such as 'connection', prints this for each of its keys.")

        @Argument(help: "The key, such as transport.adapter.") var key: String
        @OptionGroup var flags: Flags

        func run() throws { try self.flags.print { .explain(self.key, in: $0, by: $1) } }
    }

    /// `chat config path`.
    struct Path: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Prints the configuration file that is read when --config names none.",
            discussion: "The exit status is 1, with the places on standard error, when there is none.")

        func run() throws {
            let file = UserFile(environment: ProcessInfo.processInfo.environment)
            if let path = file.path { return LineOutput.show(path) }
            LineOutput.complain("there is none of \(file.candidates.joined(separator: ", "))")
            throw ExitCode.failure
        }
    }
}
