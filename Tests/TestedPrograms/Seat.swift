internal import Foundation

/// A program at a pseudo-terminal, and what is to be seen there.
///
/// A shell runs it, as at a real terminal. It notes how the terminal is set before and after, and shows the status.
package actor Seat {
    /// What did not come to the screen.
    package struct Missing: Error, CustomStringConvertible {
        package let description: String
    }

    private enum Event: Sendable {
        case output([UInt8])
        case ended
        case timeUp(Int)
    }

    package private(set) var screen: TerminalEmulator
    private let pseudoTerminal: PseudoTerminal
    private let events: AsyncStream<Event>
    private let event: AsyncStream<Event>.Continuation
    private let folder: String
    private var isEnded = false
    private var waits = 0

    private static let script = """
        trap : TERM INT HUP
        stty -g >"$SEAT/before"
        "$@"
        echo "status $?"
        stty -g >"$SEAT/after"
        """

    /// Lets somebody sit down at a terminal with a program, the chat unless another is named, for the time of a scenario.
    package static func take(
        on bench: Bench, program: String = "chat", _ arguments: [String], columns: Int = 70, rows: Int = 16,
        environment: [String: String] = [:],
        redirection: String = "", _ scenario: (Seat) async throws -> Void
    ) async throws {
        try await Self.take(
            on: bench, command: [try Place.program(program)] + arguments, columns: columns, rows: rows,
            environment: environment, redirection: redirection, scenario)
    }

    /// Lets somebody sit down at a terminal with a shell, where `swift run chat` is the chat that was built.
    package static func shell(
        on bench: Bench, columns: Int = 90, rows: Int = 24, _ scenario: (Seat) async throws -> Void
    ) async throws {
        let environment = ["PS1": "$ ", "ENV": "", "CHAT": try Place.program("chat")]
        try await Self.take(
            on: bench, command: ["/bin/sh", "-i"], columns: columns, rows: rows, environment: environment,
            redirection: ""
        ) { seat in
            try await seat.wait(for: "$", row: 0)
            try await seat.type("cd '\(bench.folder)'; swift() { shift 2; \"$CHAT\" \"$@\"; }; clear\r")
            try await scenario(seat)
        }
    }

    private static func take(
        on bench: Bench, command: [String], columns: Int, rows: Int, environment: [String: String],
        redirection: String, _ scenario: (Seat) async throws -> Void
    ) async throws {
        let folder = "\(bench.folder)/seat-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        let script = Self.script.replacing("\"$@\"", with: "\"$@\" \(redirection)")
        var variables = ProcessInfo.processInfo.environment.filter { !$0.key.hasPrefix("LINKSPAN_") }
        variables["NO_COLOR"] = nil
        variables["TERM"] = "xterm-256color"
        variables["SEAT"] = folder
        // Rows are compared as a whole, and nobody's own settings count.
        variables["LINKSPAN_SERVICES_INTERFACE_TIMES"] = "false"
        variables["XDG_CONFIG_HOME"] = folder
        let pseudoTerminal = try PseudoTerminal(columns: columns, rows: rows)
        let seat = Seat(pseudoTerminal, folder, columns, rows)
        try pseudoTerminal.run(
            ["/bin/sh", "-c", script, "sh"] + command,
            environment: variables.merging(environment) { $1 })
        await seat.read()
        let result: Result<Void, any Error>
        do { result = .success(try await scenario(seat)) } catch { result = .failure(error) }
        // A shell has its jobs in groups of their own: what is in the foreground ends, then the shell that takes over.
        for _ in 0..<50 where await !seat.isEnded {
            pseudoTerminal.killForeground()
            _ = try? await seat.wait(for: "the end", within: .milliseconds(200)) { _ in false }
        }
        pseudoTerminal.kill(SIGKILL)
        try await seat.wait(forEnd: .seconds(30))
        try result.get()
    }

    private init(_ pseudoTerminal: PseudoTerminal, _ folder: String, _ columns: Int, _ rows: Int) {
        self.pseudoTerminal = pseudoTerminal
        self.folder = folder
        self.screen = TerminalEmulator(columns: columns, rows: rows)
        (self.events, self.event) = AsyncStream.makeStream()
    }

    /// Types.
    package func type(_ text: String) throws { try self.pseudoTerminal.write(Array(text.utf8)) }

    /// Makes the window larger or smaller.
    package func resize(columns: Int, rows: Int) {
        self.screen.resize(columns: columns, rows: rows)
        self.pseudoTerminal.resize(columns: columns, rows: rows)
    }

    /// Sends a signal to all who run at the terminal.
    package func signal(_ number: Int32) { self.pseudoTerminal.kill(number) }

    /// Somebody else uses the terminal while the chat is stopped, and then the chat goes on.
    package func interlude(_ output: String) {
        self.pseudoTerminal.kill(SIGSTOP)
        self.pseudoTerminal.cook()
        self.screen.feed(output.utf8)
        self.pseudoTerminal.kill(SIGCONT)
    }

    /// Whether keys come at once and unseen.
    package var isRaw: Bool { self.pseudoTerminal.isRaw }

    /// How the terminal was set before and after.
    package func settings() throws -> (before: String, after: String) {
        let read = { (name: String) in try String(contentsOfFile: "\(self.folder)/\(name)", encoding: .utf8) }
        return (try read("before"), try read("after"))
    }

    /// Waits for a screen.
    ///
    /// - Returns: the screen.
    @discardableResult
    package func wait(
        for what: String, within limit: Duration = .seconds(30), where matches: (TerminalEmulator) -> Bool
    ) async throws -> TerminalEmulator {
        self.waits += 1
        let (wait, event) = (self.waits, self.event)
        // No parent is left to own it when the screen comes in time; then nobody looks at what it says.
        let alarm = Task {
            try? await Task.sleep(for: limit)
            event.yield(.timeUp(wait))
        }
        defer { alarm.cancel() }
        while !matches(self.screen) {
            guard !self.isEnded, let event = await self.next(), event != wait else {
                throw Missing(description: "\(what) did not come; instead there is\n\(self.screen.text)")
            }
        }
        return self.screen
    }

    /// Waits for a text on the screen, or in one row of it, counted from the bottom if negative.
    @discardableResult
    package func wait(for text: String, row: Int? = nil) async throws -> TerminalEmulator {
        try await self.wait(for: "'\(text)'") { screen in
            guard let row else { return screen.text.contains(text) }
            return screen.lines[row < 0 ? screen.rows + row : row].contains(text)
        }
    }

    private func wait(forEnd limit: Duration) async throws {
        guard !self.isEnded else { return }
        _ = try? await self.wait(for: "the end", within: limit) { _ in false }
        guard self.isEnded else { throw Missing(description: "the chat goes on and on:\n\(self.screen.text)") }
    }

    /// Takes what has come next.
    ///
    /// - Returns: the number of the wait whose time is up, or 0.
    private func next() async -> Int? {
        var iterator = self.events.makeAsyncIterator()
        switch await iterator.next(isolation: #isolation) {
        case .output(let bytes):
            self.screen.feed(bytes)
            return 0
        case .timeUp(let wait): return wait
        case .ended, nil:
            self.isEnded = true
            return nil
        }
    }

    /// Reads on a thread of its own, because a read cannot be cancelled; it ends with the last process at the terminal.
    private func read() {
        let (pseudoTerminal, event) = (self.pseudoTerminal, self.event)
        Thread.detachNewThread {
            while let bytes = pseudoTerminal.read() { event.yield(.output(bytes)) }
            pseudoTerminal.finish()
            event.yield(.ended)
        }
    }
}
