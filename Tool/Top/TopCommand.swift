import ArgumentParser
import Foundation
import Linkspan
import LinkspanTerminal

/// The command `linkspan top`.
@available(macOS 15, *)
struct TopCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "top", abstract: "Shows what an inspector shows, in the terminal.",
        discussion: """
            URL is the one that the service inspector has printed; it works once. Keys: arrows select a connection, \
            s changes the order, q leaves. Without a terminal, or with --once, one screen is printed, and with --json one \
            object.

            Exit status: 0, 1 when the inspector cannot be reached or does not take the URL, 64 for a mistake in the arguments.
            """)

    @Argument(help: "The URL of the inspector, with its token.")
    var url: String

    @Flag(help: "Prints one screen and ends.")
    var once = false

    @Flag(help: "Prints one screen as JSON and ends.")
    var json = false

    func run() async throws {
        guard let place = TopPlace(self.url) else {
            LineOutput.complain(
                "\(ForeignText.shown(self.url)) is not a URL of an inspector, such as "
                    + "http://127.0.0.1:8099/?token=…")
            throw ExitCode.validationFailure
        }
        let feed = TopFeed(place)
        let connection: ConnectionHandler
        do {
            connection = try await feed.open()
        } catch {
            LineOutput.complain(
                [.refused, .credentialsRefused].contains(error.innermost.code)
                    ? "the inspector does not take this URL: each works once; use the one that it printed last"
                    : "the inspector at \(place.feed) cannot be reached: \(error.innermost.message)")
            throw ExitCode.failure
        }
        let environment = ProcessInfo.processInfo.environment
        guard !self.once, !self.json, let terminal = TerminalDevice(environment: environment) else {
            guard let model = await feed.firstModel(within: .seconds(3)) else {
                LineOutput.complain("\(place.feed) sends nothing of an inspector: is the URL the one that it printed?")
                throw ExitCode.failure
            }
            connection.release()
            guard !self.json else { return try LineOutput.show(json: TopReport(model)) }
            let rows = TopView.rows(
                of: model, size: TerminalSize(columns: 120, rows: 30), state: "live", now: .now)
            return rows.forEach { LineOutput.show($0.text) }
        }
        await TopSession(feed, connection, terminal, Style(environment: environment)).run()
        connection.release()
    }
}
