import Linkspan
import LinkspanRuntime
import LinkspanTerminal

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
        case .up: self.feed.model.withLock { $0.select(by: -1) }
        case .down: self.feed.model.withLock { $0.select(by: 1) }
        case .pageUp: self.feed.model.withLock { $0.select(by: -20) }
        case .pageDown: self.feed.model.withLock { $0.select(by: 20) }
        case .text("s"):
            self.feed.model.withLock { model in
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
            of: self.feed.model.withLock { $0 }, size: self.terminal.size(), state: state, now: .now)
        return "\u{1B}[H" + rows.map { self.style.paint($0) + "\u{1B}[K" }.joined(separator: "\r\n") + "\u{1B}[J"
    }
}
