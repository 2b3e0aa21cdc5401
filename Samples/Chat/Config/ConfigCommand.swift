import ArgumentParser
import Foundation
import LinkspanConfigurationCommand

/// The command `chat config`: that of the library, and the file that the chat reads by itself.
@available(macOS 15, *)
struct ConfigCommand: ParsableCommand {
    static let configuration: CommandConfiguration = {
        var configuration = ConfigurationCommand<ChatConfigurationFlags>.configuration
        configuration.subcommands.append(Path.self)
        return configuration
    }()

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
