import ArgumentParser
import Foundation
import Linkspan
import LinkspanDevServer
import LinkspanTerminal

/// The command `chat serve`.
@available(macOS 15, *)
struct ServeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "serve", abstract: "Serves the chat over Socket.IO and raw WebSocket, at one port.",
        discussion: """
            Keeps the history while it runs, or in the file of --history. Lines on standard input cause faults: drop, stall on, stall off, \
            kick NAME, refuse on, refuse off, restart SECONDS. Ends with SIGINT or SIGTERM.

            Guests without a terminal open the server's address in a browser.

            Web pages of other sites are refused, and so are requests under a name that is not the server's.
            """)

    @Option(help: "The port; 0 for any free one.")
    var port = 3000

    @Option(help: "The numeric address to listen at.")
    var host = "127.0.0.1"

    @Option(help: "A file that keeps the history for the next start.")
    var history: String?

    @OptionGroup var network: NetworkFlag

    @Option(
        name: .customLong("allow-origin"),
        help: "A web page's origin, such as https://app.example, that may chat besides the pages of this machine.")
    var allowedOrigins: [String] = []

    @Option(
        name: .customLong("allow-host"), help: "A name besides localhost under which the server answers.")
    var allowedHosts: [String] = []

    func validate() throws {
        guard (0...65_535).contains(self.port) else { throw ValidationError("--port has to be from 0 to 65535") }
    }

    func run() async throws {
        let chat: ChatHub
        do {
            chat = ChatHub(rooms: try self.history.map(HistoryFile.rooms) ?? ChatRooms())
        } catch {
            LineOutput.complain(error.message)
            throw ExitCode.failure
        }
        let server = DevServer(
            hub: chat.hub,
            configuration: .init {
                $0.address = self.host
                $0.port = self.port
                $0.network = self.network.backEnd
                $0.allowedOrigins = Set(self.allowedOrigins)
                $0.allowedHosts = Set(self.allowedHosts)
                $0.introduction = .required(within: .seconds(10))
                $0.pages = ChatPage.pages
            })
        do {
            try await server.start()
        } catch {
            LineOutput.complain(error.message)
            throw ExitCode.failure
        }
        let stop = StopSignal()
        LineOutput.show("serving socketio and websocket on \(self.host):\(server.port)")
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await Self.obey(chat, server) }
            await stop.wait()
            group.cancelAll()
        }
        await server.stop()
    }

    /// Carries out the commands of standard input, until the task is cancelled.
    private static func obey(_ chat: ChatHub, _ server: DevServer) async {
        for await line in LineInput.lines() where !line.isEmpty {
            guard let fault = ServerFault(line) else {
                LineOutput.complain("unknown fault; use drop, stall on|off, kick NAME, refuse on|off, restart SECONDS")
                continue
            }
            await fault.apply(to: server, chat)
        }
    }
}

/// SIGINT and SIGTERM, as something that can be awaited.
struct StopSignal {
    private let signals: AsyncStream<Void>
    private let sources: [any DispatchSourceSignal]

    init() {
        let (signals, signalled) = AsyncStream<Void>.makeStream()
        self.signals = signals
        // A server in the background must not be stopped because it would read from the terminal.
        signal(SIGTTIN, SIG_IGN)
        self.sources = [SIGINT, SIGTERM].map { number in
            signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
            source.setEventHandler { signalled.yield() }
            source.resume()
            return source
        }
    }

    func wait() async {
        for await _ in self.signals { return }
    }
}
