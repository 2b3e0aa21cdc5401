internal import Linkspan
internal import Testing

@testable import LinkspanSocketIO

@Suite("Socket.IO attachments")
struct AttachmentTests {
    private static let placeholder = #"{"_placeholder":true,"num":0}"#

    @Test(arguments: [100, 16 << 20])
    func `the most bytes of a message are those of the configuration`(bytes: Int) {
        #expect(SocketIOLimits.with(maximumMessageBytes: bytes).maximumMessageBytes == bytes)
    }

    @Test
    func `attachments are put together in order, and only small ones are copied (S03, S04)`() throws {
        var decoder = SocketIODecoder()
        let header = #"52-/a,3["e",{"_placeholder":true,"num":1},{"deep":[{"num":0,"_placeholder":true}]}]"#
        #expect(try decoder.receive(text: bytes(header)) == nil)
        #expect(decoder.isCollecting)
        let first = Array(repeating: UInt8(9), count: 256 << 10)[100...]
        let second: ArraySlice<UInt8> = [9, 4][1...]
        #expect(try decoder.receive(binary: first) == nil)
        guard case .event(_, let message) = try decoder.receive(binary: second) else {
            Issue.record("no event")
            return
        }
        #expect(!decoder.isCollecting)
        #expect(decoder.unfinishedBytes == 0)
        #expect(message.replyID == 3)
        #expect(message.payload[0]?.blob == [4])
        #expect(message.payload[1]?["deep"]?[0]?.blob == first)
        #expect(isInside(try #require(message.payload.attachments.first), first))
        #expect(!isInside(message.payload.attachments[1], second), "a small one would keep all of its read alive")
    }

    @Test
    func `a binary acknowledgement is put together too`() throws {
        var decoder = SocketIODecoder()
        _ = try decoder.receive(text: bytes("61-7[\(Self.placeholder)]"))
        let packet = try #require(try decoder.receive(binary: []))
        #expect(Flat(packet) == Flat("ack", id: 7, Self.placeholder, attachments: [[]]))
    }

    @Test(arguments: [
        #"2["e"]"#, #"51-["e",{"_placeholder":true,"num":0}]"#, "1", "",
    ])
    func `text while attachments are due is an error that frees the half packet (S04)`(packet: String) throws {
        var decoder = SocketIODecoder()
        _ = try decoder.receive(text: bytes(#"52-["e",\#(Self.placeholder)]"#))
        _ = try decoder.receive(binary: [1, 2, 3])
        let error = #expect(throws: SocketIOProtocolError.self) { try decoder.receive(text: bytes(packet)) }
        #expect(error?.code == .outOfTurn)
        #expect(decoder.unfinishedBytes == 0)
        #expect(try Flat(#require(try decoder.receive(text: bytes(#"2["next"]"#)))).event == "next")
    }

    @Test
    func `a binary frame when none is due is an error (S04)`() {
        var decoder = SocketIODecoder()
        let error = #expect(throws: SocketIOProtocolError.self) { try decoder.receive(binary: [1]) }
        #expect(error?.code == .outOfTurn)
        #expect(decoder.unfinishedBytes == 0)
    }

    @Test(arguments: [
        #"{"_placeholder":true,"num":1}"#,
        #"{"_placeholder":true,"num":-1}"#,
        #"{"_placeholder":true,"num":"0"}"#,
        #"{"_placeholder":true,"num":"splice"}"#,
        #"{"_placeholder":true,"num":0.5}"#,
        #"{"_placeholder":true,"num":0e0}"#,
        #"{"_placeholder":true,"num":null}"#,
        #"{"_placeholder":true,"num":[0]}"#,
        #"{"_placeholder":true}"#,
        #"{"_placeholder":true,"num":99999999999999999999999999}"#,
        #"{"_placeholder":true,"num":{"_placeholder":true,"num":0}}"#,
        #"{"num":3,"_placeholder":true}"#,
        #"{ "_placeholder" : true , "num" : 3 }"#,
        #"{"_placeholder":true,"num":0,"num":3}"#,
        #"{"a":[[{"b":{"_placeholder":true,"num":2}}]]}"#,
        #"{"\u005fplaceholder":true,"num":2}"#,
        #"{"_placeholder":true,"n\u0075m":2}"#,
    ])
    func `CVE-2022-2421: a placeholder whose index is no integer in range is refused at once`(value: String) {
        #expect(Verdict(#"51-["e",\#(value)]"#) == .refused(.badAttachments))
        #expect(Verdict(#"61-1[\#(value)]"#) == .refused(.badAttachments))
    }

    @Test(arguments: [
        #"{"_placeholder":"no"}"#, #"{"_placeholder":false,"num":9}"#, #"{"num":9}"#,
        #"{"_placeholder":1,"num":9}"#,
        #"{"_placeholder":{"num":9}}"#, #""_placeholder\":true""#, #"["_placeholder",true,"num",9]"#,
        #"{"x":{"num":9},"_placeholder":true,"num":0}"#, #"{"_placeholder":null}"#,
        #"{"Num":9,"_placeholder":true,"num":0}"#,
    ])
    func `an object that resembles a placeholder is data`(value: String) {
        #expect(Verdict(#"51-["e",\#(value),\#(Self.placeholder)]"#) == .awaitsAttachments)
    }

    @Test
    func `CVE-2020-36049, CVE-2026-33151: more attachments than the limit are refused by their count alone`() throws {
        #expect(Verdict(#"510-["e"]"#) == .awaitsAttachments)
        #expect(Verdict(#"511-["e"]"#) == .refused(.badAttachments))
        #expect(Verdict(#"51000000-["e"]"#) == .refused(.badAttachments))
        let limits = SocketIOLimits(maximumAttachments: 20)
        var decoder = SocketIODecoder(limits: limits)
        #expect(try decoder.receive(text: bytes(#"520-["e"]"#)) == nil)
        #expect(decoder.isCollecting)
    }

    @Test
    func `CVE-2026-69185: a packet that announces no attachment is complete and leaves no state`() throws {
        var decoder = SocketIODecoder()
        let packet = try #require(try decoder.receive(text: bytes(#"50-["e",1]"#)))
        #expect(Flat(packet) == Flat("event", event: "e", "1"))
        #expect(!decoder.isCollecting)
        #expect(throws: SocketIOProtocolError.self) { try decoder.receive(binary: [1, 2, 3]) }
        #expect(decoder.unfinishedBytes == 0)
        #expect(try decoder.receive(text: bytes(#"2["e"]"#)) != nil)
    }

    @Test
    func `CVE-2016-10542: a packet and its attachments are bounded in bytes together`() throws {
        let limits = SocketIOLimits(maximumMessageBytes: 100)
        var decoder = SocketIODecoder(limits: limits)
        let header = bytes(#"52-["e"]"#)
        _ = try decoder.receive(text: header)
        _ = try decoder.receive(binary: Array(repeating: 0, count: 50)[...])
        #expect(decoder.unfinishedBytes == header.count + 50)
        let error = #expect(throws: SocketIOProtocolError.self) {
            try decoder.receive(binary: Array(repeating: 0, count: 43)[...])
        }
        #expect(error?.code == .tooLarge)
        #expect(error?.message == "a message is larger than the 100 bytes that are accepted here")
        #expect(decoder.unfinishedBytes == 0)
        _ = try decoder.receive(text: header)
        _ = try decoder.receive(binary: Array(repeating: 0, count: 50)[...])
        #expect(try decoder.receive(binary: Array(repeating: 0, count: 42)[...]) != nil, "the limit itself is allowed")
        let long = bytes("2[\"" + String(repeating: "x", count: 100) + "\"]")
        #expect(throws: SocketIOProtocolError.self) { try decoder.receive(text: long) }
    }

    @Test
    func `an attachment that does not come ends the session at its deadline`() throws {
        var session = SocketIOSession.opened()
        _ = try session.enter()
        _ = session.take(#"40{"sid":"x"}"#)
        _ = session.take(#"452-["e"]"#, at: 5)
        #expect(session.nextDeadline == at(35))
        _ = session.take(binary: [1], at: 30)
        _ = session.take("2", at: 50)
        #expect(session.nextDeadline == at(60), "each has its own time, and a ping buys none")
        #expect(session.tick(at: 59).isEmpty)
        let output = session.tick(at: 60)
        #expect(output.close?.code == .protocolViolation)
        #expect((output.close?.cause as? SocketIOProtocolError)?.code == .attachmentsOverdue)
    }

    @Test
    func `the deadline goes away with the last attachment`() throws {
        var session = SocketIOSession.opened()
        _ = try session.enter()
        _ = session.take(#"40{"sid":"x"}"#)
        _ = session.take(#"451-["e",{"_placeholder":true,"num":0}]"#, at: 5)
        let output = session.take(binary: [7], at: 30)
        #expect(output.happenings == [.message(0, "e", Self.placeholder)])
        #expect(session.nextDeadline == at(45))
    }
}
