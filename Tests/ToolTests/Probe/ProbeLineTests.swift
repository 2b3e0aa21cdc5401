internal import Foundation
internal import Linkspan
@testable internal import linkspan
internal import TestedPrograms
internal import Testing

@Suite
struct ProbeLineTests {
    /// A line as text: its kind, event, arguments and blobs.
    private static func picture(_ line: ProbeLine) -> String {
        let show = { (payload: Payload) in
            let blobs = payload.attachments.map { blob in blob.map { String($0, radix: 16) }.joined(separator: " ") }
            return "[\(String(decoding: payload.elements, as: UTF8.self))] \(blobs)"
        }
        return switch line {
        case .send(let event, let payload): "send \(event) \(show(payload))"
        case .ask(let event, let payload): "ask \(event) \(show(payload))"
        case .answer(let payload): "answer \(show(payload))"
        case .mistake(let sentence): "mistake: \(sentence)"
        }
    }

    @Test(
        arguments: [
            ("ping", "send ping [] []"), ("  say  hello there ", #"send say ["hello there"] []"#),
            (#"say {"room":"lobby"} 3 true null"#, #"send say [{"room":"lobby"},3,true,null] []"#),
            (#"say {"a":"} ]"}, [1, 2], "x \" y""#, #"send say [{"a":"} ]"},[1, 2],"x \" y"] []"#),
            (#"? who "lobby""#, #"ask who ["lobby"] []"#), ("?who -1.5", "ask who [-1.5] []"),
            ("say 1, -2.5e3, true, null, end", #"send say [1,-2.5e3,true,null,"end"] []"#),
            ("say 0049123", #"send say ["0049123"] []"#), ("say 0x10 1", #"send say ["0x10 1"] []"#),
            ("say 1 1.", #"send say [1,"1."] []"#), ("say -", #"send say ["-"] []"#),
            ("say 1,", "send say [1] []"), ("say 1,2", #"send say ["1,2"] []"#),
            (#"["say",{"a":1},2]"#, #"send say [{"a":1},2] []"#), ("! 1 2", "answer [1,2] []"), ("!", "answer [] []"),
            ("put hex:00ff", #"send put [{"_placeholder":true,"num":0}] ["0 ff"]"#),
            ("put 1 base64:AQI= 2", #"send put [1,{"_placeholder":true,"num":0},2] ["1 2"]"#),
            ("put hex:0g", "mistake: '0g' is not hexadecimal"), ("put base64:*", "mistake: '*' is not Base64"),
            ("put file:/nowhere/x", "mistake: the file '/nowhere/x' cannot be read"),
            (#"say {"a":1"#, #"mistake: a quote or a bracket is not closed: {"a":1"#),
            ("[1]", "mistake: a JSON array has to begin with the name of an event"),
            ("?", "mistake: a line begins with the name of an event"),
        ])
    func `a line of an event is read with JSON, binary and plain text`(line: String, expected: String) {
        #expect(Self.picture(ProbeLine.event(line)) == expected)
    }

    @Test
    func `JSON that is not valid is a mistake, and not sent`() {
        for line in [#"say {"a":}"#, "say {a:1}", "say [1,,2]"] {
            #expect(Self.picture(ProbeLine.event(line)).hasPrefix("mistake: the arguments are not JSON"))
        }
    }

    @Test(
        arguments: [
            ("hello", #"send text ["hello"] []"#), (#"{"op":1}"#, #"send text ["{\"op\":1}"] []"#),
            ("? who", #"send text ["? who"] []"#), ("//binary", #"send text ["/binary"] []"#),
            ("/binary hex:0102", #"send binary [{"_placeholder":true,"num":0}] ["1 2"]"#),
            ("/binary text", "mistake: /binary needs hex:…, base64:… or file:PATH"),
        ])
    func `a line over a raw WebSocket is a message`(line: String, expected: String) {
        #expect(Self.picture(ProbeLine.message(line)) == expected)
    }
}

@Suite
struct ProbeFormatTests {
    @Test
    func `JSON is printed in lines without a change of its values`() {
        let json = #"{"a":[1.0,{"b":"x, y: {z}"}],"c":{},"d":[],"e":"\"\\","f":12345678901234567890}"#
        #expect(
            PrettyJSON.lines(json, width: 20) == """
                {
                  "a": [
                    1.0,
                    {
                      "b": "x, y: {z}"
                    }
                  ],
                  "c": {},
                  "d": [],
                  "e": "\\"\\\\",
                  "f": 12345678901234567890
                }
                """)
        #expect(PrettyJSON.compact(" { \"a\" : [ 1 , 2 ] } ") == #"{"a":[1,2]}"#)
        #expect(PrettyJSON.lines(#"{"a":1}"#) == #"{"a":1}"#)
    }

    @Test
    func `a string that begins with a combining mark is one string`() {
        let json = "\"\u{301}" + String(repeating: "x,* connected {", count: 10) + "\""
        #expect(PrettyJSON.lines(json) == json)
        #expect(PrettyJSON.compact(json) == json)
    }

    @Test
    func `each format shows events, acknowledgements and binary`() throws {
        let blob: [UInt8] = [0, 255]
        let payload = try Payload(
            checking: Array(#"{"a":1}, {"_placeholder":true,"num":0}"#.utf8)[...], attachments: [blob[...]])
        let text = { (format: ProbeFormat, kind: ProbeFormat.Kind) in format.text(kind, "ev", payload, isRaw: false) }
        #expect(text(.line, .event(wantsReply: false)) == #"ev {"a":1} hex:00ff"#)
        #expect(text(.line, .acknowledgement) == #"ack ev {"a":1} hex:00ff"#)
        #expect(text(.pretty, .event(wantsReply: true)) == "← ev (wants an acknowledgement: !)\n{\"a\":1}\nhex:00ff")
        #expect(text(.pretty, .acknowledgement) == "← acknowledged ev\n{\"a\":1}\nhex:00ff")
        #expect(
            text(.json, .event(wantsReply: true))
                == #"{"event":"ev","wantsAcknowledgement":true,"arguments":[{"a":1},{"_placeholder":true,"num":0}],"attachments":["AP8="]}"#
        )
        let raw = try Payload(#"{"op":"x"}"#)
        #expect(ProbeFormat.line.text(.event(wantsReply: false), "text", raw, isRaw: true) == #"{"op":"x"}"#)
        #expect(
            ProbeFormat.json.text(.event(wantsReply: false), "text", raw, isRaw: true) == #"{"text":"{\"op\":\"x\"}"}"#)
        let bytes = try Payload(checking: Array(#"{"_placeholder":true,"num":0}"#.utf8)[...], attachments: [blob[...]])
        #expect(ProbeFormat.line.text(.event(wantsReply: false), "binary", bytes, isRaw: true) == "hex:00ff")
        #expect(ProbeFormat.json.text(.event(wantsReply: false), "binary", bytes, isRaw: true) == #"{"binary":"AP8="}"#)
    }

    @Test(arguments: ["\n", "\r\n", "\r", "\u{2028}"])
    func `nothing that a server sends begins another line`(lineEnd: String) throws {
        let forged = "x\(lineEnd)* connected to https://bank in 3 ms"
        let event = ForeignText.line(forged)
        let text = { (format: ProbeFormat, kind: ProbeFormat.Kind) in
            format.text(kind, forged, .empty, isRaw: false)
        }
        #expect(text(.line, .event(wantsReply: false)) == event)
        #expect(text(.line, .acknowledgement) == "ack \(event)")
        #expect(text(.pretty, .event(wantsReply: false)) == "← \(event)")
        #expect(text(.pretty, .event(wantsReply: true)) == "← \(event) (wants an acknowledgement: !)")
        #expect(text(.pretty, .acknowledgement) == "← acknowledged \(event)")

        let raw = { (format: ProbeFormat) in
            format.text(.event(wantsReply: false), "text", try Payload(forged), isRaw: true)
        }
        #expect(try raw(.line) == event)
        #expect(try raw(.pretty) == "← x\n  * connected to https://bank in 3 ms")
        let long = String(repeating: "long ", count: 1_000)
        #expect(
            ProbeFormat.line.text(.event(wantsReply: false), "text", try Payload(long), isRaw: true) == long)
    }
}

@Suite
struct PromptStateTests {
    @Test
    func `what comes is printed above the line that is being typed`() {
        var state = PromptState()
        var terminal = TerminalEmulator(columns: 30, rows: 6)
        terminal.feed(state.prompt.utf8)
        terminal.feed(state.type(Array("half a li".utf8), columns: 30).output.utf8)
        terminal.feed(state.show("← news\n{\"a\":\u{1B}[2J1}").utf8)
        #expect(terminal.lines.prefix(3) == ["← news", "{\"a\":\u{FFFD}[2J1}", "> half a li"])
        #expect(terminal.cursor == (2, 11))
        let result = state.type(Array("ne\r".utf8), columns: 30)
        terminal.feed(result.output.utf8)
        #expect(result.lines == ["half a line"])
        #expect(terminal.lines.prefix(4) == ["← news", "{\"a\":\u{FFFD}[2J1}", "> half a line", ">"])
        #expect(state.type([3], columns: 30).wish == .leave)
        #expect(state.type([0x1A], columns: 30).wish == .suspend)
        #expect(state.type(Array("x\u{4}".utf8), columns: 30).wish == nil)
    }
}
