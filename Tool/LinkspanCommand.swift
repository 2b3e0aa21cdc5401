import ArgumentParser
import LinkspanTerminal

/// The command line of the tool.
@available(macOS 15, *)
struct LinkspanCommand: AsyncParsableCommand {
    /// The newest version with a date in the change log.
    static let version = "0.1.0"

    static let configuration = CommandConfiguration(
        commandName: "linkspan", abstract: "Examines, probes and watches real-time servers and their clients.",
        discussion: """
            Colours are left out when NO_COLOR is set or the output is no terminal. Messages about a mistake, and news of \
            a connection, go to standard error; results go to standard output.

            linkspan --version prints the version.

            Completion for the shell: linkspan completion bash (or zsh, or fish) prints a script to source.

            Exit status: 0 when all went well; 64 for a mistake in the arguments; 74 when standard output cannot be written, \
            as on a full disk. The help of each command says what else there is.
            """,
        subcommands: Self.subcommands)

    private static var subcommands: [any ParsableCommand.Type] {
        let always: [any ParsableCommand.Type] = [
            DoctorCommand.self, ProbeCommand.self, LoadCommand.self, ProxyCommand.self, TopCommand.self,
            ConfigCommand.self, CompletionCommand.self,
        ]
        #if OUTBOX
        return always + [OutboxCommand.self]
        #else
        return always
        #endif
    }
}

/// The command `linkspan completion`.
@available(macOS 15, *)
struct CompletionCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "completion", abstract: "Prints a script that completes commands and flags in a shell.")

    @Argument(help: "bash, zsh or fish.") var shell: String

    func run() throws {
        guard let shell = CompletionShell(rawValue: self.shell) else {
            throw ValidationError("there is completion for bash, zsh and fish, not for '\(self.shell)'")
        }
        LineOutput.showLines(LinkspanCommand.completionScript(for: shell))
    }
}

/// Runs the command.
@available(macOS 15, *)
@main
enum Main {
    static func main() async { await Program.run(LinkspanCommand.self, version: LinkspanCommand.version) }
}
