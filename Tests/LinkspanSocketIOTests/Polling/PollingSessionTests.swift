internal import Linkspan
internal import LinkspanNetwork
internal import LinkspanRuntime
internal import Testing

@testable import LinkspanSocketIO

@Suite("The order of polls")
struct PollingSessionTests {
    private static func packet(_ number: Int) -> WebSocketMessage { .text(bytes("42[\"n\",\(number)]")) }

    private static func session(_ version: EngineIOVersion = .v4, mark: Int = 1 << 20) -> PollingSession {
        PollingSession(version: version, highWaterMark: mark)
    }

    @Test
    func `at most one GET and one POST are under way (E20)`() {
        var session = Self.session()
        #expect(session.next() == [.poll])
        #expect(session.next() == [])
        #expect(session.enqueue([Self.packet(1)]) == .accepted)
        #expect(session.next() == [.post([Self.packet(1)])])
        #expect(session.enqueue([Self.packet(2)]) == .accepted)
        #expect(session.next() == [])
        session.polled()
        #expect(session.next() == [.poll])
        #expect(session.posted() == false)
        #expect(session.next() == [.post([Self.packet(2)])])
    }

    @Test
    func `a POST has at most 16 packets, in order`() {
        var session = Self.session()
        _ = session.next()
        _ = session.enqueue((0..<40).map(Self.packet))
        var seen: [[WebSocketMessage]] = []
        while case .post(let batch)? = session.next().first {
            seen.append(batch)
            _ = session.posted()
        }
        #expect(seen.map(\.count) == [16, 16, 8])
        #expect(seen.flatMap { $0 } == (0..<40).map(Self.packet))
    }

    @Test
    func `a POST is not longer than the server takes, except for one packet (E25)`() {
        var session = Self.session()
        session.maximumPayload = 25
        _ = session.next()
        let long = WebSocketMessage.binary([UInt8](repeating: 1, count: 100)[...])
        _ = session.enqueue([Self.packet(1), Self.packet(2), Self.packet(3), long, Self.packet(4)])
        var seen: [[WebSocketMessage]] = []
        while case .post(let batch)? = session.next().first {
            seen.append(batch)
            var body: [UInt8] = []
            PollingPayload.append(batch, to: &body)
            #expect(body.count <= 25 || batch.count == 1)
            _ = session.posted()
        }
        #expect(seen == [[Self.packet(1), Self.packet(2)], [Self.packet(3)], [long], [Self.packet(4)]])
    }

    // One byte more separates it from the next.
    @Test(arguments: [(49, true), (50, false)])
    func `there is room again when no more than half of the mark is left`(left: Int, isEmptyEnough: Bool) {
        var session = Self.session(mark: 100)
        session.maximumPayload = 60
        _ = session.next()
        for size in [60, left] {
            let packet = WebSocketMessage.text([UInt8](repeating: 0x61, count: size)[...])
            _ = session.enqueue([packet])
        }
        #expect(session.enqueue([]) == .acceptedAndFull)
        #expect(session.next().count == 1)
        #expect(session.posted() == isEmptyEnough)
    }

    @Test
    func `it is full above its mark, and reports when it is half empty`() {
        var session = Self.session(mark: 100)
        _ = session.next()
        var count = 0
        while session.enqueue([Self.packet(0)]) == .accepted { count += 1 }
        #expect(count == 10)
        _ = session.next()
        #expect(session.posted() == true, "16 packets were taken at once")
        #expect(session.enqueue([Self.packet(0)]) == .accepted)
    }

    @Test
    func `while it pauses nothing begins, and what waits is handed over in order (E35)`() {
        var session = Self.session()
        _ = session.next()
        _ = session.enqueue([Self.packet(1)])
        _ = session.next()
        session.pause()
        _ = session.enqueue([Self.packet(2)])
        session.polled()
        #expect(session.next() == [])
        #expect(!session.isQuiet)
        _ = session.posted()
        #expect(session.isQuiet)
        _ = session.enqueue([Self.packet(3)])
        #expect(session.next() == [])
        #expect(session.handOver().map(\.message) == [Self.packet(2), Self.packet(3)])
        #expect(session.enqueue([Self.packet(4)]) == .refused)
        #expect(session.next() == [])
    }

    @Test
    func `after a pause that came to nothing it goes on with what waits`() {
        var session = Self.session()
        session.pause()
        _ = session.enqueue([Self.packet(1)])
        #expect(session.next() == [])
        session.resume()
        #expect(session.next() == [.poll, .post([Self.packet(1)])])
    }

    @Test
    func `closing posts what waits and then the end, and polls no more (E09)`() {
        var session = Self.session()
        _ = session.next()
        _ = session.enqueue([Self.packet(1)])
        session.close()
        session.polled()
        #expect(session.next() == [.post([Self.packet(1), .text(bytes("1"))])])
        #expect(session.enqueue([Self.packet(2)]) == .refused)
        #expect(!session.isClosed)
        _ = session.posted()
        #expect(session.isClosed)
        #expect(session.next() == [])
    }

    @Test
    func `a reader that pauses is not polled for, but can send`() {
        var session = Self.session()
        session.isReadingPaused = true
        #expect(session.next() == [])
        _ = session.enqueue([Self.packet(1)])
        #expect(session.next() == [.post([Self.packet(1)])])
        session.isReadingPaused = false
        #expect(session.next() == [.poll])
    }

    @Test
    func `a long queue comes out whole`() {
        var session = Self.session(.v3)
        _ = session.next()
        _ = session.enqueue((0..<10_000).map(Self.packet))
        var seen: [WebSocketMessage] = []
        while case .post(let batch)? = session.next().first {
            seen += batch
            _ = session.posted()
        }
        #expect(seen == (0..<10_000).map(Self.packet))
    }
}

@Suite("Requests of long polling")
struct PollingCarrierTests {
    @Test
    func `no two requests of any clients have one URL, whatever a cache makes of them`() throws {
        var targets: [String] = []
        for _ in 0..<2 {
            let bench = EngineBench(carriers: .polling)
            _ = try bench.open("/a")
            bench.answerPoll(with: bench.handshake)
            targets += bench.loop.streams.map(\.request.target)
        }
        #expect(targets.count == 6)
        #expect(Set(targets).count == 6)
    }

    @Test(arguments: [SocketIOConfiguration.Version.v2, .v4])
    func `an answer of Engine.IO v3 is refused with the version, unless it was asked for`(
        _ version: SocketIOConfiguration.Version
    ) throws {
        let bench = EngineBench(version, carriers: .polling)
        let client = try bench.open("/")
        bench.answerPoll(with: "\(bench.handshake.utf16.count):\(bench.handshake)")
        #expect(client.ends == (version == .v4 ? [.unsupportedVersion] : []))
    }

    @Test(arguments: [499, 500])
    func `a session is ended at the server, too, unless that has refused a poll`(status: Int) throws {
        let bench = EngineBench(carriers: .polling)
        let client = try bench.open("/")
        bench.answerPoll(with: bench.handshake)
        bench.answerPost()
        bench.answerPoll(with: #"40{"sid":"s"}"#)
        bench.refusePoll(status: status)
        #expect(bench.requests.last?.hasSuffix("1") == (status == 500), "\(bench.requests)")
        #expect(client.ends.isEmpty == (status == 500))
    }

    private func opened() throws -> (EngineBench, EngineBench.Client) {
        let bench = EngineBench(carriers: .polling)
        let client = try bench.open("/a")
        bench.answerPoll(with: bench.handshake.replacing("[]", with: #"["websocket"]"#))
        bench.answerPost()
        bench.answerPoll(with: #"40/a,{"sid":"s"}"#)
        return (bench, client)
    }

    @Test
    func `a poll may be held back for ten seconds longer than the server may be silent`() throws {
        let (bench, _) = try self.opened()
        #expect(bench.loop.streams.last { $0.request.purpose == .get }?.request.deadline == .seconds(12))
    }

    @Test
    func `each POST of a goodbye has five seconds`() throws {
        let (bench, client) = try self.opened()
        bench.end(client, politely: true)
        #expect(bench.requests.last == "POST 41/a,")
        let (count, pending) = (bench.loop.timerCount, bench.loop.pendingTimers)
        bench.answerPost()
        #expect(bench.requests.last == "POST 1")
        #expect(bench.loop.timerCount == count + 1 && bench.loop.pendingTimers == pending)
        #expect(client.ends.isEmpty)
        bench.loop.fireTimers(within: .seconds(5))
        #expect(client.ends == [.connectionLost])
    }

    @Test
    func `the answer to a poll is not read while the reader pauses`() throws {
        let (bench, client) = try self.opened()
        let poll = try #require(bench.loop.streams.last { $0.request.purpose == .get })
        for isPaused in [true, false] { bench.loop.enter { client.link?.setReadingPaused(isPaused) } }
        #expect(poll.pauses == [true, false])
    }

    @Test
    func `an attachment that is not read because the reader pauses is not overdue`() throws {
        let bench = EngineBench(carriers: .polling)
        let client = try bench.open("/a")
        bench.answerPoll(with: bench.handshake.replacing("1000", with: "25000"))
        bench.answerPost()
        bench.answerPoll(with: #"40/a,{"sid":"s"}"# + "\u{1E}" + #"451-/a,["e",{"_placeholder":true,"num":0}]"#)
        bench.loop.enter { client.link?.setReadingPaused(true) }
        bench.loop.now += .seconds(31)
        for _ in 0..<2 { bench.loop.fireTimers() }
        #expect(client.ends.isEmpty)
        bench.loop.enter { client.link?.setReadingPaused(false) }
        bench.answerPoll(with: "bAQI=")
        #expect(client.messages == ["e"])
    }

    @Test
    func `a part of an answer proves that the server lives`() throws {
        let (bench, client) = try self.opened()
        bench.send("e", by: client)
        bench.answerPost()
        bench.loop.now += .milliseconds(1_500)
        bench.beginAnswer(with: "42/a,[")
        bench.loop.now += .milliseconds(1_500)
        for _ in 0..<2 { bench.loop.fireTimers(within: .seconds(5)) }
        #expect(client.ends.isEmpty)
        #expect(client.writables == 0, "no POST has made room")
    }

    @Test(arguments: [(1 << 20, true), (1 << 20 + 1, false)])
    func `a handshake has a megabyte at most, and other answers may have more`(size: Int, isAccepted: Bool) throws {
        let bench = EngineBench(carriers: .polling)
        let client = try bench.open("/a")
        let handshake = bench.handshake.dropLast() + #","more":""}"#
        let filler = String(repeating: "x", count: size - handshake.utf8.count)
        bench.answerPoll(with: handshake.dropLast(2) + filler + "\"}")
        #expect(client.ends.isEmpty == isAccepted)
        guard isAccepted else { return }
        bench.answerPoll(with: #"40/a,{"sid":"s"}"#)
        let event = #"42/a,["e",""# + String(repeating: "x", count: 1_000_000) + #""]"#
        bench.answerPoll(with: event + "\u{1E}" + event)
        #expect(client.messages == ["e", "e"])
    }

    @Test(arguments: [SocketIOCarriers.polling, .upgrade])
    func `what is too large for polls waits while a WebSocket may take over`(_ carriers: SocketIOCarriers) throws {
        let bench = EngineBench(carriers: carriers)
        let client = try bench.open("/a")
        let handshake = bench.handshake.replacing("[]", with: #"["websocket"]"#)
        bench.answerPoll(with: handshake.replacing("}", with: #","maxPayload":1400}"#))
        bench.answerPost()
        bench.answerPoll(with: #"40/a,{"sid":"s"}"#)
        let payload = Payload(
            trustedElements: bytes(#"{"_placeholder":true,"num":0}"#),
            attachments: [[UInt8](repeating: 0, count: 1_200)[...]])
        let link = try #require(client.link)
        switch bench.loop.enter({ link.send(OutboundMessage(event: "e", payload: payload)) }) {
        case .refused: #expect(carriers == .upgrade)
        case .rejected(let error): #expect(carriers == .polling && error.code == .messageTooLarge)
        case .accepted, .acceptedAndFull: Issue.record("it was accepted")
        }
    }

    @Test
    func `no body of version 3 is larger than the server accepts, its lengths included`() throws {
        let bench = EngineBench(.v2, carriers: .polling)
        let client = try bench.open("/")
        let handshake = bench.handshake.replacing("}", with: #","maxPayload":100}"#)
        bench.answerPoll(with: "\(handshake.utf16.count):\(handshake)2:40")
        var sizes: [Int] = []
        for count in 80...100 {
            let acceptance = try #require(bench.send(String(repeating: "x", count: count), by: client))
            guard acceptance == .accepted else { continue }
            sizes.append((bench.requests.last ?? "").utf8.count - "POST ".utf8.count)
            bench.answerPost()
        }
        #expect(sizes.max() == 100)
    }

    @Test
    func `a request that was answered is forgotten, and its answer a sign of life`() throws {
        let bench = EngineBench(carriers: .polling)
        let link = LinkRequest(url: try ConnectionURL("http://server/"))
        let key = EngineKey(Boxed(link), Boxed(SocketIOSettings(.init { $0.carriers = .polling })))
        let requests = PollingRequests(key, salt: 35, loop: bench.loop)
        bench.loop.enter { requests.get(limit: 10) { _ in } }
        #expect(requests.poll != nil)
        bench.answerPoll(with: "")
        #expect(requests.poll == nil)
        #expect(requests.lastHeard == bench.loop.moment)
    }

    @Test
    func `the salt of a carrier and the number of the request make its cache-buster`() throws {
        final class Nobody: EngineCarrierHandler {
            func opened() {}
            func received(_ next: () -> WebSocketMessage?) { while next() != nil {} }
            func changed() {}
            func writable() {}
            func closed(_ error: LinkspanError) {}
        }
        let loop = BenchLoop()
        let link = LinkRequest(url: try ConnectionURL("http://server/"))
        let key = EngineKey(Boxed(link), Boxed(SocketIOSettings(.init { $0.carriers = .polling })))
        let carrier = PollingCarrier(key, loop: loop, handler: Nobody(), salt: 35)
        loop.enter { carrier.open() }
        #expect(loop.streams.first?.request.target == "/socket.io/?EIO=4&transport=polling&t=z.1")
    }
}
