internal import Linkspan
internal import Testing

@testable import LinkspanSocketIO

@Suite("Socket.IO packets")
struct SocketIODecoderTests {
    @Test(arguments: [
        ("0", Verdict.packet(Flat("connect"))),
        ("0/admin", .packet(Flat("connect", "/admin"))),
        ("1/admin,", .packet(Flat("disconnect", "/admin"))),
        ("31[]", .packet(Flat("ack", id: 1))),
        ("31", .packet(Flat("ack", id: 1))),
        (#"4"no""#, .packet(Flat("connectError", "", #""no""#))),
        (#"4{"message":"m"}"#, .packet(Flat("connectError", "", #"{"message":"m"}"#))),
        // A number is a name, as for the reference; a packet without data is dropped, as there.
        ("2[1,2]", .packet(Flat("event", event: "1", "2"))),
        ("2", .nothing),
    ])
    func `packets that the reference accepts are accepted`(packet: String, verdict: Verdict) {
        #expect(Verdict(packet) == verdict)
    }

    @Test(arguments: [
        ("2[]", SocketIOProtocolError.Code.badPayload),
        ("2{}", .badPayload),
        (#"2["connect"]"#, .reservedEvent),
        (#"2abc["a"]"#, .badJSON),
        (#"0"x""#, .badPayload),
        ("1{}", .badPayload),
        ("9", .unknownType),
    ])
    func `packets that the reference rejects are rejected`(packet: String, code: SocketIOProtocolError.Code) {
        #expect(Verdict(packet) == .refused(code))
    }

    @Test
    func `a packet above a limit of this side is refused with the limit`() {
        let packets = [
            #"2["e","# + String(repeating: "[", count: 64):
                "a packet's payload is nested deeper than the 64 levels that are accepted here",
            #"2["e""# + String(repeating: ",0", count: 100_000) + "]":
                "a packet's payload has more than the 100000 values that are accepted here",
            #"511-["e"]"#: "a packet announces more attachments than the 10 that are accepted here",
            #"2["e",]"#: "a packet's payload is not acceptable JSON",
        ]
        for (packet, message) in packets {
            var decoder = SocketIODecoder()
            let error = #expect(throws: SocketIOProtocolError.self) { try decoder.receive(text: bytes(packet)) }
            #expect(error?.message == message)
        }
    }

    @Test(arguments: [
        (#"0{"sid":"x"}"#, Flat("connect", "", #"{"sid":"x"}"#)),
        (#"0/a,{"sid":"x"}"#, Flat("connect", "/a", #"{"sid":"x"}"#)),
        ("1", Flat("disconnect")),
        ("1/admin", Flat("disconnect", "/admin")),
        (#"2["e"]"#, Flat("event", event: "e")),
        (#"2/,["e"]"#, Flat("event", event: "e")),
        (#"2/a,["e",1]"#, Flat("event", "/a", event: "e", "1")),
        (#"212["e",1,"two",{"three":[3]}]"#, Flat("event", event: "e", id: 12, #"1,"two",{"three":[3]}"#)),
        (#"2/a,12["e"]"#, Flat("event", "/a", event: "e", id: 12)),
        (#"2/a/b?x=1,0["e"]"#, Flat("event", "/a/b?x=1", event: "e", id: 0)),
        (#"2/caf%C3%A9,["e"]"#, Flat("event", "/caf%C3%A9", event: "e")),
        (#"2//,["e"]"#, Flat("event", "//", event: "e")),
        ("3/a,7[null]", Flat("ack", "/a", id: 7, "null")),
        ("4", Flat("connectError")),
        (#"4/a,"x""#, Flat("connectError", "/a", #""x""#)),
        (#"50-["e",1]"#, Flat("event", event: "e", "1")),
        (#"60-7[1]"#, Flat("ack", id: 7, "1")),
    ])
    func `all seven types with all parts of the header (S01, S02)`(packet: String, flat: Flat) {
        #expect(Verdict(packet) == .packet(flat))
    }

    @Test(arguments: [
        (#"2 [ "e" ]"#, Flat("event", event: "e")),
        (#"2["e" , 1 , 2 ] "#, Flat("event", event: "e", "1 , 2")),
        ("31 [\n]\t", Flat("ack", id: 1)),
        ("31[ 1 ]", Flat("ack", id: 1, "1")),
        ("2[ -1.5e3 ,2]", Flat("event", event: "-1.5e3", "2")),
        ("2[7 ]", Flat("event", event: "7")),
    ])
    func `white space where JSON allows it changes nothing`(packet: String, flat: Flat) {
        #expect(Verdict(packet) == .packet(flat))
    }

    @Test(arguments: [
        (#"2["a\"b"]"#, "a\"b"), (#"2["\u00e9\ud83d\ude00",1]"#, "é😀"), (#"2["\n\\"]"#, "\n\\"), (#"2[""]"#, ""),
        (#"2["é"]"#, "é"), (#"2["\ud800"]"#, "\u{FFFD}"), (#"2["a\u0000"]"#, "a\0"),
    ])
    func `escapes in a name are resolved`(packet: String, name: String) throws {
        guard case .packet(let flat) = Verdict(packet) else {
            Issue.record("refused")
            return
        }
        #expect(flat.event == name)
    }

    @Test(arguments: [
        "connect", "connect_error", "disconnect", "disconnecting", "newListener", "removeListener",
        #"\u0063onnect"#, #"disconnec\u0074"#,
    ])
    func `names of the protocol itself are refused, also when escaped (S05)`(name: String) {
        #expect(Verdict(#"2["\#(name)"]"#) == .refused(.reservedEvent))
        #expect(Verdict(#"2/a,1["\#(name)",{}]"#) == .refused(.reservedEvent))
    }

    @Test(arguments: [
        "Connect", "connecT", "connected", "connect ", "error", "__proto__", "constructor", "reconnect_ok",
        "newlistener",
    ])
    func `names that only resemble them are accepted`(name: String) {
        #expect(Verdict(#"2["\#(name)"]"#) == .packet(Flat("event", event: name)))
    }

    @Test(arguments: [
        ("", Verdict.refused(.unknownType)),
        ("7", .refused(.unknownType)),
        ("a", .refused(.unknownType)),
        ("-1", .refused(.unknownType)),
        ("2 ", .refused(.badJSON)),
        ("1/admin,\n", .refused(.badJSON)),
        ("2null", .refused(.badPayload)),
        ("2[null]", .refused(.badPayload)),
        ("2[true]", .refused(.badPayload)),
        ("2[[]]", .refused(.badPayload)),
        ("2[{}]", .refused(.badPayload)),
        (#"2"e""#, .refused(.badPayload)),
        (#"2["e""#, .refused(.badJSON)),
        (#"2["e"#, .refused(.badJSON)),
        ("2[", .refused(.badJSON)),
        (#"2["e",]"#, .refused(.badJSON)),
        (#"2["e" 1]"#, .refused(.badJSON)),
        (#"2["e"]x"#, .refused(.badJSON)),
        (#"2["e"]["e"]"#, .refused(.badJSON)),
        (#"2["e"]]"#, .refused(.badJSON)),
        (#"2["e",01]"#, .refused(.badJSON)),
        (#"2["e",NaN]"#, .refused(.badJSON)),
        (#"2['e']"#, .refused(.badJSON)),
        ("2[\"a\nb\"]", .refused(.badJSON)),
        ("2[\"a\0b\"]", .refused(.badJSON)),
        ("2\u{FEFF}[\"e\"]", .refused(.badJSON)),
        (#"2["\x"]"#, .refused(.badJSON)),
        (#"2["\u12"]"#, .refused(.badJSON)),
        (#"2-1["e"]"#, .refused(.badJSON)),
        (#"2+1["e"]"#, .refused(.badJSON)),
        (#"21.5["e"]"#, .refused(.badJSON)),
        (#"2é["e"]"#, .refused(.badJSON)),
        (#"299999999999999999999["e"]"#, .refused(.badAckID)),
        (#"218446744073709551616["e"]"#, .refused(.badAckID)),
        ("318446744073709551616[]", .refused(.badAckID)),
        (#"218446744073709551615["e"]"#, .packet(Flat("event", event: "e", id: .max))),
        (#"2007["e"]"#, .packet(Flat("event", event: "e", id: 7))),
        ("3[1]", .packet(Flat("ack", "", "1"))),
        ("3", .packet(Flat("ack"))),
        ("3abc", .refused(.badJSON)),
        ("31{}", .refused(.badPayload)),
        (#"31"x""#, .refused(.badPayload)),
        ("4[]", .packet(Flat("connectError", "", "[]"))),
        // The namespace, which knows the version, judges the data of a refusal.
        ("4null", .packet(Flat("connectError", "", "null"))),
        ("45", .packet(Flat("connectError", id: nil))),
        ("0[]", .refused(.badPayload)),
        ("0null", .refused(.badPayload)),
        ("0{", .refused(.badJSON)),
        ("0{}x", .refused(.badJSON)),
        ("1[]", .refused(.badPayload)),
        ("1/a,1", .packet(Flat("disconnect", "/a"))),
        ("1x", .refused(.badJSON)),
        (#"2/a["e"]"#, .nothing),
        ("2/a", .nothing),
        ("2/a,", .nothing),
        ("5", .refused(.badAttachments)),
        ("5-", .refused(.badAttachments)),
        ("51", .refused(.badAttachments)),
        (#"51["e"]"#, .refused(.badAttachments)),
        (#"5-1["e"]"#, .refused(.badAttachments)),
        (#"5-1-["e"]"#, .refused(.badAttachments)),
        (#"501-["e"]"#, .refused(.badAttachments)),
        (#"500-["e"]"#, .refused(.badAttachments)),
        (#"51.0-["e"]"#, .refused(.badAttachments)),
        (#"5/a,1-["e"]"#, .refused(.badAttachments)),
        (#"511-["e"]"#, .refused(.badAttachments)),
        (#"59007199254740993-["e"]"#, .refused(.badAttachments)),
        (#"599999999999999999999999-["e"]"#, .refused(.badAttachments)),
        ("51-", .refused(.badAttachments)),
        ("61-7", .refused(.badAttachments)),
        ("51-[]", .refused(.badPayload)),
        ("50-[]", .refused(.badPayload)),
        ("50-", .nothing),
        (#"510-["e"]"#, .awaitsAttachments),
        (#"51-["e",{"_placeholder":true,"num":0}]"#, .awaitsAttachments),
    ])
    func `malformed kinds give a typed error or are dropped, each as listed`(packet: String, verdict: Verdict) {
        #expect(Verdict(packet) == verdict)
    }

    @Test
    func `JSON is bounded in depth and in values, and never costs more than its length (S09, CVE-2020-9861)`() {
        let nest = { (count: Int) in String(repeating: "[", count: count) + String(repeating: "]", count: count) }
        #expect(Verdict(#"2["e",\#(nest(63))]"#) == .packet(Flat("event", event: "e", nest(63))))
        #expect(Verdict(#"2["e",\#(nest(64))]"#) == .refused(.badJSON))
        #expect(Verdict("2" + String(repeating: "[", count: 100_000)) == .refused(.badJSON))
        #expect(Verdict("2" + String(repeating: #"{"a":"#, count: 100_000)) == .refused(.badJSON))
        let many = String(repeating: ",0", count: 100_000)
        #expect(Verdict(#"2["e"\#(many)]"#) == .refused(.badJSON))
        #expect(Verdict(#"2["e"\#(many.dropLast(6))]"#) != .refused(.badJSON))
    }

    @Test(arguments: [
        "1e400", "18446744073709551616", #""\ud800""#, #"{"a":1,"a":2}"#, #"{"__proto__":{"x":1}}"#,
        #"{"_placeholder":true,"num":0}"#, #"{"_placeholder":true,"num":99}"#, "-0", #""\u0000""#,
    ])
    func `odd but well-formed values pass untouched`(value: String) {
        #expect(Verdict(#"2["e",\#(value)]"#) == .packet(Flat("event", event: "e", value)))
    }

    @Test
    func `UTF-16 text and bytes that are no UTF-8 are refused or repaired, never trapped on`() {
        var decoder = SocketIODecoder()
        let utf16 = Array(#"2["e"]"#.utf16).flatMap {
            [UInt8(truncatingIfNeeded: $0), UInt8(truncatingIfNeeded: $0 >> 8)]
        }
        #expect(throws: SocketIOProtocolError.self) { try decoder.receive(text: utf16[...]) }
        let broken: [UInt8] = Array("2[\"".utf8) + [0xFF, 0xC0] + Array("\"]".utf8)
        #expect(throws: Never.self) { try decoder.receive(text: broken[...]) }
    }

    @Test
    func `a namespace of 64 KB costs its comparison alone`() throws {
        let name = "/" + String(repeating: "x", count: 65_535)
        #expect(Verdict("2\(name),[\"e\"]") == .packet(Flat("event", name, event: "e")))
    }

    @Test
    func `every prefix of a valid packet gives a packet or an error, and the decoder stays usable`() throws {
        let whole = bytes(#"2/chat,12["na\u006de",{"a":[1,2.5e-3,true,null,"é\n"]}]"#)
        for end in whole.indices {
            var decoder = SocketIODecoder()
            _ = try? decoder.receive(text: whole[..<end])
            #expect(!decoder.isCollecting)
            let packet = try #require(try decoder.receive(text: whole))
            #expect(Flat(packet).event == "name")
        }
    }

    @Test
    func `arguments are slices of the frame, also of a frame inside a larger buffer`() throws {
        let buffer = bytes(#"xxxx42/a,5["event",{"k":"v"},[1]]yyyy"#)
        let frame = buffer.dropFirst(5).dropLast(4)
        var decoder = SocketIODecoder()
        guard case .event(let namespace, let message) = try decoder.receive(text: frame) else {
            Issue.record("no event")
            return
        }
        #expect(text(namespace) == "/a")
        #expect(text(message.payload.elements) == #"{"k":"v"},[1]"#)
        #expect(isInside(message.payload.elements, buffer))
        #expect(isInside(namespace, buffer))
        #expect(message.payload[0]?["k"]?.string == "v")
        #expect(message.replyID == 5)
    }
}
