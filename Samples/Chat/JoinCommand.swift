import ArgumentParser
import Linkspan
import LinkspanConfiguration

/// The command `chat join`.
@available(macOS 15, *)
struct JoinCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "join", abstract: "Joins a room: lines from standard input go to it.",
        discussion: """
            Lines that begin with "* " tell of people and of the connection. Typing goes on while the connection is \
            down; what was typed arrives in order when it is back. At the end of input the chat waits until everything \
            is confirmed.
            """)

    @Option(help: "Who you are.")
    var name: String

    @Option(help: "The room to join.")
    var room = "lobby"

    @Option(help: "What carries the traffic: memory, socketio, websocket. Overrides the configuration.")
    var transport: String?

    @Option(help: "The endpoint. Overrides the configuration.")
    var url: String?

    @Option(help: "A configuration file, YAML or JSON.")
    var config: String?

    @Option(help: "Seconds to wait at the end of input until everything is confirmed.")
    var drain = 10.0

    func validate() throws {
        guard self.drain.isFinite, (0...86_400).contains(self.drain) else {
            throw ValidationError("--drain has to be a number of seconds from 0 to 86400")
        }
    }

    func run() async throws {
        let configuration = ChatConfiguration(file: self.config, transport: self.transport, url: self.url)
        let visitor = Visitor(name: self.name, room: self.room)
        let news = ChatNews()
        let plan = try configuration.plan(for: visitor, news)
        let visit: Visit
        do {
            visit = try await Visit.begin(visitor, news, plan)
        } catch {
            LineOutput.complain(error.message)
            throw ExitCode(64)
        }
        let ending = await ChatSession(visit).run(lines: LineInput.lines(), patience: .seconds(self.drain))
        await visit.messaging.stop()
        switch ending {
        case .finished(undelivered: 0):
            ()
        case .finished(let undelivered):
            LineOutput.complain("\(undelivered) lines were not delivered")
            throw ExitCode.failure
        case .failed(let error):
            LineOutput.complain(error.message)
            throw ExitCode.failure
        }
    }
}
