import Foundation
import Linkspan
import LinkspanInspector
import LinkspanTerminal
import LinkspanTesting

/// A conversation that is recorded into a file, or replayed from one, in the format of `LinkspanTesting`.
struct ProbeRecording {
    typealias Conversation = LinkspanTesting.Conversation

    /// The file's conversation.
    let conversation: Conversation

    /// Reads a file.
    init(path: String) throws(LinkspanError) {
        let text = try CommandFile.text(of: path)
        do {
            self.conversation = try Conversation(text: text)
        } catch {
            throw LinkspanError(.invalidConfiguration, "\(path) is no conversation: \(error.message)")
        }
    }

    /// Writes a conversation; `isRedacted` leaves secrets out.
    static func write(_ conversation: Conversation, to path: String, isRedacted: Bool) throws(LinkspanError) {
        let lines = conversation.lines.map { isRedacted ? Self.redacted($0) : $0 }
        try CommandFile.write(Conversation(lines).text + "\n", to: path, for: "the conversation")
    }

    private static func redacted(_ line: Conversation.Line) -> Conversation.Line {
        var line = line
        let elements = Array(line.payload.elements)
        // A text of a raw WebSocket is JSON inside a string.
        if line.event == "text", line.payload[1] == nil, let text = line.payload[0]?.string,
            let payload = try? Payload(Redaction.excerpt(Array(text.utf8), of: 0))
        {
            line.payload = payload
        } else {
            line.payload = Payload(trustedElements: Array(Redaction.excerpt(elements, of: 0).utf8)[...])
        }
        return line
    }

    /// The client's messages as input lines of a probe, each at its recorded time.
    func lines(isRaw: Bool) -> AsyncStream<String> {
        var replies = self.conversation.lines.filter { $0.side == .server && $0.isReply }.map(\.event)
        let steps = self.conversation.lines.filter { $0.side == .client }.map { line -> (Duration, String) in
            let arguments = String(decoding: line.payload.elements, as: UTF8.self)
            if isRaw {
                let text = line.payload[0]?.string ?? ""
                return (line.time, text.hasPrefix("/") ? "/\(text)" : text)
            }
            if line.isReply { return (line.time, "! \(arguments)") }
            let isQuestion = replies.firstIndex(of: line.event).map { replies.remove(at: $0) } != nil
            let name = (try? Payload(line.event)).map { String(decoding: $0.elements, as: UTF8.self) } ?? ""
            let rest = arguments.isEmpty ? "" : ",\(arguments)"
            return (line.time, "\(isQuestion ? "? " : "")[\(name)\(rest)]")
        }
        return AsyncStream { lines in
            // No parent can own it: it has the life of the stream.
            let task = Task {
                let start = ContinuousClock.now
                for (time, line) in steps {
                    guard (try? await Task.sleep(until: start + time)) != nil else { break }
                    lines.yield(line)
                }
                lines.finish()
            }
            lines.onTermination = { _ in task.cancel() }
        }
    }

    /// The time that the server took after the last message of the client.
    var rest: Duration {
        let end = self.conversation.lines.last?.time ?? .zero
        return end - (self.conversation.lines.last { $0.side == .client }?.time ?? .zero)
    }

    /// The messages of the server that are not in another conversation, by what they are.
    func missing(in other: Conversation) -> [String] {
        func names(_ conversation: Conversation) -> [String: Int] {
            conversation.lines.filter { $0.side == .server }.reduce(into: [:]) { counts, line in
                counts[line.isReply ? "reply to '\(line.event)'" : "'\(line.event)'", default: 0] += 1
            }
        }
        let heard = names(other)
        return names(self.conversation).sorted { $0.key < $1.key }.compactMap { name, count in
            let lack = count - heard[name, default: 0]
            return lack > 0 ? "\(lack) × \(ForeignText.line(name))" : nil
        }
    }
}
