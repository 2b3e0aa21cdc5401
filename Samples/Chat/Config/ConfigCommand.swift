import ArgumentParser
import Foundation
import LinkspanConfiguration

/// The command `chat config`: what holds, and why, without starting anything.
@available(macOS 15, *)
struct ConfigCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "config", abstract: "Checks and explains the configuration without starting anything.",
        subcommands: [Check.self, Plan.self, Explain.self, Path.self])

    /// `chat config check`.
    struct Check: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Reports all problems of the configuration.",
            discussion: "The exit status is 0 without problems, else 64.")

        @OptionGroup var flags: ConfigurationFlags
        @Flag(help: "Prints JSON.") var json = false

        func run() throws {
            guard self.json else {
                LineOutput.show("valid: \(PlanReport(try self.flags.load()).summary)")
                return
            }
            do {
                _ = try self.flags.loader.load(self.flags.configuration.sources)
                try JSONReport(ProblemReport(problems: [])).show()
            } catch let error as ConfigurationError {
                try JSONReport(ProblemReport(error)).show()
                throw ExitCode.validationFailure
            }
        }
    }

    /// `chat config plan`.
    struct Plan: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Prints the plan: transport, endpoint, options, and the services in the order of start.")

        @OptionGroup var flags: ConfigurationFlags
        @Flag(help: "Prints JSON.") var json = false

        func run() throws {
            let report = PlanReport(try self.flags.load())
            if self.json { return try JSONReport(report).show() }
            for line in report.lines { LineOutput.show(line) }
        }
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

    /// `chat config explain KEY`.
    struct Explain: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Prints the value of a key, its origin and its purpose.",
            discussion: "For a section, such as 'connection', prints this for each of its keys.")

        @Argument(help: "The key, such as transport.adapter.")
        var key: String

        @OptionGroup var flags: ConfigurationFlags
        @Flag(help: "Prints JSON.") var json = false

        func run() throws {
            let plan = try self.flags.load()
            if let setting = plan.explain(self.key) {
                let report = SettingReport(setting, self.flags.loader.reference)
                if self.json { return try JSONReport(report).show() }
                for line in report.lines { LineOutput.show(line) }
                return
            }
            let section = plan.settings(in: self.key)
            guard section.isEmpty else {
                if self.json { return try JSONReport(section.map { SettingReport($0, []) }).show() }
                for setting in section { LineOutput.show("\(setting)") }
                return
            }
            LineOutput.complain(self.flags.loader.diagnose(self.key)?.description ?? "unknown key")
            throw ExitCode.validationFailure
        }
    }
}
