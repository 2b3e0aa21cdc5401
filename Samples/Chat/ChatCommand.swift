import ArgumentParser

/// The command line of the chat.
@available(macOS 15, *)
struct ChatCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "chat", abstract: "A chat for the terminal, on Linkspan.",
        subcommands: [DemoCommand.self, JoinCommand.self, ServeCommand.self, ConfigCommand.self, OutboxCommand.self])
}

/// Runs the command; every mistake in the arguments is one line on standard error and status 64.
@available(macOS 15, *)
@main
enum Main {
    static func main() async {
        do {
            var command = try ChatCommand.parseAsRoot()
            if var asynchronous = command as? any AsyncParsableCommand {
                try await asynchronous.run()
            } else {
                try command.run()
            }
        } catch let status as ExitCode {
            // The code that chose the status has printed the reason.
            ChatCommand.exit(withError: status)
        } catch {
            guard ChatCommand.exitCode(for: error) == .validationFailure else { ChatCommand.exit(withError: error) }
            LineOutput.complain(ChatCommand.message(for: error))
            ChatCommand.exit(withError: ExitCode.validationFailure)
        }
    }
}
