public import Linkspan

/// A conversation between a client and a server, recorded once and replayed as a fake server.
///
/// Record it against the real server by a ``ConversationRecorder``, keep its ``text`` beside the tests, and let a
/// ``ScriptedTransport`` play it:
///
/// ```swift
/// let conversation = try Conversation(text: String(contentsOf: file, encoding: .utf8))
/// transport.play(conversation)
/// ```
public struct Conversation: Sendable, Hashable {
    /// A message of one side.
    public struct Line: Sendable, Hashable {
        /// The side that sent it.
        public var side: Side
        /// The name of the event; for a reply that of the message it answers.
        public var event: String
        /// Whether it is a reply.
        public var isReply: Bool
        /// The arguments.
        public var payload: Payload
        /// The time since the beginning of the recording.
        public var time: Duration

        /// Makes a message.
        public init(
            _ side: Side, _ event: String, _ payload: Payload = .empty, isReply: Bool = false, time: Duration = .zero
        ) {
            self.side = side
            self.event = event
            self.payload = payload
            self.isReply = isReply
            self.time = time
        }
    }

    /// A side of a conversation.
    public enum Side: String, Sendable, Hashable, Codable {
        /// The app.
        case client
        /// The server.
        case server
    }

    /// The messages in order.
    public var lines: [Line]

    /// Makes a conversation.
    public init(_ lines: [Line] = []) { self.lines = lines }
}

// MARK: - Text

extension Conversation {
    private struct Row: Codable {
        var at: Double
        var from: Side
        var event: String
        var reply: Bool?
        var arguments: [PayloadValue]
    }

    /// Reads a conversation from ``text``.
    ///
    /// - Throws: `LinkspanError` with code `decodingFailed` and the number of the line that cannot be read.
    public init(text: String) throws(LinkspanError) {
        var lines: [Line] = []
        for (number, text) in text.split(separator: "\n").enumerated() {
            do throws(LinkspanError) {
                let row = try Payload(checking: Array(text.utf8)[...]).decode(Row.self)
                var elements: [UInt8] = []
                for argument in row.arguments {
                    if !elements.isEmpty { elements.append(UInt8(ascii: ",")) }
                    elements += argument.text
                }
                lines.append(
                    Line(
                        row.from, row.event, Payload(trustedElements: elements[...]), isReply: row.reply ?? false,
                        time: .milliseconds(Int64((row.at * 1_000).rounded()))))
            } catch {
                throw LinkspanError(
                    .decodingFailed, "line \(number + 1) of the conversation: \(error.message)", cause: error)
            }
        }
        self.lines = lines
    }

    /// The conversation as one line of JSON for each message, such as
    /// `{"at":0.12,"from":"client","event":"say","arguments":["hello"]}`.
    ///
    /// Blobs are left out; a message with one cannot be replayed.
    public var text: String {
        self.lines.map { line in
            var head =
                "{\"at\":\(Double(line.time / .milliseconds(1)).rounded() / 1_000),\"from\":\"\(line.side.rawValue)\",\"event\":"
            head += (try? Payload(line.event)).map { String(decoding: $0.elements, as: UTF8.self) } ?? "\"\""
            if line.isReply { head += ",\"reply\":true" }
            return "\(head),\"arguments\":[\(String(decoding: line.payload.elements, as: UTF8.self))]}"
        }
        .joined(separator: "\n")
    }
}
