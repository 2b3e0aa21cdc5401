import ArgumentParser
import Foundation
import Linkspan
import LinkspanConfiguration

/// The command `chat join`.
@available(macOS 15, *)
struct JoinCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "join", abstract: "Joins a room: lines from standard input go to it.",
        discussion: """
            At a terminal the chat is interactive: /help tells what there is. With a pipe or a file at either side, \
            lines go in and out as they are. \
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
        let (plan, transport) = try configuration.plan(for: visitor)
        let messaging: Messaging
        do {
            messaging = try await Messaging.start(plan)
        } catch {
            LineOutput.complain(error.message)
            throw ExitCode(64)
        }
        let connection = try messaging.connect()
        let environment = ProcessInfo.processInfo.environment
        guard let terminal = TerminalDevice(environment: environment) else {
            let session = try ChatSession(visitor, over: connection, transport: transport)
            let ending = await session.run(lines: LineInput.lines(), patience: .seconds(self.drain))
            await messaging.stop()
            return try self.end(ending)
        }
        let floor = try RoomFloor(visitor, over: connection, transport: transport)
        let session = InteractiveSession(
            name: self.name, room: self.room, floor: floor, terminal: terminal, style: Style(environment: environment),
            patience: .seconds(self.drain))
        let ending = await withTaskGroup(of: Void.self) { group in
            group.addTask { await floor.run() }
            defer { group.cancelAll() }
            return await session.run()
        }
        await messaging.stop()
        try self.end(ending)
    }

    private func end(_ ending: ChatSession.Ending) throws {
        switch ending {
        case .finished(let undelivered): try self.end(undelivered: undelivered)
        case .failed(let error):
            LineOutput.complain(error.message)
            throw ExitCode.failure
        }
    }

    private func end(_ ending: InteractiveSession.Ending) throws {
        switch ending {
        case .finished(let undelivered): try self.end(undelivered: undelivered)
        case .failed(let sentence):
            LineOutput.complain(sentence)
            throw ExitCode.failure
        case .terminated(let signal):
            // What a shell says of a process that the signal has ended.
            throw ExitCode(128 + signal)
        }
    }

    private func end(undelivered: Int) throws {
        guard undelivered > 0 else { return }
        LineOutput.complain("\(undelivered) lines were not delivered")
        throw ExitCode.failure
    }
}
