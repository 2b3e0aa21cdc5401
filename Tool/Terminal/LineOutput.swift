import Foundation
import Linkspan

/// Lines on standard output and standard error, each written whole and at once, from any task.
public enum LineOutput {
    /// The name under which the program was started.
    private static let program = CommandLine.arguments.first?.split(separator: "/").last.map(String.init) ?? ""

    /// A line of the conversation, or with `* ` in front one about it.
    public static func show(_ line: String) { Self.write(ForeignText.shown(line), to: .standardOutput) }

    /// A line about the program itself.
    public static func news(_ line: String) { Self.show("* \(line)") }

    /// A line on standard error.
    public static func complain(_ line: String) {
        Self.write("\(self.program): \(ForeignText.shown(line))", to: .standardError)
    }

    /// Text on standard output, harmless at a terminal and as it is elsewhere.
    public static func showLines(_ text: String) {
        guard isatty(STDOUT_FILENO) == 1 else { return Self.write(text, to: .standardOutput) }
        for line in text.split(separator: "\n", omittingEmptySubsequences: false) { Self.show(String(line)) }
    }

    /// A remark on standard error that is no complaint.
    public static func remark(_ line: String) { Self.write(ForeignText.shown(line), to: .standardError) }

    /// A line of the usage of a command, on standard error.
    public static func showUsage(_ line: String) { Self.write(line, to: .standardError) }

    /// A value as one line of JSON on standard output, its keys in the order of the alphabet.
    public static func show(json value: some Encodable) throws {
        let encoder = JSONEncoder()
        encoder.dateEncodingStrategy = .iso8601
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        self.write(String(decoding: try encoder.encode(value), as: UTF8.self), to: .standardOutput)
    }

    private static func write(_ line: String, to file: FileHandle) {
        do {
            try file.write(contentsOf: Data((line + "\n").utf8))
        } catch {
            if file.fileDescriptor == STDOUT_FILENO { _ = self.interruption }
        }
    }

    /// Ends the program as Ctrl-C does, once: nobody reads any more what it prints, or the disk is full.
    private static let interruption: Void = { _ = kill(getpid(), SIGINT) }()
}
