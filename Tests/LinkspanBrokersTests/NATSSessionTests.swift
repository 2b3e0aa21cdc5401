internal import Linkspan
internal import LinkspanBrokers
internal import LinkspanNetwork
internal import LinkspanWebSocket
internal import Testing

/// NATS as a value, against lines of the test's own.
@Suite("NATS session", .timeLimit(.minutes(1)))
struct NATSSessionTests {
    private static let greeting =
        #"INFO {"server_id":"S","client_id":5,"version":"2.9","max_payload":100,"connect_urls":["h:1","[::1]:2","a b"]}"#
        + "\r\n"

    private static func ready() throws -> Received {
        var received = try Received(.nats)
        try received.receive((Self.greeting + "PONG\r\n").utf8)
        for event in ["news", "rooms.*"] { try received.perform { try $0.subscribe(to: event) } }
        _ = received.takeSent()
        return received
    }

    // MARK: What is sent

    @Test
    func `the greeting is answered with the credentials, and the session is ready when they are taken`() throws {
        var received = try Received(.nats, auth: ["username": "ann", "pass": "pw", "token": "t"])
        #expect(received.takeSent().isEmpty)
        try received.receive(Self.greeting.utf8)
        let sent = received.takeSent().latin
        for part in ["CONNECT {", #""user":"ann""#, #""pass":"pw""#, #""auth_token":"t""#, #""no_responders":true"#] {
            #expect(sent.contains(part))
        }
        #expect(sent.hasSuffix("}\r\nSUB _INBOX.S.5.* 1\r\nPING\r\n"))
        #expect(received.session.state?.isReady == false)
        try received.receive("PONG\r\n".utf8)
        #expect(received.session.state?.isReady == true)
        #expect(received.session.info.endpoints.map(\.host) == ["h", "::1"])
        try received.receive("PING\r\nPING\r\n".utf8)
        #expect(received.takeSent().latin == "PONG\r\nPONG\r\n")
    }

    @Test
    func `nodes that the server names later take the place of the former ones`() throws {
        var received = try Self.ready()
        try received.receive("INFO {\"max_payload\":50}\r\n".utf8)
        #expect(received.session.info.endpoints.map(\.host) == ["h", "::1"])
        try received.receive("INFO {\"connect_urls\":[\"late:3\"]}\r\n".utf8)
        #expect(received.session.info.endpoints.map(\.host) == ["late"])
        #expect(received.sent.isEmpty)
    }

    @Test
    func `of a long list of nodes the first 256 are taken`() throws {
        var received = try Received(.nats)
        let nodes = (0..<5_000).map { "\"h:\($0 + 1)\"" }.joined(separator: ",")
        try received.receive("INFO {\"connect_urls\":[\(nodes)]}\r\n".utf8)
        #expect(received.session.info.endpoints.count == 256)
    }

    @Test
    func `messages, requests, deliveries and replies are written as the protocol says`() throws {
        var received = try Self.ready()
        try received.send("a.b", try Payload("x"))
        try received.send("a", try Payload(1, 2), id: 7)
        _ = try received.deliver("a", .empty, id: 8, key: "k")
        try received.receive("MSG news 2 back 1\r\n1\r\n".utf8)
        try received.reply(to: 1, try Payload(3))
        #expect(
            received.takeSent().latin
                == "PUB a.b 3\r\n\"x\"\r\n"
                + "HPUB a _INBOX.S.5.7 35 40\r\nNATS/1.0\r\nLinkspan-Arguments: 2\r\n\r\n[1,2]\r\n"
                + "HPUB a _INBOX.S.5.d8 28 28\r\nNATS/1.0\r\nNats-Msg-Id: k\r\n\r\n\r\n"
                + "PUB back 1\r\n3\r\n")
        #expect(throws: LinkspanError.self) { try received.reply(to: 1, .empty) }
        // JetStream takes no notice of an empty one, so that it would store a repetition again.
        for key in ["", "k\r\nPUB x 0"] {
            let error = #expect(throws: LinkspanError.self) { try received.deliver("a", .empty, id: 9, key: key) }
            #expect(error?.code == .encodingFailed)
        }
        #expect(throws: LinkspanError.self) {
            try received.send("large", try Payload(String(repeating: "x", count: 99)))
        }
        #expect(received.sent.isEmpty)
    }

    @Test
    func `a refusal that names a subject fails the requests and deliveries to it, and no others`() throws {
        var received = try Self.ready()
        try received.send("a", .empty, id: 7)
        _ = try received.deliver("a", .empty, id: 8)
        try received.send("a.b", .empty, id: 9)
        try received.receive("-ERR 'Permissions Violation for Subscription to \"a\"'\r\n".utf8)
        #expect(received.lines == ["failed - messageRefused"])
        for _ in 0..<2 { try received.receive("-ERR 'Permissions Violation for Publish to \"a\"'\r\n".utf8) }
        let failed = ["failed 7 messageRefused", "failed 8 messageRefused", "failed - messageRefused"]
        #expect(Array(received.lines.dropFirst()) == failed)
    }

    @Test(arguments: [(1_024, 1), (1_025, 513)])
    func `a refusal fails the latest requests to its subject, as many as are remembered`(count: UInt64, first: UInt64)
        throws
    {
        var received = try Self.ready()
        for id in 1...count { try received.send("a", .empty, id: id) }
        try received.receive("-ERR 'Permissions Violation for Publish to \"a\"'\r\n".utf8)
        #expect(received.lines == (first...count).map { "failed \($0) messageRefused" })
    }

    @Test
    func `only the refusal of the subjects for replies ends requests and deliveries, and nothing else`() throws {
        var received = try Self.ready()
        try received.receive("-ERR 'Permissions Violation for Subscription to \"news\"'\r\n".utf8)
        try received.send("a", .empty, id: 7)
        try received.receive("-ERR 'Permissions Violation for Subscription to \"_INBOX.S.5.*\"'\r\n".utf8)
        let error = #expect(throws: LinkspanError.self) { try received.send("a", .empty, id: 8) }
        #expect(error?.code == .messageRefused)
        try received.send("a", .empty)
    }

    @Test(
        arguments: [
            ("a.b", true), (String(repeating: "a", count: 3_072), true), (String(repeating: "a", count: 3_073), false),
            ("a b", false), ("a\u{1F}", false), ("a\u{7F}", false), ("a..b", false), ("", false), ("a.*", false),
        ])
    func `a subject to send to is neither too long nor malformed, and has no wildcard`(subject: String, isValid: Bool)
        throws
    {
        var received = try Self.ready()
        do {
            try received.send(subject, .empty)
            #expect(isValid)
        } catch {
            #expect(!isValid && (error as? LinkspanError)?.code == .encodingFailed)
        }
    }

    @Test
    func `content may have as many bytes as the server says with its headers, and no other number counts`() throws {
        var received = try Self.ready()
        for size in [-5, 0] { try received.receive("INFO {\"max_payload\":\(size)}\r\n".utf8) }
        // With the quotation marks.
        try received.send("a", try Payload(String(repeating: "x", count: 98)))
        _ = try received.deliver("a", try Payload(String(repeating: "x", count: 70)), id: 8, key: "k")
        let error = #expect(throws: LinkspanError.self) {
            try received.deliver("a", try Payload(String(repeating: "x", count: 71)), id: 9, key: "k")
        }
        #expect(error?.code == .messageTooLarge)
    }

    @Test(arguments: ["k\rl", "k\nl"])
    func `a key has no line break`(key: String) throws {
        var received = try Self.ready()
        let error = #expect(throws: LinkspanError.self) { try received.deliver("a", .empty, id: 9, key: key) }
        #expect(error?.code == .encodingFailed)
    }

    @Test(arguments: [(499, "messageRefused"), (500, "serverUnavailable")])
    func `an error of JetStream ends a delivery, and is the answer to a request`(code: Int, failure: String) throws {
        var received = try Self.ready()
        let answer = "{\"error\":{\"code\":\(code)}}"
        for number in ["d4", "7"] {
            try received.receive("MSG _INBOX.S.5.\(number) 1 \(answer.utf8.count)\r\n\(answer)\r\n".utf8)
        }
        #expect(received.lines.sorted() == ["failed 4 \(failure)", "reply 7 [\(answer)]"])
    }

    @Test
    func `a line has 64 KiB at most, whether its end has come or not`() throws {
        let line = { (count: Int) in "INFO {\"a\":\"\(String(repeating: "x", count: count - 14))\"}\r" }
        var received = try Self.ready()
        try received.receive(line(65_536).utf8)
        try received.receive("\n".utf8)
        for end in ["", "\n"] {
            let error = #expect(throws: LinkspanError.self) { try received.receive((line(65_537) + end).utf8) }
            #expect(error?.code == .protocolViolation)
            received = try Self.ready()
        }
    }

    // MARK: What comes

    private static let stream = [
        greeting, "PONG\r\n", "+OK\r\n", "PING\r\n", "MSG news 2 7\r\n{\"a\":1}\r\n", "msg news 2 back 4\r\ntext\r\n",
        "HMSG rooms.blue 3 35 40\r\nNATS/1.0\r\nLinkspan-Arguments: 2\r\n\r\n[1,2]\r\n",
        "MSG _INBOX.S.5.7 1 1\r\n5\r\n",
        // A listener's, which is no acknowledgement, and that of the server.
        "MSG _INBOX.S.5.d8 1 2\r\n{}\r\n", "MSG _INBOX.S.5.d8 1 14\r\n{\"stream\":\"s\"}\r\n",
        "HMSG _INBOX.S.5.d9 1 16 16\r\nNATS/1.0 503\r\n\r\n\r\n",
        "HMSG _INBOX.S.5.9 1 16 16\r\nNATS/1.0 503\r\n\r\n\r\n",
        "MSG _INBOX.S.5.d4 1 28\r\n{\"error\":{\"code\":400,\"x\":1}}\r\n",
        "-ERR 'Permissions Violation for Publish to \"x\"'\r\n",
    ]

    private static func listening() throws -> Received {
        var received = try Received(.nats)
        for event in ["news", "rooms.*"] { try received.perform { try $0.subscribe(to: event) } }
        _ = received.takeSent()
        return received
    }

    @Test
    func `a stream means the same however it is cut`() throws {
        let bytes = Array(Self.stream.joined().utf8)
        var whole = try Self.listening()
        try whole.receive(bytes)
        let sent = whole.takeSent()
        #expect(sent.latin.hasSuffix("PONG\r\n"))
        #expect(
            whole.lines == [
                #"news [{"a":1}]"#, #"news ["text"] asks 1"#, #"rooms.* [1,2,"rooms.blue"]"#, "reply 7 [5]",
                #"reply 8 [{"stream":"s"}]"#, "failed 9 serverUnavailable", "failed 9 serverUnavailable",
                "failed 4 messageRefused", "failed - messageRefused",
            ])
        for cut in 1..<bytes.count {
            var parts = try Self.listening()
            try parts.receive(bytes[..<cut])
            try parts.receive(bytes[cut...])
            #expect(parts.lines.sorted() == whole.lines.sorted(), "cut at \(cut)")
            #expect(parts.takeSent() == sent)
        }
        var single = try Self.listening()
        for byte in bytes { try single.receive([byte]) }
        #expect(single.lines.sorted() == whole.lines.sorted())
    }

    @Test
    func `an operation that is cut off before its end is a violation, or means less`() throws {
        for operation in Self.stream {
            let bytes = Array(operation.utf8)
            for count in 0..<bytes.count {
                var received = try Self.ready()
                do throws(LinkspanError) {
                    try received.receive(bytes[..<count] + Array("\r\nPING\r\nPING\r\nPING\r\nPING\r\n".utf8))
                    #expect(received.lines.count <= 1)
                } catch {
                    #expect(error.code == .protocolViolation, "\(operation.prefix(count)): \(error)")
                }
            }
        }
    }

    static let attacks = [
        ("a line without an end", String(repeating: "x", count: 66_000), .protocolViolation),
        (
            "a line that is too long", "INFO {\"a\":\"\(String(repeating: "x", count: 66_000))\"}\r\n",
            .protocolViolation
        ),
        ("more bytes than a number has", "MSG news 2 99999999999999999999\r\n", .protocolViolation),
        ("more than 64 MiB are announced", "MSG news 2 67108865\r\n", .protocolViolation),
        ("64 MiB are announced", "MSG news 2 67108864\r\n", nil),
        ("a negative size", "MSG news 2 -1\r\n", .protocolViolation),
        ("no size", "MSG news 2\r\n", .protocolViolation),
        ("too many words", "MSG news 2 a b c 1\r\n", .protocolViolation),
        ("a subscription that is no number", "MSG news x 1\r\n1\r\n", .protocolViolation),
        ("an unknown subscription", "MSG news 99 1\r\n1\r\n", nil),
        ("headers longer than their message", "HMSG news 2 9 5\r\n12345\r\n", .protocolViolation),
        ("headers of a negative size", "HMSG news 2 -1 5\r\n12345\r\n", .protocolViolation),
        ("headers of more than 64 KiB", "HMSG news 2 65537 65537\r\n", .protocolViolation),
        ("headers without a version", "HMSG news 2 4 4\r\n1234\r\n", .protocolViolation),
        ("headers that are not UTF-8", "HMSG news 2 10 10\r\nNATS/1.0 \u{FFFD}\r\n", .protocolViolation),
        ("a message longer than its size", "MSG news 2 1\r\n123\r\n", .protocolViolation),
        ("an unknown operation", "EVAL x\r\n", .protocolViolation),
        ("an operation of clients", "SUB a 1\r\n", .protocolViolation),
        ("an empty line", "\r\n", .protocolViolation),
        ("information that is not JSON", "INFO {\r\n", .protocolViolation),
        ("information that is nothing", "INFO\r\n", .protocolViolation),
        ("information of a wrong form", "INFO {\"max_payload\":-5,\"connect_urls\":7}\r\n", nil),
        ("nodes with malformed names", "INFO {\"connect_urls\":[\"a b:c\",7,\"\"]}\r\n", nil),
        ("a reply to an unknown request", "MSG _INBOX.S.5.99 1 1\r\n1\r\n", nil),
        ("a reply with an invalid number", "MSG _INBOX.S.5.x 1 1\r\n1\r\n", nil),
        ("a reply outside of the inbox", "MSG a 1 1\r\n1\r\n", nil),
        ("an unknown error", "-ERR 'x\u{1B}[2J'\r\n", .protocolViolation),
        ("a connection that is stale", "-ERR 'Stale Connection'\r\n", .heartbeatMissed),
        ("a greeting that came too late", "-ERR 'Authentication Timeout'\r\n", .serverUnavailable),
        ("too many clients", "-ERR 'maximum connections exceeded'\r\n", .serverUnavailable),
        (
            "too many clients of an account", "-ERR 'maximum account active connections exceeded'\r\n",
            .serverUnavailable
        ),
        ("too many subscriptions", "-ERR 'maximum subscriptions exceeded'\r\n", nil),
        ("credentials that have expired", "-ERR 'User Authentication Expired'\r\n", .credentialsRefused),
    ].map { Attack($0.0, Array($0.1.utf8), $0.2) }

    @Test(arguments: Self.attacks)
    func `a hostile server gets a typed error or nothing`(_ attack: Attack) throws {
        try attack.strike(ready: try Self.ready(), fresh: try Received(.nats))
    }

    @Test(arguments: ["PONG\r\n", "MSG news 2 1\r\n1\r\n"])
    func `what comes before the greeting is a violation`(_ text: String) throws {
        var received = try Received(.nats)
        let error = #expect(throws: LinkspanError.self) { try received.receive(text.utf8) }
        #expect(error?.code == .protocolViolation)
        #expect(received.session.state?.isReady == false)
    }

    @Test
    func `a message of too many operations is a violation`() throws {
        var received = try Self.ready()
        let flood = String(repeating: "-ERR 'Permissions Violation'\r\n", count: 65_537)
        let error = #expect(throws: LinkspanError.self) { try received.receive(flood.utf8) }
        #expect(error?.code == .protocolViolation)
    }
}
