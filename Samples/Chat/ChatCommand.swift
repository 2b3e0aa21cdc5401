import ArgumentParser
import LinkspanTerminal

/// The command line of the chat.
@available(macOS 15, *)
struct ChatCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "chat", abstract: "A chat for the terminal, on Linkspan.",
        subcommands: [DemoCommand.self, JoinCommand.self, ServeCommand.self])
}

/// Runs the command.
@available(macOS 15, *)
@main
enum Main {
    static func main() async { await Program.run(ChatCommand.self) }
}
