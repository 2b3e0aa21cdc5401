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
