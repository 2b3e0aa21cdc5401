import ArgumentParser
import Foundation
import Linkspan
import LinkspanTerminal
import LinkspanWebSocket
import Synchronization

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

/// The address of an inspector's feed, and the token that opens it.
struct TopPlace: Sendable {
    var feed: ConnectionURL
    var token: String

    /// Reads the URL that an inspector has printed.
    init?(_ text: String) {
        guard let url = URLComponents(string: text), url.scheme == "http", let host = url.host, let port = url.port,
            let token = url.queryItems?.first(where: { $0.name == "token" })?.value,
            let feed = try? ConnectionURL("ws://\(host):\(port)/feed")
        else { return nil }
        (self.feed, self.token) = (feed, token)
    }
}

/// The feed of an inspector over a connection of the SDK, which comes back by itself.
@available(macOS 15, *)
final class TopFeed: Sendable {
    private let place: TopPlace
    private let model = Mutex(TopModel())
    private let arrivals: AsyncStream<Void>
    private let arrived: AsyncStream<Void>.Continuation

    init(_ place: TopPlace) {
        self.place = place
        (self.arrivals, self.arrived) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    /// Changes the model.
    func withModel<Result: Sendable>(_ body: (inout TopModel) -> Result) -> Result { self.model.withLock { body(&$0) } }

    /// Something has changed.
    var changes: AsyncStream<Void> { self.arrivals }

    /// Connects, and follows the feed for as long as the connection is held.
    func open() async throws(LinkspanError) -> ConnectionHandler {
        let transport = WebSocketTransport(.init { $0.protocol = TextMessageProtocol() })
        let source = CredentialSource.provider { [self] _ in
            var credentials = Credentials()
            // The printed token works once; the session that it has made is good for coming back.
            if let session = self.withModel({ $0.session }) {
                credentials.headers = [.init("Authorization", Secret("Bearer \(session)"))]
            } else {
                credentials.query = [.init("token", Secret(self.place.token))]
            }
            return credentials
        }
        let configuration = try ConnectionBuilder("\(self.place.feed)").transport(transport).credentials(source).build()
        let connection = try ConnectionManager.unlogged.connect(configuration)
        _ = try connection.on("text") { [self] message in
            guard let text = message.payload[0]?.string,
                let batch = try? Payload(checking: Array(text.utf8)[...])[0]
            else { return }
            self.withModel { $0.take(batch, at: .now) }
            self.arrived.yield()
        }
        try await connection.connected(within: .seconds(3))
        return connection
    }

    /// The model once it has a batch; nil when none comes in time.
    func firstModel(within limit: Duration) async -> TopModel? {
        await withTaskGroup(of: TopModel?.self) { group in
            group.addTask {
                for await _ in self.arrivals {
                    let model = self.withModel { $0 }
                    if model.heard != nil, !model.services.isEmpty { return model }
                }
                return nil
            }
            group.addTask {
                try? await Task.sleep(for: limit)
                return nil
            }
            defer { group.cancelAll() }
            return await group.next() ?? nil
        }
    }
}

/// A visit to an inspector at a terminal.
@available(macOS 15, *)
struct TopSession: Sendable {
    private enum Input: Sendable {
        case terminal(TerminalInput)
        case changed
        case tick
    }

    private static let enter = "\u{1B}[?1049h\u{1B}[?25l\u{1B}[2J"
    private static let leave = "\u{1B}[?25h\u{1B}[?1049l"

    private let feed: TopFeed
    private let connection: ConnectionHandler
    private let terminal: any Terminal
    private let style: Style

    init(_ feed: TopFeed, _ connection: ConnectionHandler, _ terminal: any Terminal, _ style: Style) {
        (self.feed, self.connection, self.terminal, self.style) = (feed, connection, terminal, style)
    }

    /// Shows the feed until somebody leaves.
    func run() async {
        let inbox = Inbox<Input>()
        self.terminal.enter()
        await self.terminal.write(Self.enter)
        await withDiscardingTaskGroup { group in
            group.addTask { for await input in self.terminal.inputs { inbox.put(.terminal(input)) } }
            group.addTask { for await _ in self.feed.changes { inbox.put(.changed) } }
            group.addTask {
                while (try? await Task.sleep(for: .milliseconds(250))) != nil { inbox.put(.tick) }
            }
            var keys = KeyDecoder()
            var isOver = false
            for await _ in inbox.arrivals {
                for input in inbox.take() { self.take(input, &keys, &isOver) }
                guard !isOver else { break }
                await self.terminal.write(self.draw())
            }
            group.cancelAll()
        }
        await self.terminal.write(Self.leave)
        self.terminal.restore()
    }

    private func take(_ input: Input, _ keys: inout KeyDecoder, _ isOver: inout Bool) {
        switch input {
        case .terminal(.bytes(let bytes)):
            for key in keys.decode(bytes) { self.press(key, &isOver) }
        case .terminal(.ended), .terminal(.terminated): isOver = true
        case .terminal(.resumed): self.terminal.enter()
        case .terminal(.resized), .terminal(.stray), .changed, .tick: ()
        }
    }

    private func press(_ key: Key, _ isOver: inout Bool) {
        switch key {
        case .text("q"), .control("c"), .control("d"): isOver = true
        case .up: self.feed.withModel { $0.select(by: -1) }
        case .down: self.feed.withModel { $0.select(by: 1) }
        case .pageUp: self.feed.withModel { $0.select(by: -20) }
        case .pageDown: self.feed.withModel { $0.select(by: 20) }
        case .text("s"):
            self.feed.withModel { model in
                let orders = TopModel.Order.allCases
                let place = orders.firstIndex(of: model.order) ?? 0
                model.order = orders[(place + 1) % orders.count]
            }
        default: ()
        }
    }

    private func draw() -> String {
        let state = self.connection.state == .connected ? "live" : "the inspector is away: \(self.connection.explain())"
        let rows = TopView.rows(
            of: self.feed.withModel { $0 }, size: self.terminal.size(), state: state, now: .now)
        return "\u{1B}[H" + rows.map { self.style.paint($0) + "\u{1B}[K" }.joined(separator: "\r\n") + "\u{1B}[J"
    }
}
