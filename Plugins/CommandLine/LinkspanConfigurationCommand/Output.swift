private import Foundation
internal import Linkspan

/// The standard output and the standard error of a command.
enum Output {
    static func show(_ line: String) { Self.write(ForeignText.shown(line, limit: .max), to: .standardOutput) }

    static func complain(_ line: String) {
        let name = ProcessInfo.processInfo.processName
        Self.write("\(name): \(ForeignText.shown(line))", to: .standardError)
    }

    private static func write(_ line: String, to file: FileHandle) {
        // A closed pipe is no failure.
        try? file.write(contentsOf: Data((line + "\n").utf8))
    }
}

/// A report as JSON in one line.
enum JSONText {
    static func of(_ report: some Encodable) -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        // Reports are made of texts, lists and objects.
        return (try? encoder.encode(report)).map { String(decoding: $0, as: UTF8.self) } ?? "null"
    }
}
