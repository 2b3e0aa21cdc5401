internal import Foundation
internal import LinkspanNetwork
internal import Testing

@testable import LinkspanSocketIO

/// One Engine.IO session of an exchange: what was sent for it over all of its connections, in order.
struct Conversation {
    enum Step {
        /// Packets that came together: one frame, or one body.
        case packets(isFromServer: Bool, isPolling: Bool, [WebSocketMessage])
        /// A request began or was answered; a POST is not answered by its answer's body.
        case began(isPost: Bool)
        case ended(isPost: Bool)
        /// A WebSocket for a session that polls was asked for, and came up.
        case candidateRequested
        case candidateOpened
        /// An answer to a poll in the form of another version.
        case foreign
        /// A status that is neither 200 nor 101.
        case refused(status: Int, body: [UInt8], isPolling: Bool)
        case closed(isFromServer: Bool, UInt16?)
        case raw([UInt8])
        case cut(isPolling: Bool)
        case part
    }

    /// A body of packets as it was written.
    struct Body {
        /// The version whose form it has, which need not be the conversation's.
        var version: EngineIOVersion
        var isFromServer: Bool
        var bytes: [UInt8]
    }

    let version: EngineIOVersion
    /// What the server called the session.
    private(set) var sid: String?
    private(set) var steps: [Step] = []
    private(set) var bodies: [Body] = []

    private init(version: EngineIOVersion) { self.version = version }

    /// Sorts the lines of an exchange by session.
    static func all(in exchange: Exchange) throws -> [Self] {
        var conversations: [Self] = []
        var requests: [Int: Request] = [:]
        for (index, line) in exchange.lines.enumerated() {
            if case .request(let isPost, let target) = line.content {
                let query = try #require(URLComponents(string: target)?.queryItems)
                let value = { (name: String) in query.first { $0.name == name }?.value }
                let sid = value("sid")
                if sid == nil { conversations.append(Self(version: value("EIO") == "3" ? .v3 : .v4)) }
                let owner = try #require(conversations.lastIndex { sid == nil || $0.sid == sid })
                requests[line.connection] = Request(
                    owner: owner, isPost: isPost, isPolling: value("transport") == "polling", isFirst: sid == nil)
            }
            let request = try #require(requests[line.connection])
            let next = exchange.lines.dropFirst(index + 1).first { $0.connection == line.connection }
            try conversations[request.owner].add(line, request, next: next)
        }
        return conversations
    }

    private struct Request {
        var owner: Int
        var isPost: Bool
        var isPolling: Bool
        var isFirst: Bool
    }

    private mutating func add(_ line: Exchange.Line, _ request: Request, next: Exchange.Line?) throws {
        switch line.content {
        case .request where request.isPolling: self.steps.append(.began(isPost: request.isPost))
        case .request: if !request.isFirst { self.steps.append(.candidateRequested) }
        case .status(101): if !request.isFirst { self.steps.append(.candidateOpened) }
        case .status(200): self.steps.append(.ended(isPost: request.isPost))
        case .status(let status):
            if request.isPolling { self.steps.append(.ended(isPost: request.isPost)) }
            var body: [UInt8] = []
            if case .body(let bytes) = next?.content { body = bytes }
            self.steps.append(.refused(status: status, body: body, isPolling: request.isPolling))
        case .body(let bytes): try self.add(body: bytes, isFromServer: line.isFromServer, request)
        case .text(let bytes): self.add([.text(bytes[...])], isFromServer: line.isFromServer, isPolling: false)
        case .binary(let bytes): self.add([.binary(bytes[...])], isFromServer: line.isFromServer, isPolling: false)
        case .close(let code): self.steps.append(.closed(isFromServer: line.isFromServer, code))
        case .raw(let bytes): self.steps.append(.raw(bytes))
        case .cut: self.steps.append(.cut(isPolling: request.isPolling))
        case .part: self.steps.append(.part)
        }
    }

    private mutating func add(body bytes: [UInt8], isFromServer: Bool, _ request: Request) throws {
        guard request.isPost != isFromServer else { return }  // The answer to a POST says no more than ok.
        if case .refused? = self.steps.last { return }
        guard self.version == .v3 || !LegacyPollingPayload.isHandshake(bytes[...]) else {
            self.bodies.append(Body(version: .v3, isFromServer: isFromServer, bytes: bytes))
            self.steps.append(.foreign)
            return
        }
        self.bodies.append(Body(version: self.version, isFromServer: isFromServer, bytes: bytes))
        let packets =
            switch self.version {
            case .v4: try PollingPayload.decode(bytes[...])
            case .v3: try LegacyPollingPayload.decode(bytes[...])
            }
        self.add(packets, isFromServer: isFromServer, isPolling: true)
    }

    private mutating func add(_ packets: [WebSocketMessage], isFromServer: Bool, isPolling: Bool) {
        self.steps.append(.packets(isFromServer: isFromServer, isPolling: isPolling, packets))
        guard self.sid == nil, isFromServer, case .text(let open)? = packets.first, open.first == 0x30 else { return }
        self.sid = Foreign.string("sid", in: text(open.dropFirst()))
    }
}

/// A value that JSON describes, however it is written.
enum JSON: Decodable, Hashable {
    case null
    case bool(Bool)
    case number(Double)
    case string(String)
    case array([JSON])
    case object([String: JSON])

    init(_ text: String) throws { self = try JSONDecoder().decode(Self.self, from: Data(text.utf8)) }

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            self = .null
        } else if let value = try? container.decode(Bool.self) {
            self = .bool(value)
        } else if let value = try? container.decode(Double.self) {
            self = .number(value)
        } else if let value = try? container.decode(String.self) {
            self = .string(value)
        } else if let value = try? container.decode([JSON].self) {
            self = .array(value)
        } else {
            self = .object(try container.decode([String: JSON].self))
        }
    }

    /// The value as the official client's log has it: attachments in their places, an argument in hexadecimal and a
    /// deeper one as Node.js writes a buffer.
    func filled(with attachments: [[UInt8]], isArgument: Bool) -> JSON {
        switch self {
        case .array(let elements):
            return .array(elements.map { $0.filled(with: attachments, isArgument: false) })
        case .object(let members):
            guard members["_placeholder"] == .bool(true), case .number(let index)? = members["num"],
                attachments.indices.contains(Int(index))
            else { return .object(members.mapValues { $0.filled(with: attachments, isArgument: false) }) }
            let bytes = attachments[Int(index)]
            if isArgument { return .string("<\(bytes.map(Self.hex).joined())>") }
            return .object(["type": .string("Buffer"), "data": .array(bytes.map { .number(Double($0)) })])
        case .null, .bool, .number, .string:
            return self
        }
    }

    private static func hex(_ byte: UInt8) -> String {
        let digits = String(byte, radix: 16)
        return digits.count == 1 ? "0\(digits)" : digits
    }
}
