import ArgumentParser
import LinkspanTerminal

/// The command line of the tool.
@available(macOS 15, *)
struct LinkspanCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "linkspan", abstract: "Examines, probes and watches real-time servers and their clients.",
        discussion: """
            Colours are left out when NO_COLOR is set or the output is no terminal. Messages about a mistake, and news of \
            a connection, go to standard error; results go to standard output.

            Completion for the shell: linkspan --generate-completion-script bash (or zsh, or fish) prints a script to \
            source.

            Exit status: 0 when all went well; 64 for a mistake in the arguments. The help of each command says what else \
            there is.
            """,
        subcommands: Self.subcommands)

    private static var subcommands: [any ParsableCommand.Type] {
        let always: [any ParsableCommand.Type] = [
            DoctorCommand.self, ProbeCommand.self, LoadCommand.self, ProxyCommand.self, TopCommand.self,
            ConfigCommand.self,
        ]
        #if OUTBOX
        return always + [OutboxCommand.self]
        #else
        return always
        #endif
    }
}

/// Runs the command.
@available(macOS 15, *)
@main
enum Main {
    static func main() async { await Program.run(LinkspanCommand.self) }
}
