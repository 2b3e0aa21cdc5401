internal import Foundation
internal import Testing

/// A recorded exchange between a client and a server of other makers: all that went over the wire, in order.
///
/// `exchanges.txt` has one thing a line:
///
///     ## 10 closing                the number and the name of a chapter
///     # title
///     > 1 GET /socket.io/?EIO=4      the client's request, on the connection with this number
///     > 1 body 40                    the body of the request above, or with < of the answer above
///     < 1 status 101                 the server's answer
///     < 1 text 2probe                a text frame
///     < 1 binary 01 ff               a binary frame
///     > 1 close 1000                 a Close frame, with its code if it has one
///     < 1 raw HTTP/1.1 400           bytes that are no frame
///     < 1 part 42["a                 a frame that was recorded only in part, and is not replayed
///     ! 1 cut                        the network fails
///     = /chat connect <sid>          what the official client told its user; … for arguments that were not recorded
///
/// Characters that editors hide stand as `‹2028›`, and a run of them as `‹007A×11000›`. Names of machines and a
/// password were replaced, headers left out.
struct Exchange: Sendable, CustomTestStringConvertible {
    /// One thing that was sent, and by whom.
    struct Line: Sendable {
        var isFromServer: Bool
        var connection: Int
        var content: Content
    }

    enum Content: Sendable, Equatable {
        case request(isPost: Bool, target: String)
        case body([UInt8])
        case status(Int)
        case text([UInt8])
        case binary([UInt8])
        case close(UInt16?)
        case raw([UInt8])
        case part
        case cut
    }

    /// What the official client told its user.
    struct Report: Sendable, Equatable {
        var namespace: String
        var kind: String
        var detail: String
    }

    /// A line that cannot be read.
    struct Malformed: Error { var line: String }

    /// The chapter's number and the title, such as `10: Python-socketio`.
    var name: String
    var lines: [Line] = []
    var reports: [Report] = []

    var testDescription: String { self.name }
}

extension Exchange {
    /// All of them, in the file's order; none when it cannot be read, which a test finds out.
    static let all = (try? Self.load()) ?? []

    /// The exchange of this name.
    static func named(_ name: String) throws -> Self { try #require(Self.all.first { $0.name == name }) }

    static func load() throws -> [Self] {
        let file = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "exchanges.txt")
        return try Self.read(String(contentsOf: file, encoding: .utf8))
    }

    static func read(_ text: String) throws -> [Self] {
        var exchanges: [Self] = []
        var chapter = ""
        for line in text.split(separator: "\n") {
            let parts = line.split(separator: " ", maxSplits: 3, omittingEmptySubsequences: false).map(String.init)
            if parts[0] == "##", parts.count >= 2 {
                chapter = parts[1]
                continue
            }
            if parts[0] == "#" {
                exchanges.append(Self(name: "\(chapter): \(line.dropFirst(2))"))
                continue
            }
            guard let last = exchanges.indices.last, parts.count >= 3 else { throw Malformed(line: String(line)) }
            let rest = parts.count == 4 ? parts[3] : ""
            if parts[0] == "=" {
                let detail = String(decoding: Self.unhide(rest), as: UTF8.self)
                exchanges[last].reports.append(Report(namespace: parts[1], kind: parts[2], detail: detail))
                continue
            }
            guard ["<", ">", "!"].contains(parts[0]), let connection = Int(parts[1]),
                let content = Self.content(parts[2], rest)
            else { throw Malformed(line: String(line)) }
            exchanges[last].lines.append(
                Line(isFromServer: parts[0] == "<", connection: connection, content: content))
        }
        return exchanges
    }

    private static func content(_ kind: String, _ rest: String) -> Content? {
        switch kind {
        case "GET": return .request(isPost: false, target: rest)
        case "POST": return .request(isPost: true, target: rest)
        case "body": return .body(Self.unhide(rest))
        case "status": return Int(rest).map(Content.status)
        case "text": return .text(Self.unhide(rest))
        case "binary":
            let bytes = rest.split(separator: " ").map { UInt8($0, radix: 16) }
            return bytes.contains(nil) ? nil : .binary(bytes.compactMap { $0 })
        case "close": return rest.isEmpty ? .close(nil) : UInt16(rest).map { .close($0) }
        case "raw": return .raw(Self.unhide(rest))
        case "part": return .part
        case "cut": return .cut
        default: return nil
        }
    }

    private static func unhide(_ text: String) -> [UInt8] {
        var result: [UInt8] = []
        for part in text.split(separator: "‹", omittingEmptySubsequences: false) {
            let halves = part.split(separator: "›", maxSplits: 1, omittingEmptySubsequences: false)
            let run = halves[0].split(separator: "×")
            guard halves.count == 2, let scalar = UInt32(run[0], radix: 16).flatMap(Unicode.Scalar.init) else {
                result += Array(part.utf8)
                continue
            }
            let count = run.count == 2 ? Int(run[1]) ?? 0 : 1
            for _ in 0..<count { result += Array(String(scalar).utf8) }
            result += Array(halves[1].utf8)
        }
        return result
    }
}
