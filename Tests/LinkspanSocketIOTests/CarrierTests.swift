internal import Linkspan
internal import LinkspanNetwork
internal import LinkspanRuntime
internal import Testing

@testable import LinkspanSocketIO

@Suite("Changing from polling to a WebSocket")
struct UpgradeProbeTests {
    private static let answer: [WebSocketMessage] = [.text(bytes("3probe"))]

    private static func probing() -> UpgradeProbe {
        var probe = UpgradeProbe()
        #expect(probe.sessionOpened(upgrades: ["websocket"]) == .openCandidate)
        #expect(probe.candidateOpened() == .sendProbe)
        return probe
    }

    @Test
    func `probe, answer, pause, switch (E32)`() {
        var probe = Self.probing()
        #expect(probe.candidateReceived(Self.answer) == .pausePolling)
        #expect(!probe.isUpgraded)
        #expect(probe.pollingIsQuiet() == .switchOver)
        #expect(probe.isUpgraded)
        #expect(probe.candidateReceived([.text(bytes("6"))]) == .handOn)
        #expect(probe.pollingClosed() == .nothing)
        #expect(probe.abandon() == .nothing)
        #expect(probe.candidateClosed() == .end)
        #expect(probe.candidateClosed() == .nothing, "the end comes once")
        #expect(!probe.isUpgraded)
    }

    @Test(arguments: [[], ["webtransport"]])
    func `without the server's offer there is no upgrade`(upgrades: [String]) {
        var probe = UpgradeProbe()
        #expect(probe.sessionOpened(upgrades: upgrades) == .nothing)
        #expect(probe.pollingClosed() == .end)
    }

    @Test(
        arguments: [
            [.text(bytes("3"))], [.text(bytes("3probe")), .text(bytes("42[\"a\"]"))], [.binary([1])],
            [.text(bytes("2probe"))], [],
        ] as [[WebSocketMessage]])
    func `a wrong answer leaves the session where it is (E33)`(packets: [WebSocketMessage]) {
        var probe = Self.probing()
        #expect(probe.candidateReceived(packets) == .abandon)
        #expect(probe.candidateReceived(Self.answer) == .nothing)
        #expect(probe.candidateClosed() == .nothing)
        #expect(probe.pollingClosed() == .end)
    }

    @Test
    func `a WebSocket that ends, or takes too long, leaves the session where it is, at every step`() {
        for step in 0..<3 {
            for isDeadline in [false, true] {
                var probe = UpgradeProbe()
                _ = probe.sessionOpened(upgrades: ["websocket"])
                if step > 0 { _ = probe.candidateOpened() }
                if step > 1 { _ = probe.candidateReceived(Self.answer) }
                #expect((isDeadline ? probe.abandon() : probe.candidateClosed()) == .abandon)
                #expect(probe.pollingIsQuiet() == .nothing)
                #expect(!probe.isUpgraded)
            }
        }
    }

    @Test
    func `a server that sends packets over the WebSocket before its time has it given up`() {
        for isProved in [false, true] {
            var probe = UpgradeProbe()
            _ = probe.sessionOpened(upgrades: ["websocket"])
            if isProved { _ = (probe.candidateOpened(), probe.candidateReceived(Self.answer)) }
            #expect(probe.candidateReceived([.text(bytes("2"))]) == .abandon)
        }
    }

    @Test
    func `given up before the session is open, nothing is tried`() {
        var probe = UpgradeProbe()
        #expect(probe.abandon() == .nothing)
        #expect(probe.sessionOpened(upgrades: ["websocket"]) == .nothing)
    }

    @Test
    func `a session that stays with polling has another WebSocket tried later`() {
        var probe = Self.probing()
        #expect(probe.tryAgain() == .nothing, "one is being tried")
        #expect(probe.candidateClosed() == .abandon)
        #expect(probe.tryAgain() == .openCandidate)
        #expect(probe.candidateOpened() == .sendProbe)
        #expect(probe.candidateReceived(Self.answer) == .pausePolling)
        #expect(probe.pollingIsQuiet() == .switchOver)
        #expect(probe.tryAgain() == .nothing)
    }

    @Test
    func `the first WebSocket may be tried later, too, where the server offers one`() {
        var probe = UpgradeProbe()
        #expect(probe.sessionOpened(upgrades: [], isLater: true) == .nothing)
        #expect(probe.tryAgain() == .nothing)
        #expect(probe.sessionOpened(upgrades: ["websocket"], isLater: true) == .wait)
        #expect(probe.candidateOpened() == .nothing)
        #expect(probe.tryAgain() == .openCandidate)
        #expect(probe.pollingClosed() == .end)
        #expect(probe.tryAgain() == .nothing)
    }

    @Test
    func `when polling ends first, that is the end`() {
        var probe = Self.probing()
        #expect(probe.pollingClosed() == .end)
        #expect(probe.candidateClosed() == .nothing)
        #expect(probe.candidateOpened() == .nothing)
    }
}

@Suite("Choice of carriers")
struct CarrierMemoryTests {
    private static let place = CarrierMemory.Place(host: "h", port: 1, isSecure: false, path: "/", identity: 1)
    private static let refused = LinkspanError(.refused, "status 400")

    @Test
    func `only fallback tries something else`() {
        var memory = CarrierMemory()
        for (carriers, choice) in [
            (SocketIOCarriers.webSocket, CarrierChoice.webSocket(share: 1)), (.polling, .polling),
            (.upgrade, .upgrade),
        ] {
            #expect(memory.choice(for: Self.place, carriers, now: at(0)) == choice)
            #expect(memory.otherChoice(for: Self.place, carriers, insteadOf: choice, after: Self.refused) == nil)
        }
    }

    @Test
    func `the carrier that worked is remembered for its server for ten minutes`() {
        var memory = CarrierMemory()
        let first = memory.choice(for: Self.place, .fallback, now: at(0))
        #expect(first == .webSocket(share: 0.5))
        #expect(memory.otherChoice(for: Self.place, .fallback, insteadOf: first, after: Self.refused) == .laterUpgrade)
        memory.worked(.laterUpgrade, for: Self.place, now: at(0))
        #expect(memory.choice(for: Self.place, .fallback, now: at(599)) == .upgrade)
        // Sessions that begin with polling because of this teach nothing new.
        for choice in [CarrierChoice.upgrade, .laterUpgrade] { memory.worked(choice, for: Self.place, now: at(599)) }
        var other = Self.place
        other.host = "other"
        #expect(memory.choice(for: other, .fallback, now: at(1)) == first)
        #expect(memory.choice(for: Self.place, .fallback, now: at(600)) == first)
        #expect(memory.otherChoice(for: Self.place, .fallback, insteadOf: .upgrade, after: Self.refused) == nil)
        #expect(memory.choice(for: Self.place, .fallback, now: at(1)) == first, "polling failed and is not trusted")
    }

    @Test
    func `a WebSocket that works again after both carriers failed comes first again`() {
        var memory = CarrierMemory()
        let first = memory.choice(for: Self.place, .fallback, now: at(0))
        let other = memory.otherChoice(for: Self.place, .fallback, insteadOf: first, after: Self.refused)
        #expect(other == .laterUpgrade)
        #expect(memory.otherChoice(for: Self.place, .fallback, insteadOf: .laterUpgrade, after: Self.refused) == nil)
        memory.worked(first, for: Self.place, now: at(1))
        #expect(memory.choice(for: Self.place, .fallback, now: at(2)) == first)
    }

    @Test
    func `of more than 1,000 servers the former ones are forgotten`() {
        var memory = CarrierMemory()
        func place(_ number: Int) -> CarrierMemory.Place {
            .init(host: "h", port: number, isSecure: false, path: "/", identity: 1)
        }
        for number in 1...1_000 { memory.separate(place(number), now: at(0)) }
        #expect(memory.isSeparated(place(1), now: at(1)))
        memory.separate(place(1_001), now: at(0))
        #expect([1, 1_001].map { memory.isSeparated(place($0), now: at(1)) } == [false, true])
    }

    @Test(arguments: [
        (ByteStreamError(.refused, "", status: 503), false), (ByteStreamError(.refused, "", status: 429), false),
        (ByteStreamError(.refused, "", status: 500), false), (ByteStreamError(.refused, "", status: 408), false),
        (ByteStreamError(.closedByPeer, ""), false), (ByteStreamError(.refused, "", status: 501), true),
        (ByteStreamError(.refused, "", status: 400), true), (ByteStreamError(.refused, "", status: 200), true),
        (ByteStreamError(timedOutIn: .upgrade), true), (ByteStreamError(.handshakeMalformed, ""), true),
        (ByteStreamError(timedOutIn: .resolving(.server)), false),
        (ByteStreamError(timedOutIn: .connecting(.proxy)), false), (ByteStreamError(timedOutIn: .proxy), false),
        (ByteStreamError(timedOutIn: .tls), false), (ByteStreamError(.answerHeadTooLong, ""), false),
    ])
    func `a failure that says nothing about WebSockets has one tried beside polling, and is not remembered`(
        _ failure: ByteStreamError, _ isRemembered: Bool
    ) {
        var memory = CarrierMemory()
        let first = memory.choice(for: Self.place, .fallback, now: at(0))
        let error = LinkspanError(WebSocketEnd.stream(failure))
        let other = memory.otherChoice(for: Self.place, .fallback, insteadOf: first, after: error)
        #expect(other == (isRemembered ? .laterUpgrade : .upgrade))
        if let other { memory.worked(other, for: Self.place, now: at(0)) }
        #expect(memory.choice(for: Self.place, .fallback, now: at(1)) == (isRemembered ? .upgrade : first))
    }

    @Test
    func `polling that worked is not remembered when its requests reach several servers`() {
        var memory = CarrierMemory()
        let first = memory.choice(for: Self.place, .fallback, now: at(0))
        _ = memory.otherChoice(for: Self.place, .fallback, insteadOf: first, after: Self.refused)
        memory.worked(.laterUpgrade, for: Self.place, now: at(0))
        let unknown = LinkspanError(.connectionLost, "unknown", cause: ByteStreamError(.refused, "", status: 400))
        for isFirst in [true, false] {
            #expect(memory.choice(for: Self.place, .fallback, now: at(1)) == .upgrade)
            let error = memory.ended(unknown, began: at(1), for: Self.place, now: at(2))
            #expect(error.message.contains("sticky sessions") == !isFirst)
        }
        #expect(memory.choice(for: Self.place, .fallback, now: at(2)) == first)
    }

    @Test
    func `the carrier that worked is remembered for its identity only`() {
        var memory = CarrierMemory()
        let first = CarrierChoice.webSocket(share: 0.5)
        #expect(memory.otherChoice(for: Self.place, .fallback, insteadOf: first, after: Self.refused) == .laterUpgrade)
        memory.worked(.laterUpgrade, for: Self.place, now: at(0))
        var other = Self.place
        other.identity = 2
        #expect(memory.choice(for: Self.place, .fallback, now: at(1)) == .upgrade)
        #expect(memory.choice(for: other, .fallback, now: at(1)) == .webSocket(share: 0.5))
    }

    @Test
    func `users share neither an engine nor what was learned, whatever their credentials are made of`() throws {
        func key(_ credentials: Credentials) throws -> EngineKey {
            let request = LinkRequest(url: try ConnectionURL("http://h/"), credentials: credentials)
            return SocketIOLink(
                request: request, settings: Boxed(SocketIOSettings(SocketIOConfiguration())),
                engines: .shared(.standard), receiver: NobodyListens()
            ).key
        }
        let (ann, bob) = (try key(Credentials(auth: ["name": "ann"])), try key(Credentials(auth: ["name": "bob"])))
        #expect(ann == (try key(Credentials(auth: ["name": "ann"]))))
        #expect(ann != bob)
        #expect(ann.place != bob.place)
        #expect(try key(Credentials()) != ann)
    }

    @Test
    func `links share an engine only when server, query and credentials are the same`() throws {
        let owner = LinkRequest(url: try ConnectionURL("http://h/")).identity
        func key(_ url: String, _ credentials: Credentials = Credentials()) throws -> EngineKey {
            let request = LinkRequest(url: try ConnectionURL(url), credentials: credentials, identity: owner)
            return EngineKey(Boxed(request), Boxed(SocketIOSettings(SocketIOConfiguration())))
        }
        let field = Credentials.Field("token", "2")
        #expect(try key("http://h/a") == key("http://h/b"))
        #expect(try key("http://h:443/") != key("https://h/"))
        #expect(try key("http://h/") != key("http://h/?room=1"))
        // One owner, who shows a newer token.
        #expect(try key("http://h/") != key("http://h/", Credentials(headers: [field])))
        #expect(try key("http://h/") != key("http://h/", Credentials(query: [field])))
    }

    @Test
    func `a WebSocket that may be followed by polling has half the time, until there is a session`() {
        var attempt = CarrierAttempt(.webSocket(share: 0.5), deadline: .seconds(10), now: at(0))
        #expect(attempt.timeout(within: .seconds(10), now: at(1)) == .seconds(4))
        #expect(attempt.mayChange)
        attempt.sessionOpened(now: at(2))
        #expect(!attempt.mayChange)
        let polling = CarrierAttempt(.polling, deadline: .seconds(10), now: at(0))
        #expect(polling.timeout(within: .seconds(10), now: at(1)) == .seconds(10))
        #expect(!polling.mayChange)
    }

    @Test
    func `a server that hangs up on two WebSockets in a row is asked by one request`() {
        var memory = CarrierMemory()
        let choice = CarrierChoice.webSocket(share: 1)
        let hungUp = LinkspanError(WebSocketEnd.stream(ByteStreamError(.closedByPeer, "")))
        func next(after error: LinkspanError) -> CarrierChoice? {
            memory.otherChoice(for: Self.place, .webSocket, insteadOf: choice, after: error)
        }
        #expect((0..<4).map { _ in next(after: hungUp) } == [nil, .question, nil, .question])
        #expect([hungUp, Self.refused, hungUp].map { next(after: $0) } == [nil, nil, nil])
        memory.worked(choice, for: Self.place, now: at(0))
        #expect([hungUp, hungUp].map { next(after: $0) } == [nil, .question])
    }

    @Test
    func `failures that HTTP would share do not lead to polling`() {
        var memory = CarrierMemory()
        let unreachable = LinkspanError(
            .connectionLost, "nobody", cause: ByteStreamError(.unreachable, "refused"))
        for error in [
            unreachable, LinkspanError(.tlsFailed, "t"), LinkspanError(.nameNotResolved, "n"),
            LinkspanError(.credentialsRefused, "c"),
        ] {
            let other = memory.otherChoice(
                for: Self.place, .fallback, insteadOf: .webSocket(share: 0.5), after: error)
            #expect(other == nil)
        }
    }
}

@Suite("The Engine.IO path")
struct EnginePathTests {
    @Test(arguments: [("/live", "/live/"), ("/a/b/", "/a/b/"), ("/", "/")])
    func `ends with a slash, as in the reference`(_ given: String, _ path: String) throws {
        let configuration = SocketIOConfiguration { $0.path = given }
        #expect(configuration.path == path)
        let request = LinkRequest(url: try ConnectionURL("http://h/"))
        let key = EngineKey(Boxed(request), Boxed(SocketIOSettings(configuration)))
        #expect(key.upgrade(transport: "polling", sid: nil).target.hasPrefix("\(path)?EIO=4"))
    }

    @Test
    func `two paths of one server are two connections, and one path in two spellings is one`() throws {
        let manager = ConnectionManager()
        let handlers = try ["/live", "/live/", "/other/"].map { path in
            try ConnectionBuilder("http://127.0.0.1:9/")
                .transport(SocketIOTransport(.init { $0.path = path }))
                .connect(by: manager)
        }
        #expect(manager.statistics.map(\.holders).sorted() == [1, 2])
        for handler in handlers { handler.release() }
    }
}

@Suite("Recovery offsets")
struct RecoveryOffsetTests {
    private static func latest(_ texts: String...) -> String? {
        var offset = RecoveryOffset()
        for text in texts { offset.note(text, now: at(0)) }
        return offset.latest
    }

    @Test
    func `the latest offset counts, of each form that servers make`() {
        #expect(Self.latest() == nil)
        #expect(Self.latest("Q7xWgm-", "Q7xWgn0", "Q7xWgn0.1") == "Q7xWgn0.1")
        #expect(Self.latest("1795000000000-0", "1795000000000-1") == "1795000000000-1")
        #expect(Self.latest("6afe0c8b9f1b2c0012345678", "6afe0c8c9f1b2c0012345679") == "6afe0c8c9f1b2c0012345679")
    }

    @Test(arguments: ["vvv", "", "hello", "1234567", "Welcome", "zzzzzzz", "0000000", "1795000000000-0", "a b"])
    func `a volatile event that ends in a string spoils nothing (S44)`(text: String) {
        #expect(Self.latest("Q7xWgm-", text) == "Q7xWgm-")
        #expect(Self.latest("Q7xWgm-", text, "Q7xWgn0") == "Q7xWgn0")
    }

    @Test
    func `a word that looks like an offset and comes first is found out by the second real one`() {
        #expect(Self.latest("Welcome", "Q7xWgm-", "Q7xWgn0") == "Q7xWgn0")
        #expect(Self.latest("Welcome", "Q7xWgm-", "hello", "Q7xWgn0") == "Q7xWgn0")
    }

    @Test
    func `two words that look like offsets are none with a real one between them`() {
        let (former, latest) = ("1795000000000-0", "1795000000001-0")
        #expect(Self.latest(former, "Welcome", latest, "Welcomf") == latest)
    }

    @Test(arguments: [1, 2, 400], [true, false])
    func `an offset is followed after any time in which nothing came, and not ahead of it`(days: Int, isKept: Bool) {
        var offset = RecoveryOffset()
        isKept ? offset = RecoveryOffset(latest: "1795000000000-0") : offset.note("1795000000000-0", now: at(0))
        offset.resumed(now: at(0))
        let day = 86_400_000
        let ahead = "\(1_795_000_000_000 + (days + 1) * day)-0"
        offset.note(ahead, now: at(Double(days * day / 1_000)))
        #expect(offset.latest == "1795000000000-0")
        let next = "\(1_795_000_000_000 + days * day)-0"
        offset.note(next, now: at(Double(days * day / 1_000)))
        #expect(offset.latest == next)
    }

    @Test
    func `offsets of an unknown form are followed until a known one arrives`() {
        #expect(Self.latest("one", "two") == "two")
        #expect(Self.latest("one", "Q7xWgm-", "two") == "Q7xWgm-")
    }

    @Test
    func `a later process resumes from the exported session only`() throws {
        var offset = RecoveryOffset()
        offset.note("Q7xWgm-", now: at(0))
        let recovery = SocketIORecovery(pid: "P\"1", offset: offset)
        let exported = try #require(recovery.exported)
        let restored = try #require(SocketIORecovery(exported))
        #expect(restored.exported == exported)
        #expect(SocketIORecovery(pid: "P", offset: RecoveryOffset()).exported == nil)
        for text in ["", "x", "\"P\"", "\"P\",\"\"", "\"P\",1", "\"P\",\"o\",1", "{},\"o\"", "[", "\"\",\"o\""] {
            #expect(SocketIORecovery(Secret(text)) == nil)
        }
        #expect(!"\(exported)".contains("P"))
    }
}

@Suite("Servers of Socket.IO 2.x")
struct LegacySessionTests {
    private static func opened(_ joined: String..., auth: Payload? = nil) throws -> (SocketIOSession, [String]) {
        var session = SocketIOSession(openTimeout: .seconds(10), version: .v3, now: at(0))
        var output = SocketIOOutput()
        for name in joined {
            _ = try session.join(SocketIONamespace(name), auth: auth, now: at(0), output: &output)
        }
        session.receive(
            text: bytes(#"0{"sid":"E1","upgrades":[],"pingInterval":25000,"pingTimeout":5000}"#), now: at(0),
            output: &output)
        return (session, output.written)
    }

    @Test
    func `the main namespace is entered without being asked for, others by name (C04)`() throws {
        var (session, frames) = try Self.opened("/", "/chat")
        #expect(frames == ["40/chat,"])
        #expect(session.take("40").happenings == [.opened(0, sid: "E1", isContinuous: false)])
        #expect(session.take("40/chat").happenings == [.opened(1, sid: "/chat#E1", isContinuous: false)])
        #expect(session.take(#"42/chat,["e",1]"#).happenings == [.message(1, "e", "1")])
    }

    @Test
    func `the server's acceptance may precede the join of the main namespace, and counts once`() throws {
        var (session, _) = try Self.opened("/chat")
        _ = session.take("40")
        var output = SocketIOOutput()
        let index = try session.join(.main, now: at(1), output: &output)
        #expect(output.happenings == [.opened(index, sid: "E1", isContinuous: false)])
        session.leave(index, reason: LinkspanError(.disconnected, "left"), output: &output)
        for isRepeated in [false, true] {
            if isRepeated { _ = session.take("40") }
            let error = #expect(throws: LinkspanError.self) { try session.join(.main, now: at(2), output: &output) }
            #expect(error?.code == .wrongState, "left once, it is not entered again")
        }
    }

    @Test
    func `credentials travel in the namespace's query; the main namespace has none (C04)`() throws {
        let auth = try Payload(["token": "a b&c", "user": "x"])
        let (_, frames) = try Self.opened("/chat", auth: auth)
        #expect(frames == ["40/chat?token=a%20b%26c&user=x,"])
        let main = #expect(throws: LinkspanError.self) { try Self.opened("/", auth: auth) }
        #expect(main?.code == .invalidConfiguration)
        let number = #expect(throws: LinkspanError.self) { try Self.opened("/chat", auth: Payload(["a": 1])) }
        #expect(number?.code == .invalidConfiguration)
    }

    @Test(arguments: [#""no""#, #"{"message":"no"}"#, #"["no",{}]"#])
    func `a refusal may be a text, an object or an array`(payload: String) throws {
        var (session, _) = try Self.opened("/chat")
        _ = session.take("40")
        #expect(session.take("44/chat,\(payload)").happenings == [.closed(0, .credentialsRefused)])
    }

    @Test
    func `the query with which a namespace was joined may be repeated by the server (S02)`() throws {
        var (session, _) = try Self.opened("/chat")
        #expect(session.take("40/chat?token=x,").happenings == [.opened(0, sid: "/chat#E1", isContinuous: false)])
    }

    @Test
    func `this side pings, and a pong that stays out is the end (C01)`() throws {
        var (session, _) = try Self.opened("/")
        #expect(session.nextDeadline == at(10), "the answer to CONNECT is due first")
        _ = session.take("40")
        #expect(session.nextDeadline == at(25))
        #expect(session.heartbeatDeadline == at(30))
        var output = SocketIOOutput()
        session.timer(now: at(25), output: &output)
        #expect(output.written == ["2"])
        #expect(session.nextDeadline == at(30))
        output = SocketIOOutput()
        session.receive(text: bytes("3"), now: at(26), output: &output)
        #expect(session.nextDeadline == at(51))
        session.timer(now: at(51), output: &output)
        session.timer(now: at(56), output: &output)
        #expect(output.close?.code == .heartbeatMissed)
    }

    @Test
    func `the time from a ping to its pong is measured, and an unasked pong is not`() throws {
        var (session, _) = try Self.opened("/")
        var output = SocketIOOutput()
        session.receive(text: bytes("3"), now: at(1), output: &output)
        #expect(output.heartbeat == nil)
        session.timer(now: at(25), output: &output)
        session.receive(text: bytes("3"), now: at(25.5), output: &output)
        guard case .answered(.milliseconds(500)) = output.heartbeat else {
            Issue.record("measured \(String(describing: output.heartbeat))")
            return
        }
    }

    @Test
    func `what was heard after the time to ping counts like a pong`() throws {
        var (session, _) = try Self.opened("/")
        _ = session.take("40")
        session.heard(at: at(29))
        #expect(session.heartbeatDeadline == at(34))
        session.heard(at: at(28))
        #expect(session.heartbeatDeadline == at(34), "the latest counts")
        var output = SocketIOOutput()
        session.timer(now: at(33), output: &output)
        #expect(output.written == ["2"])
        #expect(output.close == nil)
    }

    @Test
    func `a process that slept through its own time to ping gives the session up`() throws {
        var (session, _) = try Self.opened("/")
        _ = session.take("40")
        var output = SocketIOOutput()
        session.timer(now: at(31), output: &output)
        #expect(output.close?.code == .heartbeatMissed)
    }
}

private final class NobodyListens: LinkReceiver {
    func receive(_ next: () -> LinkEvent?) { while next() != nil {} }
}
