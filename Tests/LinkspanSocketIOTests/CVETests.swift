internal import Linkspan
internal import Testing

@testable import LinkspanSocketIO

/// What has gone wrong in other implementations, each by its public number.
@Suite("CVE: Socket.IO and Engine.IO")
struct CVETests {
    private static let placeholder = #"{"_placeholder":true,"num":0}"#

    private static func connected() throws -> SocketIOSession {
        var session = SocketIOSession.opened()
        _ = try session.enter()
        _ = session.take(#"40{"sid":"x"}"#)
        return session
    }

    @Test(arguments: [
        #"451-["e",{"_placeholder":true,"num":"0"}]"#, #"451-["e",{"_placeholder":true,"num":1e9}]"#,
        #"451-["e",{"_placeholder":true,"num":-1}]"#, #"451-["e",{"_placeholder":true}]"#,
        #"451-["e",{"_placeholder":true,"num":{"splice":1}}]"#, #"42[{"toString":"foo"}]"#, "42[[]]", "42[false]",
    ])
    func `CVE-2022-2421, CVE-2023-32695: a placeholder or name of a wrong type is an error and no exception`(
        _ frame: String
    ) throws {
        var session = try Self.connected()
        #expect(session.take(frame).closingError?.code == .protocolViolation)
    }

    @Test(arguments: [
        "", "\0", "4", "40", "0", "0null", "0[]", "b", "b4=", "\u{1E}", "2\u{1E}2", "error", "42[\"error\"]",
    ])
    func `CVE-2022-21676, CVE-2022-41940, CVE-2023-31125, CVE-2024-38355: no frame is an exception`(_ frame: String)
        throws
    {
        var fresh = SocketIOSession(openTimeout: .seconds(10), now: at(0))
        _ = fresh.take(frame)
        var session = try Self.connected()
        _ = session.take(frame)
        // Whatever it was: nothing is owed to a session that has ended, and one that has not goes on.
        #expect(session.nextDeadline == nil || session.isConnected(0))
    }

    @Test(arguments: [11, 100, 1_000_000])
    func `CVE-2020-36049, CVE-2026-33151: more than ten attachments are refused before one is kept`(_ count: Int) throws
    {
        var decoder = SocketIODecoder()
        #expect(throws: SocketIOProtocolError.self) {
            try decoder.receive(text: bytes(#"5\#(count)-["e",\#(Self.placeholder)]"#))
        }
        #expect(!decoder.isCollecting)
        #expect(decoder.unfinishedBytes == 0)
    }

    @Test
    func `CVE-2026-69185 (GHSA-2m8v-j782-fhvr): a binary packet without attachments leaves nothing to collect`() throws
    {
        var decoder = SocketIODecoder()
        #expect(try decoder.receive(text: bytes(#"50-["e"]"#)) != nil)
        #expect(!decoder.isCollecting)
        #expect(throws: SocketIOProtocolError.self) { try decoder.receive(binary: [1, 2, 3]) }
        #expect(decoder.unfinishedBytes == 0)
        #expect(try decoder.receive(text: bytes(#"2["next"]"#)) != nil)
    }

    @Test
    func `CVE-2020-36048: a packet above the limit is refused, also in pieces`() throws {
        let limits = SocketIOLimits(maximumMessageBytes: 100)
        var decoder = SocketIODecoder(limits: limits)
        #expect(throws: SocketIOProtocolError.self) {
            try decoder.receive(text: bytes("2[\"\(String(repeating: "x", count: 100))\"]"))
        }
        _ = try decoder.receive(text: bytes(#"52-["e"]"#))
        _ = try decoder.receive(binary: [UInt8](repeating: 1, count: 60)[...])
        #expect(throws: SocketIOProtocolError.self) {
            try decoder.receive(binary: [UInt8](repeating: 1, count: 60)[...])
        }
        #expect(decoder.unfinishedBytes == 0)
    }

    @Test(.timeLimit(.minutes(1)), arguments: ["[", #"{"a":"#])
    func `CVE-2020-9861: nesting costs neither stack nor time`(_ opening: String) throws {
        var session = try Self.connected()
        let frame = "42[\"e\"," + String(repeating: opening, count: 100_000)
        #expect(session.take(frame).closingError?.code == .protocolViolation)
    }

    @Test
    func `CVE-2026-48802: unasked pongs have one timer and no thread, and too many of them are an end`() throws {
        var session = try Self.connected()
        let deadline = session.nextDeadline
        for _ in 0..<EngineIOSession.maximumControlRate { _ = session.take("3") }
        #expect(session.nextDeadline == deadline)
        #expect(session.take("3").closingError?.code == .protocolViolation)
    }

    @Test
    func `GHSA-gr94-w7qr-f4j3: __proto__ is a name like another`() throws {
        var session = try Self.connected()
        let output = session.take(#"42["__proto__",{"__proto__":{"x":1}}]"#)
        #expect(output.happenings == [.message(0, "__proto__", #"{"__proto__":{"x":1}}"#)])
        var fresh = SocketIOSession(openTimeout: .seconds(10), now: at(0))
        _ = fresh.take(openFrame.replacing("lv_VI97HAXpY6yYWAAAB", with: "__proto__"))
        #expect(fresh.handshake?.sid == "__proto__")
    }

    @Test(arguments: ["\r\n", "\n", "\0", " ", "\u{7F}", "é"])
    func
        `CVE-2022-3215, CVE-2026-28970: what breaks a line gets neither from a sid nor from a namespace into a request`(
            _ poison: String
        )
    {
        var session = SocketIOSession(openTimeout: .seconds(10), now: at(0))
        let escaped = poison.unicodeScalars.map { scalar in
            let digits = String(scalar.value, radix: 16)
            return "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
        }
        let output = session.take(openFrame.replacing("lv_VI97HAXpY6yYWAAAB", with: "a" + escaped.joined()))
        #expect(output.close?.code == .protocolViolation)
        #expect(throws: LinkspanError.self) { try SocketIONamespace("/a\(poison)b") }
    }
}
