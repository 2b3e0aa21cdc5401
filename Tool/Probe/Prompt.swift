import Linkspan
import LinkspanRuntime
import LinkspanTerminal

/// An input line below the output.
@available(macOS 15, *)
final class Prompt: Sendable {
    /// The typed lines, until the user leaves.
    let lines: AsyncStream<String>
    private let line: AsyncStream<String>.Continuation
    private let output: AsyncStream<String>.Continuation
    private let terminal: any Terminal
    private let state = Lock(PromptState())
    private let writing: Task<Void, Never>
    private let reading: Task<Void, Never>

    /// Takes the terminal.
    init(_ terminal: any Terminal) {
        let (lines, line) = AsyncStream<String>.makeStream()
        let (outputs, output) = AsyncStream<String>.makeStream()
        (self.lines, self.line, self.output, self.terminal) = (lines, line, output, terminal)
        terminal.enter()
        // No parent can own these tasks: they have the life of the prompt, and `end` waits for them.
        self.writing = Task { for await text in outputs { await terminal.write(text) } }
        self.reading = Task { [state = self.state] in
            output.yield(state.withLock { $0.prompt })
            for await input in terminal.inputs {
                switch input {
                case .bytes(let bytes):
                    let result = state.withLock { state in
                        let result = state.type(bytes, columns: terminal.size().columns)
                        output.yield(result.output)
                        return result
                    }
                    for text in result.lines { line.yield(text) }
                    switch result.wish {
                    case .leave: line.finish()
                    case .suspend:
                        terminal.suspend()
                        output.yield(state.withLock { $0.prompt })
                    case nil: ()
                    }
                case .resized, .resumed: output.yield(state.withLock { $0.prompt })
                case .stray(let text): output.yield(state.withLock { $0.show("* \(text)") })
                case .ended, .terminated: line.finish()
                }
            }
        }
    }

    /// Prints text above the line.
    func print(_ text: String) {
        self.state.withLock { state in _ = self.output.yield(state.show(text)) }
    }

    /// Prints the rest of the output and restores the terminal.
    func end() async {
        self.reading.cancel()
        self.output.yield("\r\u{1B}[K")
        self.output.finish()
        await self.writing.value
        self.terminal.restore()
    }
}

/// The state of a prompt; it reads and writes nothing itself.
struct PromptState: Sendable {
    /// What a key asks for beside a line.
    enum Wish: Hashable, Sendable {
        case leave
        case suspend
    }

    /// The result of some keys.
    struct Result: Hashable, Sendable {
        var output = ""
        var lines: [String] = []
        var wish: Wish?
    }

    private var editor = LineEditor()
    private var decoder = KeyDecoder()
    private var columns = 80

    /// Handles typed keys.
    mutating func type(_ bytes: [UInt8], columns: Int) -> Result {
        self.columns = columns
        var result = Result()
        for key in self.decoder.decode(bytes) + self.decoder.flush() { self.press(key, &result) }
        result.output += self.prompt
        return result
    }

    /// The text above the line, and the line below it again.
    mutating func show(_ text: String) -> String {
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false).map { ForeignText.shown(String($0)) }
        return "\r\u{1B}[K" + lines.map { "\($0)\r\n" }.joined() + self.prompt
    }

    /// The line as it stands.
    var prompt: String {
        let head = self.editor.search?.prompt ?? "> "
        let width = DisplayWidth.columns(of: head)
        let view = self.editor.visible(in: max(1, self.columns - width - 1))
        return "\r\u{1B}[K\(head)\(view.text)\r\u{1B}[\(width + view.cursor)C"
    }

    private mutating func press(_ key: Key, _ result: inout Result) {
        switch key {
        case .control("c") where self.editor.search == nil: result.wish = .leave
        case .control("d") where self.editor.text.isEmpty: result.wish = .leave
        case .control("z"): result.wish = .suspend
        default:
            guard case .submitted(let text) = self.editor.press(key) else { return }
            let lines = text.split(separator: "\n").map(String.init)
            result.output += "\r\u{1B}[K" + lines.map { "> \(ForeignText.shown($0))\r\n" }.joined()
            result.lines += lines
        }
    }
}
