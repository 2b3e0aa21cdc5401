import Foundation

/// Lines on standard output and standard error, whole and at once, whoever writes them.
enum LineOutput {
    /// A line of the conversation, or with `* ` in front one about it.
    static func show(_ line: String) { Self.write(Self.clean(line), to: .standardOutput) }

    /// A line about the chat itself.
    static func news(_ line: String) { Self.show("* \(line)") }

    /// A line on standard error.
    static func complain(_ line: String) { Self.write("chat: \(Self.clean(line))", to: .standardError) }

    private static func write(_ line: String, to file: FileHandle) {
        // A reader that has gone away is no reason to fail.
        try? file.write(contentsOf: Data((line + "\n").utf8))
    }

    /// Other people's lines must not move the cursor or worse: control characters become visible.
    private static func clean(_ line: String) -> String {
        guard line.unicodeScalars.contains(where: Self.isControl) else { return line }
        var clean = String.UnicodeScalarView()
        for scalar in line.unicodeScalars { clean.append(Self.isControl(scalar) ? "\u{FFFD}" : scalar) }
        return String(clean)
    }

    private static func isControl(_ scalar: Unicode.Scalar) -> Bool {
        scalar.properties.generalCategory == .control && scalar != "\t"
    }
}
