internal import Testing

/// A recorded conversation over one WebSocket.
struct Transcript: Sendable, CustomTestStringConvertible {
    /// A frame and who sent it.
    struct Line: Sendable {
        var isFromServer: Bool
        var isBinary: Bool
        var bytes: [UInt8]

        var text: String { String(decoding: self.bytes, as: UTF8.self) }
    }

    var name: String
    var answersPings: Bool
    var lines: [Line]

    /// Reads one frame a line: `S` or `C` and the text, or `s` or `c` and the bytes in hexadecimal.
    ///
    /// Characters that editors hide stand as `‹2028›`.
    init(_ name: String, answersPings: Bool = true, _ script: String) {
        self.name = name
        self.answersPings = answersPings
        self.lines = script.split(separator: "\n").map { line in
            let sender = line.prefix(1)
            let body = line.dropFirst(2)
            let isBinary = sender == "s" || sender == "c"
            return Line(
                isFromServer: sender.lowercased() == "s", isBinary: isBinary,
                bytes: isBinary ? Self.unhex(body) : Array(Self.unhide(body).utf8))
        }
    }

    var testDescription: String { self.name }

    private static func unhex(_ text: Substring) -> [UInt8] {
        text.split(separator: " ").compactMap { UInt8($0, radix: 16) }
    }

    private static func unhide(_ text: Substring) -> String {
        var result = ""
        for part in text.split(separator: "‹", omittingEmptySubsequences: false) {
            let halves = part.split(separator: "›", maxSplits: 1, omittingEmptySubsequences: false)
            guard halves.count == 2, let scalar = UInt32(halves[0], radix: 16).flatMap(Unicode.Scalar.init) else {
                result += part
                continue
            }
            result.unicodeScalars.append(scalar)
            result += halves[1]
        }
        return result
    }
}
