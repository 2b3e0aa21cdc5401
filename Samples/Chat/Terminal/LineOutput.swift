import Foundation

/// Lines on standard output and standard error, each written whole and at once, from any task.
enum LineOutput {
    /// A line of the conversation, or with `* ` in front one about it.
    static func show(_ line: String) { Self.write(VisibleText.of(line), to: .standardOutput) }

    /// A line about the chat itself.
    static func news(_ line: String) { Self.show("* \(line)") }

    /// A line on standard error.
    static func complain(_ line: String) { Self.write("chat: \(VisibleText.of(line))", to: .standardError) }

    private static func write(_ line: String, to file: FileHandle) {
        // A reader that has gone away is no reason to fail.
        try? file.write(contentsOf: Data((line + "\n").utf8))
    }
}
