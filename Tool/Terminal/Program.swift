public import ArgumentParser
internal import Foundation
internal import Linkspan

/// The main function of a program with commands.
@available(macOS 15, *)
public enum Program {
    /// Runs the command that the arguments name; invalid arguments end it with status 64, after an error and the usage on
    /// standard error.
    ///
    /// A command may throw what is wrong with the values of its arguments, as `ValidationError` or `LinkspanError`: that is
    /// printed without the usage, which would not help.
    ///
    /// - Parameters:
    ///   - root: the command of the program.
    ///   - version: the answer to `--version`. As the parser's own it would be one to that flag of every command.
    public static func run(_ root: (some AsyncParsableCommand).Type, version: String? = nil) async {
        self.prepareStreams()
        let status = await self.status(of: root, version)
        exit(LineOutput.status(or: status.rawValue))
    }

    private static func status(of root: (some AsyncParsableCommand).Type, _ version: String?) async -> ExitCode {
        do {
            if let version, self.arguments == ["--version"] { throw CleanExit.message(version) }
            if self.arguments.first == "help", let sentence = self.unknownCommand(root) {
                throw ValidationError(sentence)
            }
            var command = try root.parseAsRoot(self.arguments)
            if var asynchronous = command as? any AsyncParsableCommand {
                try await asynchronous.run()
            } else {
                try command.run()
            }
            return .success
        } catch let status as ExitCode {
            // The code that chose the status has printed the reason.
            return status
        } catch {
            if let mistake = (error as? ValidationError)?.message ?? (error as? LinkspanError)?.message {
                LineOutput.complain(mistake)
                return .validationFailure
            }
            let status = root.exitCode(for: error)
            switch status {
            case .success: LineOutput.showLines(root.fullMessage(for: error))
            case .validationFailure: self.complain(error, root)
            default: LineOutput.complain(root.message(for: error))
            }
            return status
        }
    }

    /// Opens the standard streams that are closed: sockets would take their numbers, and get what is printed.
    ///
    /// A closed pipe is an error of a write, which ends the program in order; see ``LineOutput``.
    private static func prepareStreams() {
        signal(SIGPIPE, SIG_IGN)
        for descriptor in STDIN_FILENO...STDERR_FILENO where fcntl(descriptor, F_GETFD) < 0 {
            _ = open("/dev/null", O_RDWR)
        }
    }

    /// The arguments, with each negative number joined to its flag: the parser would take it for a flag.
    private static var arguments: [String] {
        CommandLine.arguments.dropFirst().reduce(into: []) { words, word in
            if let flag = words.last, flag.hasPrefix("--"), flag.count > 2, !flag.contains("="),
                Double(word).map({ $0 < 0 }) == true
            {
                words[words.count - 1] = "\(flag)=\(word)"
            } else {
                words.append(word)
            }
        }
    }

    /// The sentence for the first word that should be a command and is none.
    private static func unknownCommand(_ root: any ParsableCommand.Type) -> String? {
        var type = root
        let words = CommandLine.arguments.dropFirst()
        for word in words.first == "help" ? words.dropFirst() : words where !word.hasPrefix("-") {
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
    private static func complain(_ error: any Error, _ root: any ParsableCommand.Type) {
        if let sentence = self.unknownCommand(root) { return LineOutput.complain(sentence) }
        LineOutput.complain(root.message(for: error))
        let lines = root.fullMessage(for: error).split(separator: "\n", omittingEmptySubsequences: false)
        for line in lines.drop(while: { !$0.hasPrefix("Usage:") }) where !line.isEmpty {
            LineOutput.remark(String(line))
        }
    }
}
