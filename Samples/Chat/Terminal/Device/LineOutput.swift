import Foundation

/// Lines on standard output and standard error, each written whole and at once, from any task.
enum LineOutput {
    /// A line of the conversation, or with `* ` in front one about it.
    static func show(_ line: String) { Self.write(VisibleText.of(line), to: .standardOutput) }

    /// A line about the chat itself.
    static func news(_ line: String) { Self.show("* \(line)") }

    /// A line on standard error.
    static func complain(_ line: String) { Self.write("chat: \(VisibleText.of(line))", to: .standardError) }

    /// Text on standard output, harmless at a terminal and as it is elsewhere.
    static func showLines(_ text: String) {
        guard isatty(STDOUT_FILENO) == 1 else { return Self.write(text, to: .standardOutput) }
        for line in text.split(separator: "\n", omittingEmptySubsequences: false) { Self.show(String(line)) }
    }

    /// A remark on standard error that is no complaint.
    static func remark(_ line: String) { Self.write(VisibleText.of(line), to: .standardError) }

    /// A line of the usage of a command, on standard error.
    static func showUsage(_ line: String) { Self.write(line, to: .standardError) }

    private static func write(_ line: String, to file: FileHandle) {
        // A closed pipe is no failure.
        try? file.write(contentsOf: Data((line + "\n").utf8))
    }
}
