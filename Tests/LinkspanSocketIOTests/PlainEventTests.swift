internal import Linkspan
internal import Testing

@testable internal import LinkspanSocketIO

/// Events are read in one pass, which must take what a check of the JSON by itself takes.
@Suite("An event without attachments") struct PlainEventTests {
    private static let deep = String(repeating: "[", count: 63) + String(repeating: "]", count: 63)
    private static let tooDeep = "[" + Self.deep + "]"
    private static let arguments = [
        "", ",1", ", 1", ",1 ", " ,1", ",1,2", ",\"a\\\"b\"", ",\"a", ",{}", ",{\"k\":[1,2]}", ",[1", ",", ",,", ",1,",
        ",1]",
        ",{]", ",[}", ",\u{e9}", ",\"\u{e9}\"", ",nul", ",null", ",-", ",1.5e3", ",\(Self.deep)", ",\(Self.tooDeep)",
    ]
    private static let ends = ["]", "] ", "]\n", "]x", "", " ]", "]]"]
    private static let heads = [
        "42[\"echo\"", "42/a,[\"echo\"", "42[ \"echo\"", "42[\"e\\u0063ho\"", "42[12", "42[\"\"", "427[\"echo\"",
    ]

    private static func connected() throws -> SocketIOSession {
        var session = SocketIOSession.opened()
        for (name, answer) in [("/", #"40{"sid":"s"}"#), ("/a", #"40/a,{"sid":"s"}"#)] {
            _ = try session.enter(name)
            _ = session.take(answer)
        }
        return session
    }

    @Test(arguments: Self.heads)
    func `is taken if its text is one array of acceptable JSON`(head: String) throws {
        for frame in Self.arguments.flatMap({ arguments in Self.ends.map { head + arguments + $0 } }) {
            let json = String(frame[try #require(frame.firstIndex(of: "["))...])
            let isAcceptable = (try? Payload(checking: bytes(json)).values.count) == 1
            var session = try Self.connected()
            let happenings = session.take(frame).happenings
            let isMessage = if case .message? = happenings.first { true } else { false }
            #expect(isMessage == isAcceptable, "'\(frame)'")
            // And it leaves no trace.
            let next = session.take(#"42["last",0]"#).happenings
            #expect(next == (isAcceptable ? [.message(0, "last", "0")] : []), "behind '\(frame)'")
        }
    }

    @Test(arguments: [
        "1", "1,2", "\"a\"", "\"a\\\"]\",2", "{}", "[]", "[],1", "{\"k\":[1,{\"l\":2}]},3", "[[1,2],[3]],4",
        " 5 , 6", "true",
        "null,null", "-1.5e3,[1]", "[{}],{}",
    ])
    func `has the arguments that its text has`(text: String) throws {
        var session = try Self.connected()
        let deliveries = session.take(#"42["echo",\#(text)]"#).deliveries
        guard case .message(let message)? = deliveries.first?.event else {
            Issue.record("there is no message")
            return
        }
        let expected = try Payload(checking: bytes(text)).values
        #expect(message.payload.values == expected)
        for index in 0...expected.count {
            #expect(message.payload[index] == (index < expected.count ? expected[index] : nil))
            #expect(message.payload.detached()[index] == message.payload[index])
        }
        #expect(message.payload == Payload(trustedElements: message.payload.elements))
    }

    @Test
    func `is refused while attachments are due`() throws {
        var session = try Self.connected()
        _ = session.take(#"451-["echo",{"_placeholder":true,"num":0}]"#)
        #expect(session.take(#"42["echo",1]"#).close?.code == .protocolViolation)
    }

    @Test
    func `is refused when it has too many values`() throws {
        for (values, isAccepted) in [(JSONScanner.maximumValues - 2, true), (JSONScanner.maximumValues - 1, false)] {
            var session = try Self.connected()
            let frame = #"42["echo""# + String(repeating: ",1", count: values) + "]"
            #expect((session.take(frame).close == nil) == isAccepted)
        }
    }

    @Test
    func `goes to a namespace that was left and joined again only once that is open`() throws {
        var session = try Self.connected()
        _ = session.take(#"42/a,["echo",1]"#)
        #expect(session.take(#"41/a,"#).happenings == [.closed(1, .closedByServer)])
        #expect(session.take(#"42/a,["echo",2]"#).isEmpty)
        _ = try session.enter("/a")
        _ = session.take(#"40/a,{"sid":"t"}"#)
        #expect(session.take(#"42/a,["echo",3]"#).happenings == [.message(1, "echo", "3")])
    }
}
