import ArgumentParser

/// The command line of the chat.
@available(macOS 15, *)
struct ChatCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "chat", abstract: "A chat for the terminal, on Linkspan.",
        subcommands: Self.subcommands)

    private static var subcommands: [any ParsableCommand.Type] {
        let always: [any ParsableCommand.Type] = [
            DemoCommand.self, JoinCommand.self, ServeCommand.self, ProbeCommand.self, ConfigCommand.self,
            TopCommand.self,
        ]
        #if OUTBOX
        return always + [OutboxCommand.self]
        #else
        return always
        #endif
    }
}

/// Runs the command; invalid arguments end it with status 64, after an error and the usage on standard error.
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
            Self.complain(error)
            ChatCommand.exit(withError: ExitCode.validationFailure)
        }
    }

    /// The sentence for the first word that should be a command and is none.
    private static var unknownCommand: String? {
        var type: any ParsableCommand.Type = ChatCommand.self
        for word in CommandLine.arguments.dropFirst() where !word.hasPrefix("-") {
            let commands = type.configuration.subcommands
            guard !commands.isEmpty else { return nil }
            guard let next = commands.first(where: { $0._commandName == word }) else {
                let names = commands.map { $0._commandName }
                return "unknown command '\(word)'\(Spelling.guess(word, among: names)); "
                    + "the commands are \(names.joined(separator: ", "))"
            }
            type = next
        }
        return nil
    }

    /// Prints the problem with the arguments, then the usage.
    private static func complain(_ error: any Error) {
        if let sentence = Self.unknownCommand { return LineOutput.complain(sentence) }
        LineOutput.complain(ChatCommand.message(for: error))
        let lines = ChatCommand.fullMessage(for: error).split(separator: "\n", omittingEmptySubsequences: false)
        for line in lines.drop(while: { !$0.hasPrefix("Usage:") }) where !line.isEmpty {
            LineOutput.showUsage(String(line))
        }
    }
}
