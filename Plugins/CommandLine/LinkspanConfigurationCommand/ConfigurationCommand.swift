public import ArgumentParser
internal import LinkspanConfiguration

/// The command `config` with `check`, `plan` and `explain`: what the configuration of an app says, without starting anything.
///
/// An app embeds it in its own command line:
///
/// ```swift
/// struct Flags: ConfigurationFlags {
///     @Option(help: "A configuration file.") var config: String?
///
///     var loader: ConfigurationLoader { ConfigurationLoader(catalog: Catalog()) }
///     var sources: ConfigurationSources { ConfigurationSources(file: self.config) }
/// }
///
/// struct App: ParsableCommand {
///     static let configuration = CommandConfiguration(
///         subcommands: [ConfigurationCommand<Flags>.self])
/// }
/// ```
///
/// `config check` prints the plan in a line, or all problems; `config plan` prints transport, endpoint, options that differ from
/// their defaults, and the services in the order of start; `config explain KEY` prints a value with its origin, the values that it
/// hides, its form and the effect of a change. With `--json` each prints one object for programs. The exit status is 64 when
/// there are problems.
public struct ConfigurationCommand<Flags: ConfigurationFlags>: ParsableCommand {
    /// The name of the command and its subcommands.
    public static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "config", abstract: "Checks and explains the configuration without starting anything.",
            subcommands: [CheckCommand<Flags>.self, PlanCommand<Flags>.self, ExplainCommand<Flags>.self])
    }

    /// Makes the command, for ArgumentParser.
    public init() {}
}

/// The command `config check`.
struct CheckCommand<Flags: ConfigurationFlags>: ParsableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "check", abstract: "Reports all problems of the configuration.",
            discussion: "The exit status is 0 without problems, else 64.")
    }

    @OptionGroup var flags: Flags
    @Flag(help: "Prints JSON.") var json = false

    func run() throws {
        guard self.json else { return Output.show("valid: \(PlanReport(try self.flags.load()).summary)") }
        do throws(ConfigurationError) {
            _ = try self.flags.loader.load(self.flags.sources)
        } catch {
            Output.show(JSONText.of(ProblemReport(error)))
            throw ExitCode.validationFailure
        }
        Output.show(JSONText.of(ProblemReport(problems: [])))
    }
}

/// The command `config plan`.
struct PlanCommand<Flags: ConfigurationFlags>: ParsableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "plan",
            abstract: "Prints the plan: transport, endpoint, options, and the services in the order of start.")
    }

    @OptionGroup var flags: Flags
    @Flag(help: "Prints JSON.") var json = false

    func run() throws {
        let report = PlanReport(try self.flags.load())
        if self.json { return Output.show(JSONText.of(report)) }
        for line in report.lines { Output.show(line) }
    }
}

/// The command `config explain KEY`.
struct ExplainCommand<Flags: ConfigurationFlags>: ParsableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "explain", abstract: "Prints the value of a key, its origin and its purpose.",
            discussion: "For a section, such as 'connection', prints this for each of its keys.")
    }

    @Argument(help: "The key, such as transport.adapter.") var key: String
    @OptionGroup var flags: Flags
    @Flag(help: "Prints JSON.") var json = false

    func run() throws {
        let plan = try self.flags.load()
        if let setting = plan.explain(self.key) {
            let report = SettingReport(setting, self.flags.loader.reference)
            if self.json { return Output.show(JSONText.of(report)) }
            for line in report.lines { Output.show(line) }
            return
        }
        let section = plan.settings(in: self.key)
        guard section.isEmpty else {
            if self.json { return Output.show(JSONText.of(section.map { SettingReport($0, []) })) }
            for setting in section { Output.show("\(setting)") }
            return
        }
        Output.complain(self.flags.loader.diagnose(self.key)?.description ?? "unknown key")
        throw ExitCode.validationFailure
    }
}
