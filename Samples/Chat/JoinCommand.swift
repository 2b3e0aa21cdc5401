import ArgumentParser
import Foundation
import Linkspan
import LinkspanMessaging
import LinkspanConfiguration
import LinkspanTerminal

/// The command `chat join`.
@available(macOS 15, *)
struct JoinCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "join", abstract: "Joins a room: lines from standard input go to it.",
        discussion: """
            At a terminal the chat is interactive: /help lists the commands. With a pipe or a file at either side, \
            lines go in and out as they are. \
            Lines that begin with "* " report people and the state of the connection. Input is accepted while the \
            connection is down, and arrives in order when it is back. At the end of input the chat waits for all \
            confirmations, and without any line until the server lets it in. Its status is 1 when a line was not \
            delivered.
            """)

    @Option(help: "Your name.")
    var name: String

    @Option(help: "The room to join.")
    var room = "lobby"

    @OptionGroup var flags: ChatConfigurationFlags

    @Option(help: "A file that keeps lines until they are delivered, even if the chat is killed.")
    var outbox: String?

    @Flag(help: "Follows the configuration file while it runs.")
    var watch = false

    @Option(help: "Seconds to wait at the end of input for confirmations, and, once connected, to be let in.")
    var drain = 10.0

    func validate() throws {
        #if !OUTBOX
        guard self.outbox == nil else {
            throw ValidationError("--outbox is not built in: switch the trait Outbox of the package linkspan on")
        }
        #endif
        guard self.drain.isFinite, (0...86_400).contains(self.drain) else {
            throw ValidationError("--drain has to be a number of seconds from 0 to 86400")
        }
    }

    func run() async throws {
        let configuration = self.flags.configuration.with(outbox: self.outbox)
        let visitor = Visitor(name: self.name, room: self.room)
        let news = ChatNews()
        let plan = try configuration.plan(for: visitor, news)
        let isKept = plan.plan.options.store != nil
        let visit = try await Visit.begin(visitor, news, plan)
        let terminal = TerminalDevice(environment: ProcessInfo.processInfo.environment)
        let ending = await withTaskGroup(of: Void.self) { group in
            if self.watch {
                // At a terminal, standard error is shown in the conversation.
                let isInteractive = terminal != nil
                group.addTask {
                    await visit.follow(configuration) {
                        isInteractive ? LineOutput.complain($0) : LineOutput.news($0)
                    }
                }
            }
            defer { group.cancelAll() }
            return await self.stay(visit, configuration, terminal, isKept: isKept)
        }
        await visit.messaging.stop()
        try ending()
    }

    /// Stays until the visitor leaves.
    ///
    /// - Returns: a function that throws the command's exit, once everything has stopped.
    private func stay(
        _ visit: Visit, _ configuration: ChatConfiguration, _ terminal: TerminalDevice?, isKept: Bool
    ) async -> () throws -> Void {
        let patience = Duration.seconds(self.drain)
        guard let terminal else {
            let ending = await ChatSession(visit).run(lines: LineInput.lines(), patience: patience)
            return self.end(ending, isKept: isKept, visit.connection.status)
        }
        let floor = VisitFloor(visit, configuration)
        let session = InteractiveSession(
            name: self.name, room: self.room, floor: floor, terminal: terminal,
            style: Style(environment: ProcessInfo.processInfo.environment), settings: visit.interface,
            patience: patience)
        let ending = await withTaskGroup(of: Void.self) { group in
            group.addTask { await floor.run() }
            defer { group.cancelAll() }
            return await session.run()
        }
        return self.end(ending, isKept: isKept, visit.connection.status)
    }

    private func end(
        _ ending: InteractiveSession.Ending, isKept: Bool, _ status: ConnectionStatus
    ) -> () throws -> Void {
        {
            switch ending {
            case .finished(let undelivered, let lost):
                let reason = undelivered > 0 ? ": \(ConnectionNews.obstacle(status))" : ""
                if isKept, undelivered > 0 { LineOutput.news("\(undelivered.lines) waiting in the outbox\(reason)") }
                let lost = isKept ? lost : lost + undelivered
                guard lost > 0 else { return }
                LineOutput.complain("\(lost.lines) not delivered\(isKept ? "" : reason)")
                throw ExitCode.failure
            case .failed(let sentence):
                LineOutput.complain(sentence)
                throw ExitCode.failure
            case .terminated(let signal):
                // What a shell says of a process that the signal has ended.
                throw ExitCode(128 + signal)
            }
        }
    }
}
