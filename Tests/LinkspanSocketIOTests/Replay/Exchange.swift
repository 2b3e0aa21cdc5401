internal import Foundation
internal import Linkspan
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
        let file = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../exchanges.txt")
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

extension Exchange {
    /// Where this client deliberately does otherwise than the recorded one.
    struct Deviation: Sendable {
        var reason: String
        /// Events that the recorded client tells before `connect` come after it here.
        var eventsFollowOpened = false
        /// How a namespace ends here that the recorded client left by itself later.
        var endsEarlier: LinkspanError.Code?
        /// Frames of the recorded client for which this one has no occasion.
        var unheard: [String] = []
        /// Frames that the recorded client owed.
        var unsent: [String] = []
    }

    private static let openedFirst = Deviation(
        reason: "a link says `opened` before anything else, so events from before the answer to CONNECT wait for it",
        eventsFollowOpened: true)
    private static let silentByHand = Deviation(
        reason: "the recorded client was driven by hand, to see what a server does when no ping is answered",
        unsent: ["3"])

    /// By the names of the exchanges.
    static let deviations: [String: Deviation] = [
        "04: Python-socketio: an event emitted inside the connect handler arrives BEFORE the CONNECT answer":
            Self.openedFirst,
        "09: Client never answers: JS server closes (no code) pingTimeout after the ping": Self.silentByHand,
        "09: Same, python-socketio: close code 1000": Self.silentByHand,
        #"10: Python-socketio asyncio: only Engine.IO packet "1" is sent, the websocket stays open"#: Deviation(
            reason: "the official client waits for the end of the stream, which never comes; the packet says it all",
            endsEarlier: .connectionLost, unheard: ["41"]),
        "11: Websocket cut by the proxy, four missed packets, resumed": Self.openedFirst,
        "11: Same with polling+upgrade": Self.openedFirst,
        "11: Same, polling only": Self.openedFirst,
        "13: Python-socketio 4.6.1 / python-engineio 3.14.2": Deviation(
            reason: "the recorded client was driven by hand, and went on in a namespace that had refused it",
            unheard: [#"42/auth,1["whoami"]"#, "41/auth,"]),
        "15: Accepted": Self.openedFirst,
    ]

    /// How sessions end that are ended by what carries them; the others end by packets.
    static let endings: [String: LinkspanError.Code] = [
        "05: AllowRequest refuses, polling": .refused,
        "05: AllowRequest refuses, websocket (status 400 instead of 403, plain text)": .refused,
        "09: Server stops pinging: client closes after pingInterval+pingTimeout, reconnects": .heartbeatMissed,
        "09: Client never answers: JS server closes (no code) pingTimeout after the ping": .connectionLost,
        "09: Same, python-socketio: close code 1000": .connectionLost,
        "10: Engine closed by the JS server, websocket": .connectionLost,
        "10: Client exceeds maxPayload (10 kB), websocket: 1009": .messageRefused,
        "10: Same, polling: 413": .messageRefused,
        "11: Websocket cut by the proxy, four missed packets, resumed": .connectionLost,
        "11: Same with polling+upgrade": .connectionLost,
        "11: Same, polling only": .connectionLost,
        "11: Disconnected longer than maxDisconnectionDuration: new sid and pid": .connectionLost,
        "11: Server without recovery: the missed packets are lost": .connectionLost,
        "14: EIO=4 client, official v2 server, polling": .unsupportedVersion,
        "14: EIO=4 client, python EIO3 server": .refused,
        "14: EIO=3 client, v4 server without allowEIO3, websocket: 101 followed by a raw HTTP 400": .protocolViolation,
        "14: Same, polling": .unsupportedVersion,
    ]

    /// How the official client calls the end of a connection.
    private static let reasons: [String: LinkspanError.Code] = [
        "io client disconnect": .disconnected, "io server disconnect": .closedByServer,
        "transport close": .connectionLost, "transport error": .connectionLost, "ping timeout": .heartbeatMissed,
    ]

    /// The reports with events behind the `connect` of their namespace.
    var reportsWithOpenedFirst: [Report] {
        var result: [Report] = []
        var held: [Report] = []
        var open: Set<String> = []
        for report in self.reports {
            switch report.kind {
            case "event" where !open.contains(report.namespace):
                held.append(report)
                continue
            case "event": ()
            case "connect": open.insert(report.namespace)
            default: open.remove(report.namespace)
            }
            result.append(report)
            result += held.filter { $0.namespace == report.namespace }
            held.removeAll { $0.namespace == report.namespace }
        }
        return result
    }
}

extension Exchange.Report {
    /// Whether this says the same as an outcome, of a namespace that was open before or not.
    func says(_ outcome: Outcome, wasOpen: Bool, endsEarlier: LinkspanError.Code?) throws -> Bool {
        switch (self.kind, outcome) {
        case ("connect", .opened(self.namespace, let sid, _)):
            return sid == self.detail
        case ("event", .message(self.namespace, let json, let id, let attachments)):
            return try self.says(json, attachments, wantsReply: id != nil)
        case ("disconnect", .closed(self.namespace, let code, _)):
            // It does not tell that a message was refused from any other loss.
            let told = code == .messageRefused ? .connectionLost : code
            return wasOpen && (endsEarlier ?? Exchange.reason(self.detail)) == told
        case ("connect_error", .closed(self.namespace, _, let details)):
            // What a carrier is refused with has no common words.
            return !wasOpen && details.map { Foreign.string("message", in: $0) ?? "" } ?? self.detail == self.detail
        default:
            return false
        }
    }

    private func says(_ json: String, _ attachments: [[UInt8]], wantsReply: Bool) throws -> Bool {
        guard case .array(var arguments) = try JSON(json), case .string(let name)? = arguments.first else {
            return false
        }
        arguments.removeFirst()
        guard self.detail != "\(name) …" else { return true }
        guard self.detail.hasPrefix("\(name) ") else { return false }
        arguments = arguments.map { $0.filled(with: attachments, isArgument: true) }
        if wantsReply { arguments.append(.string("ackfn")) }
        return try JSON(String(self.detail.dropFirst(name.count + 1))) == .array(arguments)
    }
}

extension Exchange {
    /// The code for a reason of the official client.
    fileprivate static func reason(_ text: String) -> LinkspanError.Code? { Self.reasons[text] }
}
