import ArgumentParser
import LinkspanConfiguration
import LinkspanTerminal

/// The command `linkspan config`: what a configuration says, without starting anything.
@available(macOS 15, *)
struct ConfigCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "config", abstract: "Checks and explains a configuration without starting anything.",
        discussion: """
            The transports and services of Linkspan are known; name those of the app with --service. Variables such as \
            LINKSPAN_TRANSPORT_ADAPTER count as they would for the app.

              linkspan config check --config app.yaml
              linkspan config plan --config app.yaml --service rooms --service clock:zone,format
              linkspan config explain connection.idleTimeout --config app.yaml

            Exit status: 0 without problems, else 64.
            """,
        subcommands: [Check.self, Plan.self, Explain.self])

    /// The flags of each report.
    struct Flags: ParsableArguments {
        @Option(help: "The configuration file, YAML or JSON.") var config: String?

        @Option(help: "The transport: memory, socketio or websocket. Overrides the configuration.")
        var transport: String?

        @Option(help: "The endpoint. Overrides the configuration.") var url: String?

        @OptionGroup var network: NetworkFlag

        @Option(help: "A service of the app, NAME or NAME:OPTION,OPTION; may be repeated.") var service: [String] = []

        @Flag(help: "Prints JSON.") var json = false

        /// Prints a report; the exit status is 64 when there are problems.
        func print(_ report: (ConfigurationSources, ConfigurationLoader) -> ConfigurationReport) throws {
            let report = report(self.sources, ConfigurationLoader(catalog: .app(with: self.service)))
            for line in self.json ? [report.json] : report.lines { LineOutput.showLines(line) }
            if !self.json { report.problems.forEach(LineOutput.complain) }
            if !report.problems.isEmpty { throw ExitCode.validationFailure }
        }

        private var sources: ConfigurationSources {
            let flags = [
                ("transport.adapter", self.transport, "--transport"), ("transport.url", self.url, "--url"),
                ("transport.socketio.network", self.network.network, "--network"),
                ("transport.websocket.network", self.network.network, "--network"),
            ]
            // The scheme of `--url` says the transport when nothing else does.
            let adapters = ["ws": "websocket", "wss": "websocket", "http": "socketio", "https": "socketio"]
            let adapter = self.url?.split(separator: ":").first.flatMap { adapters[$0.lowercased()] }
            return ConfigurationSources(
                file: self.config,
                overrides: flags.compactMap { path, value, origin in
                    value.map { Override(path: path, value: $0, origin: origin) }
                },
                defaults: adapter.map { [Override(path: "transport.adapter", value: $0, origin: "--url")] } ?? [])
        }
    }

    /// `linkspan config check`.
    struct Check: ParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Reports all problems of the configuration.")

        @OptionGroup var flags: Flags

        func run() throws { try self.flags.print { .check($0, by: $1) } }
    }

    /// `linkspan config plan`.
    struct Plan: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Prints the plan: transport, endpoint, options, and the services in the order of start.")

        @OptionGroup var flags: Flags

        func run() throws { try self.flags.print { .plan($0, by: $1) } }
    }

    /// `linkspan config explain KEY`.
    struct Explain: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Prints the value of a key, its origin and its purpose.",
            discussion: "For a section, such as 'connection', prints this for each of its keys.")

        @Argument(help: "The key, such as transport.adapter.") var key: String
        @OptionGroup var flags: Flags

        func run() throws { try self.flags.print { .explain(self.key, in: $0, by: $1) } }
    }
}
