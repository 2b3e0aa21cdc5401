internal import Foundation
internal import Linkspan

/// An operation of a NATS server; see "NATS client protocol" on docs.nats.io.
enum NATSOperation: Sendable {
    struct Message: Sendable {
        var subject: String
        var sid: UInt32
        var reply: String?
        /// The status in the first line of the headers, such as 503; nil for none.
        var status: Int?
        /// True with the header `Linkspan-Arguments`: the content is a JSON array of arguments.
        var isList = false
        var content: ArraySlice<UInt8>
    }

    case info(PayloadValue)
    case message(Message)
    case ping
    case pong
    case ok
    case error(String)

    /// The most bytes of a line; `INFO` names the nodes of the cluster, which may be many.
    private static let longestLine = 64 << 10
    /// The most bytes of a message with its headers; the limit of servers, too.
    private static let largestMessage = 64 << 20

    /// Takes the next operation out of the received bytes; nil when it is not complete.
    static func next(_ feed: inout ByteFeed) throws(LinkspanError) -> Self? {
        let rest = feed.rest
        guard let end = rest.firstIndex(of: UInt8(ascii: "\n")), end - rest.startIndex <= Self.longestLine else {
            guard rest.count <= Self.longestLine else { throw Self.violation("a line is too long") }
            return nil
        }
        let line = String(decoding: rest[..<end], as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
        let lineCount = end + 1 - rest.startIndex
        let words = line.split(separator: " ", omittingEmptySubsequences: true).map(String.init)
        guard let verb = words.first?.uppercased() else { throw Self.violation("a line is empty") }
        switch verb {
        case "MSG", "HMSG":
            let hasHeaders = verb == "HMSG"
            let numbers = words.suffix(hasHeaders ? 2 : 1).compactMap { Int($0) }
            let names = words.dropFirst().dropLast(hasHeaders ? 2 : 1)
            guard numbers.count == (hasHeaders ? 2 : 1), (2...3).contains(names.count),
                let sid = UInt32(names[names.startIndex + 1]), let size = numbers.last,
                (0...Self.largestMessage).contains(size), (0...size).contains(numbers[0]),
                !hasHeaders || numbers[0] <= Self.longestLine
            else { throw Self.violation("the line of a message is malformed") }
            guard rest.count >= lineCount + size + 2 else { return nil }
            _ = feed.take(lineCount)
            let body = feed.take(size)
            guard feed.take(2).elementsEqual("\r\n".utf8) else {
                throw Self.violation("a message is longer than its size")
            }
            var message = Message(
                subject: names[names.startIndex], sid: sid, reply: names.count == 3 ? names.last : nil, content: body)
            if hasHeaders { try message.takeHeaders(numbers[0]) }
            return .message(message)
        default:
            _ = feed.take(lineCount)
            return try Self.operation(verb, line)
        }
    }

    private static func operation(_ verb: String, _ line: some StringProtocol) throws(LinkspanError) -> Self {
        let argument = line.drop { $0 != " " }.dropFirst()
        switch verb {
        case "PING": return .ping
        case "PONG": return .pong
        case "+OK": return .ok
        case "-ERR": return .error(String(argument.filter { $0 != "'" }))
        case "INFO":
            guard let object = try Payload(checking: Array(argument.utf8)[...])[0] else { break }
            return .info(object)
        default: break
        }
        throw Self.violation("the operation '\(ForeignText.line(verb))' is not known")
    }

    fileprivate static func violation(_ sentence: String) -> LinkspanError {
        LinkspanError(.protocolViolation, "NATS: \(sentence)")
    }
}

extension NATSOperation.Message {
    /// The header with the number of arguments, of a content that is a list of them.
    static let countHeader = "Linkspan-Arguments"

    /// Takes the headers, `NATS/1.0 503 text` and then fields, out of the content.
    fileprivate mutating func takeHeaders(_ count: Int) throws(LinkspanError) {
        let lines = String(decoding: self.content.prefix(count), as: UTF8.self).split(separator: "\r\n")
        self.content = self.content.dropFirst(count)
        guard let first = lines.first, first.hasPrefix("NATS/1.") else {
            throw NATSOperation.violation("headers do not begin with their version")
        }
        self.status = first.split(separator: " ").dropFirst().first.flatMap { Int($0) }
        self.isList = lines.contains { $0.hasPrefix("\(Self.countHeader):") }
    }
}
