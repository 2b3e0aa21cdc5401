internal import Linkspan
internal import Testing

@testable import LinkspanSocketIO

/// Every kind of malformed packet that a whole session has to have an answer to.
///
/// Where the official client does otherwise, the reason stands beside the kind.
@Suite("Malformed kinds")
struct MalformedKindTests {
    /// What becomes of a connected session.
    enum Outcome: Equatable, CustomStringConvertible {
        /// It ends; the rule that was broken.
        case ends(SocketIOProtocolError.Code)
        /// It ends without a broken rule.
        case closes(LinkspanError.Code)
        /// The namespace ends, and the connection stays.
        case leaves(LinkspanError.Code)
        /// The packet is passed over.
        case ignored
        /// An event with this name, or a reply.
        case message(String)

        var description: String {
            switch self {
            case .ends(let code): "ends: \(code)"
            case .closes(let code): "closes: \(code.rawValue)"
            case .leaves(let code): "leaves: \(code.rawValue)"
            case .ignored: "ignored"
            case .message(let name): "message \(name)"
            }
        }
    }

    struct Kind: Sendable, CustomStringConvertible {
        let description: String
        let frames: [String]
        let outcome: Outcome

        init(_ description: String, _ frames: String..., outcome: Outcome) {
            self.description = description
            self.frames = frames
            self.outcome = outcome
        }
    }

    static let kinds: [Kind] = [
        Kind("an empty frame", "", outcome: .ends(.emptyPacket)),
        Kind("an unknown Engine.IO type", "7", outcome: .ends(.unknownType)),
        Kind("a letter as Engine.IO type", "x", outcome: .ends(.unknownType)),
        Kind("base64 on a WebSocket", "bAQID", outcome: .ends(.unknownType)),
        Kind("4 alone", "4", outcome: .ends(.unknownType)),
        Kind("an unknown Socket.IO type", "47", outcome: .ends(.unknownType)),
        // The reference drops an event without data, too.
        Kind("42 alone", "42", outcome: .ignored),
        Kind("42[]", "42[]", outcome: .ends(.badPayload)),
        Kind("42{}", "42{}", outcome: .ends(.badPayload)),
        Kind("42[null]", "42[null]", outcome: .ends(.badPayload)),
        // The reference takes a number for a name.
        Kind("42[1]", "42[1]", outcome: .message("1")),
        Kind("a reserved name", #"42["connect"]"#, outcome: .ends(.reservedEvent)),
        Kind("a reserved name in escapes", #"42["disc\u006fnnect"]"#, outcome: .ends(.reservedEvent)),
        Kind("a truncated packet", #"42["e""#, outcome: .ends(.badJSON)),
        Kind("trailing garbage", #"42["e"]x"#, outcome: .ends(.badJSON)),
        // The reference rounds it and answers another id: better no connection than a wrong answer.
        Kind("an id of twenty digits", #"4299999999999999999999["e"]"#, outcome: .ends(.badAckID)),
        Kind("an id with leading zeros", #"42007["e"]"#, outcome: .message("e")),
        Kind("a negative id", #"42-1["e"]"#, outcome: .ends(.badJSON)),
        Kind("an acknowledgement without id", "43[1]", outcome: .ignored),
        Kind("an acknowledgement with letters", "43abc", outcome: .ends(.badJSON)),
        Kind("an acknowledgement with an object", "431{}", outcome: .ends(.badPayload)),
        // A refusal of a connected namespace: the reference stays half connected, which helps nobody.
        Kind("44 with a string", #"44"no""#, outcome: .leaves(.credentialsRefused)),
        Kind("44 with an object", #"44{"message":"no"}"#, outcome: .leaves(.credentialsRefused)),
        Kind("44 with an array", "44[1]", outcome: .leaves(.credentialsRefused)),
        Kind("44 with null", "44null", outcome: .leaves(.protocolViolation)),
        Kind("44 with true", "44true", outcome: .leaves(.protocolViolation)),
        Kind("a namespace without comma", "42/chat", outcome: .ignored),
        Kind("a namespace with a query", #"42/?x=1,["e"]"#, outcome: .ignored),
        Kind("a namespace of 64 KiB", "42/\(String(repeating: "n", count: 65_536)),[\"e\"]", outcome: .ignored),
        Kind("a namespace in percent-escapes", #"42/%2F,["e"]"#, outcome: .ignored),
        Kind("a namespace of slashes", #"42//,["e"]"#, outcome: .ignored),
        Kind("45 without a count", "45-", outcome: .ends(.badAttachments)),
        Kind("45 without a dash", "451", outcome: .ends(.badAttachments)),
        Kind("45 with two counts", #"451-1-["e"]"#, outcome: .ends(.badJSON)),
        Kind("45 with a huge count", #"459007199254740993-["e"]"#, outcome: .ends(.badAttachments)),
        Kind("45 without data", "451-", outcome: .ends(.badAttachments)),
        Kind("a close", "1", outcome: .closes(.connectionLost)),
        Kind("an upgrade", "5", outcome: .ignored),
        Kind("a noop", "6", outcome: .ignored),
        Kind("a probe's answer out of turn", "3probe", outcome: .ignored),
        // The reference lets the second replace the timings of the first.
        Kind("two opens", openFrame, outcome: .ignored),
        Kind("a second open that is malformed", "0{}", outcome: .ends(.badHandshake)),
        // The reference reports a second connection; ours has not been away.
        Kind("CONNECT twice", #"40{"sid":"again"}"#, outcome: .ignored),
        Kind("a text while an attachment is due", #"451-["e"]"#, #"42["f"]"#, outcome: .ends(.outOfTurn)),
        Kind("a record separator inside a text", "42[\"e\"]\u{1E}42[\"f\"]", outcome: .ends(.badJSON)),
        Kind("a byte order mark", "42\u{FEFF}[\"e\"]", outcome: .ends(.badJSON)),
        Kind("a NUL in a string", "42[\"a\0\"]", outcome: .ends(.badJSON)),
        Kind("nothing but space for data", "42 ", outcome: .ends(.badJSON)),
        Kind("1 MiB and one byte", "42[\"\(String(repeating: "x", count: 1 << 20))\"]", outcome: .ends(.tooLarge)),
    ]

    @Test(arguments: kinds)
    func `have each the outcome that is listed`(_ kind: Kind) throws {
        var session = try Self.connected()
        var output = SocketIOOutput()
        for frame in kind.frames { output = session.take(frame) }
        #expect(Self.outcome(of: output) == kind.outcome)
        try Self.checkEnd(of: &session, output)
    }

    @Test(arguments: ["2", "3", "5", "6", "2probe", "3probe", openFrame])
    func `floods of control packets end it`(_ packet: String) throws {
        var session = try Self.connected()
        for _ in 0..<EngineIOSession.maximumControlRate - 1 { #expect(session.take(packet).close == nil) }
        _ = session.take(packet)
        #expect(Self.outcome(of: session.take(packet)) == .ends(.controlFlood))
    }

    @Test
    func `binary first, and UTF-16, end it`() throws {
        var first = SocketIOSession(openTimeout: .seconds(10), now: at(0))
        _ = try first.enter()
        #expect(first.take(binary: [1]).closingError?.code == .protocolViolation)
        var unannounced = try Self.connected()
        #expect(Self.outcome(of: unannounced.take(binary: [1])) == .ends(.outOfTurn))
        var wide = try Self.connected()
        var output = SocketIOOutput()
        wide.receive(text: Array("42[\"e\"]".utf16.flatMap { [UInt8($0), 0] })[...], now: at(0), output: &output)
        #expect(output.close?.code == .protocolViolation)
    }

    @Test
    func `an event before CONNECT is answered waits, one of a version 2 server's answers ends the namespace`() throws {
        var session = SocketIOSession.opened()
        _ = try session.enter()
        #expect(session.take(#"42["early"]"#).deliveries.isEmpty)
        #expect(session.take("40").happenings == [.closed(0, .unsupportedVersion)])
    }

    private static func connected() throws -> SocketIOSession {
        let limits = SocketIOLimits(maximumMessageBytes: 1 << 20)
        var session = SocketIOSession.opened(limits: limits)
        _ = try session.enter()
        _ = session.take(#"40{"sid":"x"}"#)
        return session
    }

    private static func outcome(of output: SocketIOOutput) -> Outcome {
        if let error = output.close {
            guard let violation = error.cause as? SocketIOProtocolError else { return .closes(error.code) }
            return error.code == .protocolViolation ? .ends(violation.code) : .closes(error.code)
        }
        switch output.deliveries.first?.event {
        case .message(let message): return .message(message.event)
        case .closed(let error): return .leaves(error.code)
        case .reply, .opened, .changed, .failed, .writable: return .message("?")
        case nil: return .ignored
        }
    }

    /// An end is told once and leaves nothing; without one the session goes on.
    private static func checkEnd(of session: inout SocketIOSession, _ output: SocketIOOutput) throws {
        let after = session.take(#"42["after"]"#)
        if output.close != nil {
            #expect(output.deliveries.count == 1 && after.isEmpty && session.nextDeadline == nil)
        } else if session.isConnected(0) {
            #expect(after.happenings == [.message(0, "after", "")])
        }
    }
}
