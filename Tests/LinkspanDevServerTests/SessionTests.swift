internal import Linkspan
internal import LinkspanNetwork
internal import LinkspanWebSocket
internal import Testing

/// A WebSocket link with a protocol that has a session, against a server of the test's own.
@Suite("Sessions of a link", .timeLimit(.minutes(1)))
struct SessionTests {
    private let wire: ScriptedWire
    private let link: any Link

    init() throws {
        self.wire = ScriptedWire(nil, language: WordProtocol(flaw: nil))
        self.link = try self.wire.open()
        #expect(self.wire.heard() == ["hello\n"])
    }

    private func message(_ id: UInt64? = nil) -> OutboundMessage {
        OutboundMessage(event: "news", payload: .empty, requestID: id)
    }

    private func deliver(_ id: UInt64, isRepeated: Bool = false) -> SendAcceptance {
        self.wire.loop.enter { self.link.deliver(self.message(id), key: nil, isRepeated: isRepeated) }
    }

    @Test
    func `a link is open when its session is ready, and what came before follows in order`() throws {
        self.wire.say(lines: "event news - 1", "event news - 2")
        self.wire.say(lines: "event news - 3")
        #expect(self.wire.reports.isEmpty)
        #expect(self.wire.loop.enter { self.link.send(self.message()) } == .refused)
        #expect(self.link.openingStage?.contains("protocol 'words'") == true)
        self.wire.say(lines: "event news - 4", "welcome new", "event news - 5")
        #expect(self.wire.reports == ["opened", "news 1", "news 2", "news 3", "news 4", "news 5"])
        #expect(self.link.openingStage == nil)
        #expect(self.wire.loop.enter { self.link.send(self.message()) } == .accepted)
    }

    @Test
    func `more than 1,024 events before the session is ready end the link`() {
        for number in 0..<1_024 { self.wire.say(lines: "event news - \(number)") }
        #expect(self.wire.reports.isEmpty)
        self.wire.say(lines: "event news - 1024")
        #expect(self.wire.reports == ["closed: protocolViolation"])
    }

    @Test
    func `a refusal of the session ends the link with its code, and nothing else is reported`() {
        self.wire.say(lines: "event news - 1", "denied")
        self.wire.say(lines: "welcome new")
        #expect(self.wire.reports == ["closed: credentialsRefused"])
    }

    @Test
    func `a full session takes nothing more until the server has acknowledged something`() {
        self.wire.say(lines: "welcome new")
        let acceptances: [SendAcceptance] = [.accepted, .accepted, .acceptedAndFull]
        for (id, expected) in zip(UInt64(1)..., acceptances) {
            #expect(self.deliver(id) == expected)
        }
        #expect(self.deliver(4) == .refused)
        #expect(self.wire.loop.enter { self.link.send(self.message()) } == .refused)
        self.wire.say(lines: "event news - 1")
        #expect(self.deliver(4) == .refused)
        self.wire.say(lines: "reply 2 1")
        #expect(self.wire.reports == ["opened", "news 1", "reply 2", "writable"])
        #expect(self.deliver(4) == .acceptedAndFull)
        self.wire.say(lines: "reply 1 1", "reply 3 1")
        #expect(self.wire.reports.suffix(3) == ["reply 1", "reply 3", "writable"])
        #expect(self.wire.heard().count { $0.hasPrefix("event") } == 4)
    }

    @Test
    func `a message that the protocol does not send again is accepted, and nothing is written`() throws {
        let wire = ScriptedWire(nil, language: WordProtocol(flaw: .deliversOnce))
        let link = try wire.open()
        wire.say(lines: "welcome new")
        let before = wire.writes.count
        #expect(wire.loop.enter { link.deliver(self.message(1), key: nil, isRepeated: true) } == .accepted)
        #expect(wire.writes.count == before)
        #expect(wire.loop.enter { link.deliver(self.message(2), key: nil, isRepeated: false) } == .accepted)
        #expect(wire.writes.count == before + 1)
    }

    @Test
    func `renewed credentials are shown over an open link alone`() throws {
        #expect(!self.wire.loop.enter { self.link.renewCredentials(Credentials()) })
        self.wire.say(lines: "welcome new")
        #expect(self.wire.loop.enter { self.link.renewCredentials(Credentials()) })
        #expect(self.wire.heard().last == "renew\n")
        // A protocol that needs a new link for them.
        let other = ScriptedWire(nil)
        let plain = try other.open()
        #expect(!other.loop.enter { plain.renewCredentials(Credentials()) })
    }

    @Test
    func `a renewal that fails ends the link after the caller has its answer`() throws {
        let wire = ScriptedWire(nil, language: WordProtocol(flaw: nil, refusesRenewal: true))
        let link = try wire.open()
        wire.say(lines: "welcome new")
        #expect(wire.loop.enter { link.renewCredentials(Credentials()) })
        #expect(wire.reports == ["opened"])
        wire.loop.run()
        #expect(wire.reports == ["opened", "closed: credentialsRefused"])
    }

    @Test
    func `the session's deadline sends a heartbeat, and ends the link when that is not answered`() {
        self.wire.say(lines: "welcome new")
        self.wire.loop.fireTimers()
        #expect(self.wire.heard().last == "ping\n")
        self.wire.say(lines: "pong")
        self.wire.loop.fireTimers()
        #expect(self.wire.reports == ["opened"])
        self.wire.loop.fireTimers()
        #expect(self.wire.reports == ["opened", "closed: heartbeatMissed"])
        let heard = self.wire.heard().count
        self.wire.loop.fireTimers()
        #expect(self.wire.heard().count == heard)
    }

    @Test
    func `an attempt that the server has not accepted leaves the former session's text`() throws {
        let wire = ScriptedWire(nil, language: WordProtocol(flaw: nil))
        let link = try wire.open(resuming: Secret("former"))
        #expect(link.resumption == Secret("former"))
        wire.say(lines: "welcome back")
        #expect(wire.reports == ["opened again"])
        #expect(link.resumption == Secret("token"))
    }

    @Test
    func `listeners are subscribed over an open link, and the link says goodbye`() throws {
        try self.wire.loop.enter { Result { try self.link.setListening(true, to: "news") } }.get()
        self.wire.say(lines: "welcome new")
        try self.wire.loop.enter { Result { try self.link.setListening(true, to: "news") } }.get()
        try self.wire.loop.enter { Result { try self.link.setListening(false, to: "news") } }.get()
        self.wire.loop.enter { self.link.close(code: nil, reason: "") }
        #expect(self.wire.heard() == ["hello\n", "sub news\n", "unsub news\n", "bye\n"])
    }
}
