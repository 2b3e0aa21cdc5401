import Foundation
import Linkspan
import LinkspanRuntime

/// Lines on standard output and standard error, each written whole and at once, from any task.
public enum LineOutput {
    /// The name under which the program was started.
    private static let program = CommandLine.arguments.first?.split(separator: "/").last.map(String.init) ?? ""
    /// The number of the error for which standard output could not be written; 0 without one.
    private static let problem = Lock<Int32>(0)

    /// The exit status of the program: 74, by sysexits.h, when output was lost that somebody would have read.
    public static func status(or status: Int32) -> Int32 {
        [0, EPIPE].contains(self.problem.withLock { $0 }) ? status : 74
    }

    /// A line of the conversation, or with `* ` in front one about it.
    public static func show(_ line: String) { Self.print(ForeignText.shown(line) + "\n") }

    /// A line about the program itself.
    public static func news(_ line: String) { Self.show("* \(line)") }

    /// A line on standard error.
    public static func complain(_ line: String) { Self.remark("\(self.program): \(line)") }

    /// Text on standard output, harmless at a terminal and as it is elsewhere.
    public static func showLines(_ text: String) {
        guard isatty(STDOUT_FILENO) == 1 else { return Self.print(text + "\n") }
        for line in text.split(separator: "\n", omittingEmptySubsequences: false) { Self.show(String(line)) }
    }

    /// A remark on standard error that is no complaint.
    public static func remark(_ line: String) {
        TerminalDevice.write(ForeignText.shown(line) + "\n", to: STDERR_FILENO)
    }

    /// A value as one line of JSON on standard output, its keys in the order of the alphabet.
    public static func show(json value: some Encodable) throws {
        let encoder = JSONEncoder()
        encoder.dateEncodingStrategy = .iso8601
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        Self.print(String(decoding: try encoder.encode(value), as: UTF8.self) + "\n")
    }

    /// Text on standard output as it is, also with sequences for a terminal.
    ///
    /// Once that fails, it ends the program as Ctrl-C does, without a word when nobody reads any more.
    public static func print(_ text: String) {
        let problem = TerminalDevice.write(text, to: STDOUT_FILENO)
        guard problem != 0 else { return }
        let isFirst = self.problem.withLock { former in
            defer { former = problem }
            return former == 0
        }
        guard isFirst else { return }
        if problem != EPIPE {
            self.complain("standard output cannot be written: \(String(cString: strerror(problem)))")
            // A program that does not wait for Ctrl-C has nothing to bring to an end.
            let handler = signal(SIGINT, SIG_IGN)
            signal(SIGINT, handler)
            if handler == nil { _exit(self.status(or: 0)) }
        }
        kill(getpid(), SIGINT)
        // Another thread takes the signal. A command that went on before might no longer handle it, and be ended by it.
        var pending = sigset_t()
        for _ in 0..<1_000 where sigpending(&pending) == 0 && sigismember(&pending, SIGINT) == 1 { usleep(1_000) }
    }
}
