internal import Linkspan
internal import LinkspanNetwork
internal import LinkspanWebSocket
internal import LinkspanWebSocketProtocol
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
    func `room in the stream is none in a full session`() {
        self.wire.say(lines: "welcome new")
        self.wire.drain()
        for id in UInt64(1)...3 { _ = self.deliver(id) }
        self.wire.drain()
        #expect(self.wire.reports == ["opened", "writable"])
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
    func `a session that is not ready says no goodbye`() {
        self.wire.loop.enter { self.link.close(code: nil, reason: "") }
        #expect(self.wire.heard() == ["hello\n"])
    }

    @Test
    func `a link that is aborted before it opens ends once, and leaves the former session's text`() throws {
        let wire = ScriptedWire(nil)
        let request = LinkRequest(url: try ConnectionURL("ws://server/"), resumption: Secret("former"))
        let link = WebSocketTransport(loop: wire.loop).makeLink(request, receiver: wire)
        for _ in 0..<2 { wire.loop.enter { link.abort() } }
        wire.loop.enter { link.open() }
        wire.loop.run()
        #expect(wire.ends.count == 1 && wire.requests.isEmpty)
        #expect(link.resumption == Secret("former"))
    }

    @Test
    func `of the session's deadlines the latest alone counts`() {
        self.wire.say(lines: "welcome new")
        self.wire.loop.fireTimers()
        self.wire.say(lines: "pong")
        let timers = self.wire.loop.timerInstants
        self.wire.say(lines: "welcome new")
        #expect(self.wire.loop.timerInstants != timers && self.wire.loop.timerInstants.count == timers.count)
    }

    @Test
    func `the round trip of a ping is not reported before the session is ready`() {
        self.wire.loop.fireTimers()
        self.wire.say(bytes: [0x8A, 0])
        #expect(self.wire.reports.isEmpty)
        self.wire.say(lines: "welcome new")
        #expect(self.wire.reports == ["opened"])
    }

    @Test
    func `a delivery that fills the session is refused over a link that is closing`() {
        self.wire.say(lines: "welcome new")
        for id in UInt64(1)...2 { #expect(self.deliver(id) == .accepted) }
        self.wire.loop.enter { self.link.close(code: nil, reason: "") }
        #expect(self.deliver(3) == .refused)
    }

    @Test
    func `what comes behind the end of a link sets no deadline`() {
        self.wire.say(lines: "welcome new")
        self.wire.say(lines: "nonsense")
        let timers = self.wire.loop.timerInstants.count
        self.wire.say(lines: "pong", "event news - 1")
        #expect(self.wire.loop.timerInstants.count == timers)
        #expect(self.wire.reports == ["opened", "closed: protocolViolation"])
    }

    @Test
    func `nothing counts that was read together with a violation, and comes behind it`() {
        self.wire.say(lines: "welcome new")
        var bytes: [UInt8] = []
        for line in ["nonsense\n", "event news - 1\n"] {
            FrameEncoder.append(.binary, payload: Array(line.utf8), mask: nil, to: &bytes)
        }
        self.wire.say(bytes: bytes)
        #expect(self.wire.reports == ["opened", "closed: protocolViolation"])
    }

    /// A protocol whose every deadline is at once.
    ///
    /// Each brings an event, the second opens the session, and the third names another node.
    private struct Ticker: MessageProtocol {
        let name = "ticker"
        private var ticks = 0
        private(set) var info = LinkInfo()

        static func == (one: Self, other: Self) -> Bool { one.name == other.name }
        func hash(into hasher: inout Hasher) { hasher.combine(self.name) }

        var state: SessionState? { SessionState(isReady: self.ticks >= 2, deadline: .zero) }

        mutating func deadlinePassed(at time: Duration) throws(LinkspanError) -> DecodedEnvelope {
            self.ticks += 1
            if self.ticks == 3, let node = try? ConnectionURL("ws://node/") { self.info.endpoints = [node] }
            return DecodedEnvelope(.event(name: "tick", payload: try Payload(self.ticks), id: nil))
        }

        func encode(_ envelope: Envelope, to buffer: inout [UInt8]) throws(LinkspanError) -> EncodedKind { .nothing }

        func decode(ping: ArraySlice<UInt8>) -> [Envelope] { [.event(name: "ping", payload: .empty, id: nil)] }

        func decode(text: ArraySlice<UInt8>) throws(LinkspanError) -> DecodedEnvelope { DecodedEnvelope() }

        func decode(binary: ArraySlice<UInt8>) throws(LinkspanError) -> DecodedEnvelope { DecodedEnvelope() }
    }

    @Test
    func `events of deadlines wait for the session, and a node is named once`() throws {
        let wire = ScriptedWire(nil)
        let transport = WebSocketTransport(
            .init {
                $0.protocol = Ticker()
                $0.keepAlive = nil
            }, loop: wire.loop)
        let link = transport.makeLink(LinkRequest(url: try ConnectionURL("ws://server/")), receiver: wire)
        wire.loop.enter { link.open() }
        wire.loop.run()
        wire.loop.fireTimers()
        wire.say(bytes: [0x89, 0])
        #expect(wire.reports.isEmpty)
        for _ in 2...4 { wire.loop.fireTimers() }
        #expect(wire.reports == ["opened", "tick 1", "tick 2", "tick 3", "changed", "tick 4"])
    }

    @Test
    func `a message that misses an attachment ends the link once nothing has come, and a last look has found nothing`()
        throws
    {
        let wire = ScriptedWire(nil)
        let link = try wire.open()
        wire.say(#"{"event":"photos","data":[],"attachments":2}"#)
        let timers = wire.loop.timerInstants.count
        wire.say(lines: "an attachment")
        #expect(wire.loop.timerInstants.count == timers)
        for _ in 0..<2 {
            // A pong that nobody asked for proves life.
            wire.say(bytes: [0x8A, 0])
            wire.loop.fireTimers()
        }
        #expect(wire.ends.isEmpty, "one had come before the first look, and the second is not the last")
        wire.loop.fireTimers()
        #expect(wire.ends == [.protocolViolation])
        withExtendedLifetime(link) {}
    }

    @Test(arguments: [("denied", 1_000), ("nonsense", 1_007)])
    func `a link that ends itself gives the server a code`(line: String, code: UInt16) {
        self.wire.say(lines: line)
        _ = self.wire.heard()
        #expect(self.wire.closeCodes == [code])
    }

    @Test
    func `a violation keeps its meaning, whatever the app makes of the server's close codes`() throws {
        let wire = ScriptedWire(nil)
        let transport = WebSocketTransport(.init { $0.closeMeanings = [1_000...4_999: .stop] }, loop: wire.loop)
        let link = transport.makeLink(LinkRequest(url: try ConnectionURL("ws://server/")), receiver: wire)
        wire.loop.enter { link.open() }
        wire.loop.run()
        wire.say(bytes: [0xFF, 0xFF])
        wire.loop.run()
        #expect(wire.ends == [.protocolViolation])
    }

    @Test
    func `a link that has ended leaves no timer behind, and is let go of`() throws {
        for language in [WordProtocol(flaw: nil), .json] as [any MessageProtocol] {
            let wire = ScriptedWire(nil, language: language)
            var link: (any Link)? = try wire.open()
            weak let former = link
            if language is WordProtocol {
                wire.say(lines: "welcome new")
            } else {
                wire.say(#"{"event":"photo","data":[],"attachments":1}"#)
            }
            wire.loop.enter { link?.abort() }
            wire.loop.run()
            #expect(wire.ends.count == 1 && wire.loop.timerInstants.isEmpty)
            link = nil
            #expect(former == nil)
        }
    }

    @Test
    func `a message that holds its attachments is sent without them`() throws {
        self.wire.say(lines: "welcome new")
        let payload = Payload(trustedElements: Array("1".utf8)[...], attachments: [[1, 2, 3]])
        let message = OutboundMessage(event: "news", payload: payload, requestID: nil)
        #expect(self.wire.loop.enter { self.link.send(message) } == .accepted)
        #expect(self.wire.heard() == ["hello\n", "event news - 1\n"])
    }

    @Test
    func `a ping has at most 125 bytes`() throws {
        let wire = ScriptedWire(nil, language: FrameMessageProtocol())
        let link = try wire.open()
        for (count, isSent) in [(125, true), (126, false)] {
            let blob = Payload(trustedElements: [], attachments: [[UInt8](repeating: 1, count: count)[...]])
            let message = OutboundMessage(event: "ping", payload: blob, requestID: nil)
            #expect((wire.loop.enter { link.send(message) } == .accepted) == isSent)
        }
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
