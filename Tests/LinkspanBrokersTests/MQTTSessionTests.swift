internal import Linkspan
@testable internal import LinkspanBrokers
internal import LinkspanNetwork
internal import LinkspanWebSocket
internal import Testing

/// MQTT as a value, against packets of the test's own.
@Suite("MQTT session", .timeLimit(.minutes(1)))
struct MQTTSessionTests {
    /// A packet of which the remaining length has one or two bytes.
    static func packet(_ first: UInt8, _ body: [UInt8]) -> [UInt8] {
        let high = UInt8(body.count >> 7)
        let length: [UInt8] = high == 0 ? [UInt8(body.count)] : [UInt8(body.count & 127 | 128), high]
        return [first] + length + body
    }

    static func text(_ text: String) -> [UInt8] { [0, UInt8(text.utf8.count)] + Array(text.utf8) }

    /// The broker's acceptance.
    static func accepted(_ properties: [UInt8] = []) -> [UInt8] {
        Self.packet(0x20, [0, 0, UInt8(properties.count)] + properties)
    }

    /// A message of quality 0, or of quality 1 under a number.
    static func message(
        _ topic: String, _ content: String, _ properties: [UInt8] = [], number: UInt8? = nil
    ) -> [UInt8] {
        var body = Self.text(topic)
        if let number { body += [0, number] }
        body += [UInt8(properties.count)] + properties
        body += Array(content.utf8)
        return Self.packet(number == nil ? 0x30 : 0x32, body)
    }

    static func ready(_ properties: [UInt8] = [], _ language: MQTTMessageProtocol = .init()) throws -> Received {
        var received = try Received(language)
        try received.receive(Self.accepted(properties))
        _ = received.takeSent()
        return received
    }

    @Test
    func `protocols are compared by their configuration, and not by what a session has kept`() throws {
        let configuration = WebSocketConfiguration {
            $0.protocol = MQTTMessageProtocol { $0.clientID = "sensor-7" }
        }
        var language = try #require(configuration.protocol as? MQTTMessageProtocol)
        #expect(language != MQTTMessageProtocol())
        _ = try language.begin(SessionStart(url: try ConnectionURL("ws://broker.example")))
        _ = try language.decode(binary: Self.accepted()[...])
        #expect(language == MQTTMessageProtocol { $0.clientID = "sensor-7" })
        #expect(NATSMessageProtocol() != NATSMessageProtocol { $0.queueGroup = "workers" })
    }

    // MARK: What is sent

    @Test
    func `a session that the broker has not accepted leaves the former one as it was`() throws {
        let former = Secret("me\n3 a/+")
        var language = MQTTMessageProtocol()
        let url = try ConnectionURL("ws://broker.example")
        _ = try language.begin(SessionStart(resumption: former, url: url))
        #expect(language.resumption == former)
        _ = try language.decode(binary: Self.accepted()[...])
        #expect(language.resumption == former)
    }

    @Test
    func `CONNECT says what is configured`() throws {
        let language = MQTTMessageProtocol {
            $0.clientID = "me"
            $0.sessionExpiry = .seconds(258)
            $0.keepAlive = .seconds(3)
            $0.userProperties = ["a": "b"]
            $0.will = .init("gone", .empty, isRetained: true)
        }
        var received = try Received(language, auth: ["username": "ann", "password": "pw"])
        let properties: [UInt8] =
            [0x11, 0, 0, 1, 2, 0x22, 0, 64, 0x27, 1, 0, 0, 0, 0x26] + Self.text("a") + Self.text("b")
        let head = Self.text("MQTT") + [5, 0xEC, 0, 3, UInt8(properties.count)] + properties
        let will = [0] + Self.text("gone") + [0, 0]
        let body = head + Self.text("me") + will + Self.text("ann") + Self.text("pw")
        #expect(received.takeSent() == Self.packet(0x10, body))
        var old = try Received(MQTTMessageProtocol { $0.version = .v3 })
        #expect(old.takeSent() == Self.packet(0x10, Self.text("MQTT") + [4, 2, 0, 30, 0, 0]))
    }

    @Test(arguments: [(0, 0), (1, 1), (1_000, 1), (1_900, 2)])
    func `the broker expects heartbeats no sooner than they are sent`(milliseconds: Int, seconds: UInt8) throws {
        var received = try Received(MQTTMessageProtocol { $0.keepAlive = .milliseconds(milliseconds) })
        // Behind the header, the name and version of the protocol, and the flags.
        #expect(received.takeSent()[10..<12] == [0, seconds])
    }

    @Test
    func `3_1_1 asks for a clean session if none can be named or is to be kept`() throws {
        for (id, expiry, flags) in [("", 9, 2), ("me", 0, 2), ("me", 9, 0)] as [(String, Int, UInt8)] {
            let language = MQTTMessageProtocol {
                $0.version = .v3
                $0.clientID = id
                $0.sessionExpiry = .seconds(expiry)
            }
            var received = try Received(language)
            #expect(received.takeSent()[9] == flags)
        }
        for expiry in [0, 9] {
            var received = try Received(MQTTMessageProtocol { $0.sessionExpiry = .seconds(expiry) })
            #expect(received.takeSent()[9] == 0, "mosquitto does not keep a session of 5.0 that began clean")
        }
    }

    @Test(arguments: [("username", 0x80), ("password", 0x40)] as [(String, UInt8)])
    func `of name and password each may be alone, and its flag says which it is`(_ field: String, _ flag: UInt8) throws
    {
        var received = try Received(.mqtt, auth: [field: "x"])
        let sent = received.takeSent()
        #expect(sent[9] == flag)
        #expect(sent.suffix(3) == [0, 1, 120])
    }

    @Test
    func `without an interval there are no heartbeats`() throws {
        let language = MQTTMessageProtocol { $0.keepAlive = .zero }
        #expect(try Self.ready([], language).session.state?.deadline == nil)
        #expect(try Self.ready([0x13, 0, 0]).session.state?.deadline == nil)
        #expect(try Self.ready([0x13, 0, 9], language).session.state?.deadline == .seconds(9))
    }

    @Test
    func `renewed credentials are shown by AUTH, with an authentication method`() throws {
        let language = MQTTMessageProtocol { $0.authenticationMethod = "JWT" }
        let credentials = try Credentials(auth: ["data": "new"])
        var received = try Self.ready([], language)
        try received.perform { try #require(try $0.renew(credentials)) }
        let properties = [0x15] + Self.text("JWT") + [0x16] + Self.text("new")
        #expect(received.takeSent() == Self.packet(0xF0, [0x19, UInt8(properties.count)] + properties))
        try received.receive([0xF0, 0])
        let error = #expect(throws: LinkspanError.self) { try received.receive([0xF0, 2, 0x18, 0]) }
        #expect(error?.code == .unsupported)
        for other in [MQTTMessageProtocol(), MQTTMessageProtocol { $0.version = .v3 }] {
            var session = other
            #expect(try session.renew(credentials) == nil)
        }
    }

    @Test
    func `a topic is written once for each alias that the broker takes`() throws {
        var received = try Self.ready([0x22, 0, 1])
        for topic in ["a", "a", "b"] { try received.send(topic, .empty) }
        let sent = received.takeSent()
        #expect(sent == [0x30, 7, 0, 1, 97, 3, 0x23, 0, 1, 0x30, 6, 0, 0, 3, 0x23, 0, 1, 0x30, 4, 0, 1, 98, 0])
    }

    @Test
    func `deliveries fill the session up to the receive maximum, and go out once on one link`() throws {
        var received = try Self.ready([0x21, 0, 2])
        #expect(try received.deliver("a", .empty, id: 7) == .selfContained)
        #expect(received.session.state?.isFull == false)
        #expect(try received.deliver("a", .empty, id: 8, key: "k", isRepeated: true) == .selfContained)
        #expect(received.session.state?.isFull == true)
        let key = [0x26] + Self.text("key") + Self.text("k")
        #expect(
            received.takeSent()
                == Self.packet(0x32, [0, 1, 97, 0, 1, 0])
                + Self.packet(0x3A, [0, 1, 97, 0, 2, UInt8(key.count)] + key))
        #expect(try received.deliver("a", .empty, id: 8) == .nothing)
        #expect(received.takeSent().isEmpty)
        try received.receive([0x40, 3, 0, 2, 0x97] + [0x40, 3, 0, 1, 0x87])
        #expect(received.lines == ["failed 8 serverUnavailable", "failed 7 messageRefused"])
        #expect(received.session.state?.isFull == false)
        #expect(try received.deliver("a", .empty, id: 8) == .selfContained)
        try received.receive([0x40, 2, 0, 3])
        #expect(received.lines.last == "reply 8 []")
    }

    @Test
    func `a reply to a request of a former link ends no request of this one`() throws {
        let language = MQTTMessageProtocol { $0.clientID = "me" }
        let acceptances = [Self.accepted(), Self.packet(0x20, [1, 0, 0]), Self.packet(0x20, [1, 0, 0])]
        var correlations: [[UInt8]] = []
        for acceptance in acceptances {
            var received = try Received(language)
            try received.receive(acceptance)
            _ = received.takeSent()
            try received.send("t", .empty, id: 7)
            // Behind the response topic.
            let sent = received.takeSent()
            let start = try #require(sent.latin.ranges(of: "linkspan/replies/me").last)
            let index = sent.latin.distance(from: sent.latin.startIndex, to: start.upperBound)
            correlations.append(Array(sent[index...].prefix(3 + Int(sent[index + 2]))))
            for correlation in correlations {
                try received.receive(Self.message("linkspan/replies/me", "1", correlation))
            }
            #expect(received.lines == ["reply 7 [1]"])
        }
        #expect(Set(correlations).count == 3)
    }

    @Test
    func `replies come to a topic without wildcards, whatever the client identifier`() throws {
        var received = try Self.ready([], MQTTMessageProtocol { $0.clientID = "a+#" })
        try received.send("t", .empty, id: 7)
        #expect(received.takeSent().latin.contains("linkspan/replies/a%2B%23"))
        try received.receive(Self.message("linkspan/replies/a%2B%23", "1", [0x09] + Self.text("7")))
        #expect(received.lines == ["reply 7 [1]"])
        try received.send("t", .empty, id: 8)
        #expect(received.takeSent().first == 0x30, "one subscription is enough for all requests")
    }

    @Test
    func `requests fail when the broker refuses the topic for replies, and the next one asks for it again`() throws {
        var received = try Self.ready()
        try received.send("t", .empty, id: 7)
        try received.receive(Self.packet(0x90, [0, 1, 0, 0x87]))
        #expect(received.lines == ["failed 7 refused"])
        _ = received.takeSent()
        try received.send("t", .empty, id: 8)
        #expect(received.takeSent().first == 0x82)
    }

    @Test(arguments: [[0x21, 0, 0], [0x27, 0, 0, 0, 0]] as [[UInt8]])
    func `a broker that takes no message at all violates the protocol`(_ properties: [UInt8]) throws {
        let error = #expect(throws: LinkspanError.self) { try Self.ready(properties) }
        #expect(error?.code == .protocolViolation)
    }

    @Test
    func `a packet identifier is not used twice at a time`() throws {
        var received = try Self.ready()
        for id in 1...65_535 as ClosedRange<UInt64> { _ = try received.deliver("a", .empty, id: id) }
        #expect(received.session.state?.isFull == true)
        _ = received.takeSent()
        let error = #expect(throws: LinkspanError.self) { try received.deliver("a", .empty, id: 65_536) }
        #expect(error?.code == .encodingFailed)
        try received.receive([0x40, 2, 0, 5])
        _ = try received.deliver("a", .empty, id: 65_536)
        #expect(received.takeSent() == Self.packet(0x32, [0, 1, 97, 0, 5, 0]))
    }

    @Test
    func `a blob is a message's content, and is refused beside another argument`() throws {
        var received = try Self.ready()
        func payload(_ elements: String) -> Payload {
            Payload(trustedElements: Array(elements.utf8)[...], attachments: [[7, 8, 9]])
        }
        _ = received.takeSent()
        try received.send("a", payload(#"{"_placeholder":true,"num":0}"#))
        #expect(received.takeSent().suffix(3) == [7, 8, 9])
        let error = #expect(throws: LinkspanError.self) {
            try received.send("a", payload(#"{"_placeholder":true,"num":0},1"#))
        }
        #expect(error?.code == .encodingFailed)
    }

    @Test
    func `the answer to the oldest of more than 1,024 questions is refused`() throws {
        var received = try Self.ready()
        try received.perform { try $0.subscribe(to: "t") }
        let question = Self.message("t", "1", [0x08] + Self.text("answer"))
        for _ in 0..<1_025 { try received.receive(question) }
        let error = #expect(throws: LinkspanError.self) { try received.reply(to: 1, .empty) }
        #expect(error?.code == .encodingFailed)
        try received.reply(to: 2, .empty)
        try received.reply(to: 1_025, .empty)
    }

    @Test
    func `a session that nobody resumes is not continuous, and one that the broker does not keep is not resumed`()
        throws
    {
        var first = try Received(MQTTMessageProtocol { $0.clientID = "me" })
        try first.receive(Self.packet(0x20, [1, 0, 0]))
        #expect(!first.session.info.isContinuous)
        #expect(first.session.resumption == Secret("me"))
        for language in [MQTTMessageProtocol { $0.sessionExpiry = .zero }, MQTTMessageProtocol()] {
            let properties = [0x12] + Self.text("id") + (language.sessionExpiry == .zero ? [] : [0x11, 0, 0, 0, 0])
            #expect(try Self.ready(properties, language).session.resumption == nil)
        }
        #expect(try Self.ready().session.resumption == nil, "nobody has named the client")
    }

    @Test
    func `a heartbeat that is not answered ends the session`() throws {
        var received = try Self.ready([0x13, 0, 9])
        #expect(received.session.state?.deadline == .seconds(9))
        try received.perform { try $0.deadlinePassed(at: .seconds(9)).answers }
        #expect(received.takeSent() == [0xC0, 0])
        #expect(received.session.state?.deadline == .seconds(18))
        try received.receive([0xD0, 0])
        try received.perform { try $0.deadlinePassed(at: .seconds(18)).answers }
        let error = #expect(throws: LinkspanError.self) {
            try received.perform { try $0.deadlinePassed(at: .seconds(27)).answers }
        }
        #expect(error?.code == .heartbeatMissed)
    }

    @Test
    func `a resumed session knows the filters of kept messages before they are subscribed again`() throws {
        var first = try Self.ready([0x12] + Self.text("id"))
        for event in ["b/+", "t", "a/#"] { try first.perform { try $0.subscribe(to: event) } }
        first.perform { $0.unsubscribe(from: "b/+") }
        let resumption = try #require(first.session.resumption)
        var second = try Received(MQTTMessageProtocol(), resumption: resumption)
        try second.receive(Self.packet(0x20, [1, 0, 0]) + Self.message("a/x", "1", [0x0B, 3]))
        #expect(second.session.info.isContinuous)
        #expect(second.lines == [#"a/# [1,"a/x"]"#])
        try second.perform { try $0.subscribe(to: "c/+") }
        // Marked for a filter that nobody listens to any more, and for one that is new.
        try second.receive(Self.message("t", "2", [0x0B, 1]) + Self.message("c/x", "3", [0x0B, 4]))
        #expect(second.lines.dropFirst() == ["t [2]", #"c/+ [3,"c/x"]"#])
    }

    @Test
    func `a topic that was given up comes for the filters alone, and is given up once`() throws {
        var received = try Self.ready()
        for event in ["t", "#"] { try received.perform { try $0.subscribe(to: event) } }
        // Without numbers, as from a broker of 3.1.1.
        try received.receive(Self.message("t", "1"))
        received.perform { $0.unsubscribe(from: "t") }
        _ = received.takeSent()
        received.perform { $0.unsubscribe(from: "t") }
        #expect(received.takeSent().isEmpty)
        try received.receive(Self.message("t", "2"))
        #expect(received.lines == ["t [1]", ##"# [1,"t"]"##, ##"# [2,"t"]"##])
    }

    @Test
    func `numbers that are unknown, or of filters that do not match, say nothing`() throws {
        var received = try Self.ready()
        for event in ["a/#", "+/x", "b/+"] { try received.perform { try $0.subscribe(to: event) } }
        try received.receive(Self.message("a/x", "1", [0x0B, 2, 0x0B, 99]))
        #expect(received.lines == [#"+/x [1,"a/x"]"#, #"a/# [1,"a/x"]"#])
        try received.receive(Self.message("a/x", "2", [0x0B, 4]))
        #expect(received.lines.dropFirst(2) == [#"+/x [2,"a/x"]"#, #"a/# [2,"a/x"]"#])
    }

    @Test
    func `of topics the first 1,024 get a number, if the broker takes so many`() throws {
        for (most, count) in [(1_000, 1_000), (1_024, 1_024), (1_025, 1_024)] {
            var received = try Self.ready([0x22, UInt8(most >> 8), UInt8(most & 0xFF)])
            for number in 1...1_030 { try received.send("\(number)", .empty) }
            _ = received.takeSent()
            let numbered = try (1...1_030).filter { number in
                try received.send("\(number)", .empty)
                // The number takes the place of the topic.
                return received.takeSent()[2...3] == [0, 0]
            }
            #expect(numbered == Array(1...count))
        }
    }

    @Test
    func `a packet of exactly the broker's limit is sent`() throws {
        var received = try Self.ready([0x27, 0, 0, 0, 20])
        try received.send("a", try Payload("123456789012"))
        #expect(received.takeSent().count == 20)
        let error = #expect(throws: LinkspanError.self) { try received.send("a", try Payload("1234567890123")) }
        #expect(error?.code == .messageTooLarge)
    }

    @Test(arguments: [127, 128, 129, 16_383, 16_384, 16_385])
    func `the length of a packet has one byte for each seven bits`(_ length: Int) throws {
        var received = try Self.ready()
        // Behind the topic and the properties.
        try received.send("a", Payload(trustedElements: [UInt8](repeating: 49, count: length - 4)[...]))
        let sent = received.takeSent()
        let count = length < 128 ? 1 : length < 16_384 ? 2 : 3
        #expect(sent.count == 1 + count + length)
        let value = sent[1...count].reversed().reduce(0) { $0 << 7 | Int($1 & 0x7F) }
        #expect(value == length && sent[1...count].map { $0 > 0x7F } == (1...count).map { $0 < count })
    }

    @Test
    func `a field has 65,535 bytes at most`() throws {
        func connect(_ count: Int) throws -> [UInt8] {
            var received = try Received(.mqtt, auth: ["password": String(repeating: "x", count: count)])
            return received.takeSent()
        }
        #expect(try connect(65_535).suffix(65_537).starts(with: [0xFF, 0xFF]))
        let error = #expect(throws: LinkspanError.self) { try connect(65_536) }
        #expect(error?.code == .encodingFailed)
    }

    @Test
    func `a topic has 65,535 bytes at most`() throws {
        try MQTTTopic.check(String(repeating: "a", count: 65_535), isForSending: true)
        let error = #expect(throws: LinkspanError.self) {
            try MQTTTopic.check(String(repeating: "a", count: 65_536), isForSending: true)
        }
        #expect(error?.message.contains("is no MQTT topic") == true)
    }

    @Test
    func `numbers of filters begin anew behind the highest one`() {
        var filters = Subscriptions(["268435455 a/+"])
        #expect(["b/+", "c/+", "b/+"].map { filters.add($0) } == [2, 3, 2])
        #expect(filters.events == ["a/+", "b/+", "c/+"])
    }

    @Test(arguments: [
        ("#", "$SYS/x", false), ("+/x", "$SYS/x", false), ("$SYS/#", "$SYS/x", true), ("#", "a/b", true),
        ("a/#", "a", true), ("a/+", "a", false), ("+", "/a", false), ("+/+", "/a", true),
        ("a/+/c", "a/b/c", true), ("a/b", "a/b/c", false), ("a/b", "a", false),
        ("$share/group/a/+", "a/b", true), ("$share/group/#", "$SYS/x", false),
    ])
    func `a filter matches the topics of section 4.7`(_ filter: String, _ topic: String, _ isMatch: Bool) {
        #expect(MQTTTopic.matches(filter, topic) == isMatch)
    }

    @Test(arguments: [
        "a+", "a/#/b", "#a", "a#", "$share/g", "$share//a", "", "a\u{1}", "a\u{9F}/+", "\u{1FFFE}", "a+\u{301}",
    ])
    func `a filter that would end the link is refused`(_ filter: String) throws {
        var received = try Self.ready()
        let error = #expect(throws: LinkspanError.self) { try received.perform { try $0.subscribe(to: filter) } }
        #expect(error?.code == .encodingFailed)
        #expect(received.sent.isEmpty)
    }

    @Test(arguments: ["a\0", "a\nb", "\u{7F}", "a\u{85}b", "\u{FFFF}"])
    func `a text that would end the link is refused, but for a password`(_ text: String) throws {
        var received = try Self.ready()
        let error = #expect(throws: LinkspanError.self) { try received.deliver("a", .empty, id: 7, key: text) }
        #expect(error?.code == .encodingFailed)
        #expect(received.sent.isEmpty)
        for language in [MQTTMessageProtocol { $0.clientID = text }, .init { $0.userProperties = ["a": text] }] {
            #expect(throws: LinkspanError.self) { try Received(language) }
        }
        #expect(throws: LinkspanError.self) { try Received(.mqtt, auth: ["username": text]) }
        var secret = try Received(.mqtt, auth: ["password": text])
        #expect(secret.takeSent().suffix(text.utf8.count).elementsEqual(text.utf8))
    }

    @Test
    func `subscriptions are no others than the broker has said that it takes`() throws {
        var plain = try Self.ready([0x29, 0])
        try plain.perform { try $0.subscribe(to: "a/+") }
        #expect(plain.takeSent() == Self.packet(0x82, [0, 1, 0] + Self.text("a/+") + [0x11]))
        try plain.receive(Self.message("a/x", "1"))
        #expect(plain.lines == [#"a/+ [1,"a/x"]"#])
        for (term, filter) in [(0x28, "a/+"), (0x2A, "$share/g/a")] as [(UInt8, String)] {
            var received = try Self.ready([term, 0])
            let error = #expect(throws: LinkspanError.self) { try received.perform { try $0.subscribe(to: filter) } }
            #expect(error?.code == .unsupported)
            #expect(received.sent.isEmpty)
        }
    }

    @Test(
        arguments: [
            (1, .refused), (2, .refused), (3, .serverUnavailable), (4, .credentialsRefused), (5, .credentialsRefused),
            (6, .refused),
        ] as [(UInt8, LinkspanError.Code)])
    func `a broker of 3_1_1 refuses by a code of its own`(_ code: UInt8, _ meaning: LinkspanError.Code) throws {
        var received = try Received(MQTTMessageProtocol { $0.version = .v3 })
        let error = #expect(throws: LinkspanError.self) { try received.receive([0x20, 2, 0, code]) }
        #expect(error?.code == meaning)
        let words = ["version", "identifier", "cannot serve", "password", "not authorized", "unknown"]
        #expect(error?.message.contains(words[Int(code) - 1]) == true)
    }

    @Test(
        arguments: [
            (.connectionLost, [0x80, 0x83]), (.protocolViolation, [0x81, 0x82]),
            (.credentialsRefused, [0x86, 0x87, 0x8C]), (.heartbeatMissed, [0x8D]), (.closedByServer, [0x8E]),
            (.messageRefused, [0x8F, 0x90, 0x95, 0x99]), (.refused, [0x84, 0x85, 0x8A, 0x9A, 0x9B, 0x9E, 0xA1, 0xA2]),
            (.serverUnavailable, [0x88, 0x89, 0x8B, 0x93, 0x96, 0x97, 0x9C, 0x9D, 0x9F, 0xA0]),
        ] as [(LinkspanError.Code, [UInt8])])
    func `a broker of 5_0 ends a session for a reason`(_ meaning: LinkspanError.Code, _ reasons: [UInt8]) throws {
        for reason in reasons {
            var received = try Self.ready()
            let error = #expect(throws: LinkspanError.self) { try received.receive([0xE0, 1, reason]) }
            #expect(error?.code == meaning, "reason \(reason)")
        }
    }

    @Test
    func `a subscription that is refused for no reason is told, also by a broker of 3_1_1`() throws {
        for (version, answer) in [(.v5, [0, 1, 0, 0x80]), (.v3, [0, 1, 0x80])]
            as [(MQTTMessageProtocol.Version, [UInt8])]
        {
            var received = try Received(MQTTMessageProtocol { $0.version = version })
            try received.receive(version == .v5 ? Self.accepted() : [0x20, 2, 0, 0])
            try received.perform { try $0.subscribe(to: "t") }
            try received.receive(Self.packet(0x90, answer))
            #expect(received.lines == ["failed - refused"])
        }
    }

    // MARK: What comes

    /// Packets of each kind, as an honest broker sends them to a session that has subscribed and delivered.
    private static let stream: [[UInt8]] = [
        accepted([0x21, 0, 9, 0x22, 0, 9, 0x12] + text("id") + [0x26] + text("a") + text("b") + [0x24, 1]),
        packet(0x90, [0, 1, 0, 1]),
        message("a/x", #"{"a":1}"#, [0x23, 0, 1, 0x0B, 2]),
        message("", "text", [0x23, 0, 1, 0x0B, 2]),
        message("t", "1,2", [0x08] + text("answer") + [0x09, 0, 2, 0, 255], number: 9),
        message("t", "[1,2]", [0x26] + text("arguments") + text("2")),
        message("linkspan/replies/id", "5", [0x09] + text("77")),
        packet(0x40, [0, 2]), packet(0x40, [0, 3, 0x97, 0]), [0xD0, 0], packet(0x90, [0, 99, 0, 0x87]), [0xF0, 0],
        packet(0xB0, [0, 4, 0, 0]),
    ]

    private static func busy() throws -> Received {
        var received = try Received(.mqtt)
        try received.perform { try $0.subscribe(to: "a/+") }
        _ = try received.deliver("d", .empty, id: 1)
        _ = try received.deliver("d", .empty, id: 2)
        _ = received.takeSent()
        return received
    }

    @Test
    func `a stream means the same however it is cut`() throws {
        let bytes = Array(Self.stream.joined())
        var whole = try Self.busy()
        try whole.receive(bytes)
        #expect(
            whole.lines == [
                #"a/+ [{"a":1},"a/x"]"#, #"a/+ ["text","a/x"]"#, #"t ["1,2"] asks 1"#, "t [1,2]", "reply 77 [5]",
                "reply 1 []", "failed 2 serverUnavailable",
            ])
        #expect(whole.takeSent() == [0x40, 2, 0, 9])
        for cut in 1..<bytes.count {
            var parts = try Self.busy()
            try parts.receive(bytes[..<cut])
            try parts.receive(bytes[cut...])
            #expect(parts.lines.sorted() == whole.lines.sorted(), "cut at \(cut)")
        }
        var single = try Self.busy()
        for byte in bytes { try single.receive([byte]) }
        #expect(single.lines.sorted() == whole.lines.sorted())
    }

    @Test
    func `a packet that is too short is a violation, or means less`() throws {
        for (index, packet) in Self.stream.enumerated() {
            let body = Array(packet.dropFirst(2))
            for count in 0..<body.count {
                var received = index == 0 ? try Received(.mqtt) : try Self.ready()
                do throws(LinkspanError) {
                    try received.receive(Self.packet(packet[0], Array(body.prefix(count))))
                    #expect(received.lines.count <= 1)
                } catch {
                    #expect(error.code == .protocolViolation, "packet \(index) of \(count) bytes")
                }
            }
        }
    }

    /// What a hostile broker sends to a session that is ready, and the code that it ends with; nil for none.
    static let attacks = [
        Attack("a length of four bytes that goes on", [0x30, 0xFF, 0xFF, 0xFF, 0xFF]),
        Attack("a length of five bytes", [0x30, 0xFF, 0xFF, 0xFF, 0xFF, 1]),
        Attack("a length of zero in five bytes", [0xD0, 0x80, 0x80, 0x80, 0x80, 0]),
        Attack("256 MiB are announced", [0x30, 0xFF, 0xFF, 0xFF, 0x7F]),
        Attack("a byte more than 16 MiB is announced", [0x30, 0x81, 0x80, 0x80, 0x08]),
        Attack("16 MiB are announced", [0x30, 0x80, 0x80, 0x80, 0x08], nil),
        Attack("a packet of type 0", [0x00, 0]),
        Attack("a second CONNACK", accepted()),
        Attack("a packet of clients", packet(0x82, [0, 1, 0] + text("a") + [0])),
        Attack("a CONNECT", packet(0x10, text("MQTT"))),
        Attack("quality 2", packet(0x34, text("a") + [0, 1, 0])),
        Attack("quality 3", packet(0x36, text("a") + [0, 1, 0])),
        Attack("no topic", message("", "x")),
        Attack("alias 0", message("a", "x", [0x23, 0, 0])),
        Attack("an alias above the maximum", message("a", "x", [0x23, 0, 65])),
        Attack("an alias that means nothing", message("", "x", [0x23, 0, 7])),
        Attack("a topic longer than its packet", packet(0x30, [0xFF, 0xFF, 97])),
        Attack("a topic that is not UTF-8", packet(0x30, [0, 2, 0xC3, 0x28, 0])),
        Attack("a topic with a zero", message("a\0b", "x")),
        Attack("properties longer than their packet", packet(0x30, text("a") + [0x7F, 0x23])),
        Attack("properties of a malformed length", packet(0x30, text("a") + [0x80, 0x80, 0x80, 0x80, 1])),
        Attack("an unknown property", message("a", "x", [0x7F, 0])),
        Attack("a property that is cut off", message("a", "x", [0x11, 0])),
        Attack("the acknowledgement of nothing", [0x40, 2, 0, 5], nil),
        Attack("an acknowledgement that is too short", [0x40, 1, 0]),
        Attack("the answer to no subscription", [0x90, 4, 0, 5, 0, 0], nil),
        Attack("a heartbeat out of turn", [0xD0, 0], nil),
        Attack("a reply to an unknown request", message("linkspan/replies/", "1", [0x09] + text("99")), nil),
        Attack("a reply with an invalid number", message("linkspan/replies/", "1", [0x09] + text("x")), nil),
        Attack("a further step of authentication", [0xF0, 2, 0x18, 0], .unsupported),
        Attack("a session that is taken over", [0xE0, 1, 0x8E], .closedByServer),
        Attack("an end with an unknown reason", [0xE0, 1, 0xFF], .refused),
        Attack("an end for an error that is not named", [0xE0, 1, 0x80], .connectionLost),
        Attack("an end for an error of the broker's own", [0xE0, 1, 0x83], .connectionLost),
        Attack(
            "an end with a reason of several lines", packet(0xE0, [0x8B, 6, 0x1F] + text("a\nb")), .serverUnavailable),
        Attack("an end after the longest time of a link", [0xE0, 1, 0xA0], .serverUnavailable),
        Attack("an end without a reason", [0xE0, 0], .connectionLost),
        Attack(
            "more than 1,024 marks",
            [0x30, 0x89, 0x10] + text("a") + [0x84, 0x10] + (0..<1_026).flatMap { _ in [0x0B, 1] as [UInt8] }),
        Attack(
            "more than 1,024 user properties",
            [0x30, 0x97, 0x48] + text("a") + [0x92, 0x48]
                + (0..<1_026).flatMap { [0x26] + text(String(UnicodeScalar(UInt16(0x4E00 + $0)) ?? "-")) + [0, 1, 97] }
        ),
        Attack("a response topic that is not UTF-8", message("a", "x", [0x08, 0, 2, 0xC3, 0x28])),
        Attack("100 marks", message("a", "x", (0..<60).flatMap { [0x0B, UInt8($0)] }), nil),
    ]

    @Test(arguments: Self.attacks)
    func `a hostile broker gets a typed error or nothing`(_ attack: Attack) throws {
        try attack.strike(ready: try Self.ready(), fresh: try Received(.mqtt))
    }

    @Test
    func `a session that another client takes over is not fought for`() throws {
        var received = try Self.ready()
        let error = #expect(throws: LinkspanError.self) { try received.receive([0xE0, 1, 0x8E]) }
        #expect(error?.code == .closedByServer)
        #expect(error?.isPermanent == true)
    }

    @Test
    func `a message before CONNACK, a CONNACK without a reason and a text message are violations`() throws {
        var received = try Received(.mqtt)
        #expect(throws: LinkspanError.self) { try received.receive(Self.message("a", "x")) }
        #expect(throws: LinkspanError.self) { try received.receive([0x20, 1, 0]) }
        var session = MQTTMessageProtocol()
        let error = #expect(throws: LinkspanError.self) { try session.decode(text: Array("x".utf8)[...]) }
        #expect(error?.code == .protocolViolation)
    }

    @Test
    func `a packet may have 1,024 marks`() throws {
        let marks = { (count: Int) in Array(repeatElement([0x0B, 1] as [UInt8], count: count).joined()) }
        var received = try Self.ready()
        try received.receive([0x30, 0x85, 0x10] + Self.text("a") + [0x80, 0x10] + marks(1_024))
        let error = #expect(throws: LinkspanError.self) {
            try received.receive([0x30, 0x87, 0x10] + Self.text("a") + [0x82, 0x10] + marks(1_025))
        }
        #expect(error?.code == .protocolViolation)
    }

    @Test
    func `a message of more than 65,536 packets is a violation`() throws {
        var received = try Self.ready()
        var flood = [UInt8](Array(repeatElement(Self.message("a", ""), count: 65_536)).joined())
        try received.receive(flood)
        flood += Self.message("a", "")
        let error = #expect(throws: LinkspanError.self) { try received.receive(flood) }
        #expect(error?.code == .protocolViolation)
        try received.receive(Self.message("a", "1"))
    }
}
