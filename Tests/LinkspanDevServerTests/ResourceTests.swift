internal import EventJournal
internal import Linkspan
internal import LinkspanInMemory
internal import LinkspanNetwork
internal import LinkspanRuntime
internal import LinkspanSocketIO
internal import LinkspanWebSocketProtocol
internal import TestedBackEnds
internal import RawSockets
internal import Testing

@testable import LinkspanDevServer

/// What clients that take and give nothing cost the server and the others.
@Suite(.timeLimit(.minutes(2)), .overSomeBackEnd)
struct ResourceTests {
    private static let poll = "GET /socket.io/?EIO=4&transport=polling HTTP/1.1\r\nHost: localhost\r\n\r\n"
    private static let upgrade =
        "Host: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
        + "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"

    @Test
    func `a connection has one timer, however many requests it brings, and none when it has ended`() async throws {
        let loop = CountingLoop()
        let configuration = DevServer.Configuration()
        let run = ServerRun(
            configuration, rules: try AccessRules(configuration), hubs: [:], condition: ServerCondition(port: 0),
            loop: loop)
        let client = try RawClient(port: try await run.start(port: 0))
        for _ in 0..<1_000 {
            client.write("GET /nothing HTTP/1.1\r\nHost: localhost\r\n\r\n")
            _ = client.read(until: "any other path\n")
        }
        #expect(loop.timers.entries.last == 1)
        client.write("GET /nothing HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        _ = client.readToEnd()
        try await loop.timers.entries { $0.last == 0 }
        await run.stop(gracefully: false)
    }

    @Test
    func `sessions and WebSockets that have ended leave no timer behind`() async throws {
        let loop = CountingLoop()
        let configuration = DevServer.Configuration()
        let run = ServerRun(
            configuration, rules: try AccessRules(configuration), hubs: ["/": InMemoryHub()],
            condition: ServerCondition(port: 0), loop: loop)
        let port = try await run.start(port: 0)
        for path in ["/any", "/socket.io/?EIO=4&transport=websocket"] {
            let client = try RawClient(port: port)
            client.write("GET \(path) HTTP/1.1\r\n" + Self.upgrade)
            #expect(client.read(until: "\r\n\r\n").hasPrefix("HTTP/1.1 101 "))
            // A Close frame.
            client.write([0x88, 0x80, 0, 0, 0, 0])
            _ = client.readToEnd()
        }
        try await loop.timers.entries { $0.last == 0 }
        await run.stop(gracefully: false)
    }

    /// What somebody does with a connection that is of no use to anybody.
    enum Idleness: CaseIterable {
        case silent, resting, halfRequest, handshake, waitingPoll, silentWebSocket, silentSession

        fileprivate func begin(on client: RawClient) {
            switch self {
            case .silent: ()
            case .resting:
                client.write("GET /nothing HTTP/1.1\r\nHost: localhost\r\n\r\n")
                _ = client.read(until: "any other path\n")
            case .halfRequest: client.write("POST /socket.io/ HTTP/1.1\r\nContent-Length: 9\r\n\r\n")
            case .handshake:
                client.write(poll)
                _ = client.read(until: "}")
            case .waitingPoll:
                client.write(poll)
                let sid = client.read(until: "}").split(separator: "\"")[3]
                let line = "GET /socket.io/?EIO=4&transport=polling&sid=\(sid) HTTP/1.1\r\n"
                client.write(line + "Host: localhost\r\n\r\n")
            case .silentWebSocket:
                client.write("GET /any HTTP/1.1\r\n" + upgrade)
                _ = client.read(until: "\r\n\r\n")
            case .silentSession:
                client.write("GET /socket.io/?EIO=4&transport=websocket HTTP/1.1\r\n" + upgrade)
                _ = client.read(until: "}")
            }
        }
    }

    @Test(arguments: Idleness.allCases)
    func `idle clients do not keep others out, from the same address or another`(_ idleness: Idleness) async throws {
        let configuration = DevServer.Configuration {
            $0.maximumConnections = 20
            $0.maximumPerAddress = 10
            $0.introduction = .required(within: .seconds(60))
            $0.requestTimeout = .seconds(60)
            $0.connectTimeout = .seconds(60)
        }
        try await Bench.run(configuration: configuration) { bench in
            let used = try await bench.client(.socketIO(.webSocket), auth: ["name": "used"])
            _ = try await used.handler.request("req")
            var idlers: [RawClient] = []
            for number in 0..<50 {
                let client = try RawClient(port: bench.server.port, from: "127.0.0.\(1 + number % 5)")
                idleness.begin(on: client)
                idlers.append(client)
            }
            for way in [Way.socketIO(.polling), .webSocket] {
                let newcomer = try await bench.client(way, auth: ["name": "new"])
                _ = try await newcomer.handler.request("req")
                newcomer.handler.release()
            }
            _ = try await used.handler.request("req")
            #expect(used.states.entries.filter { $0.to == .connected }.count == 1)
        }
    }

    /// Incomplete input that makes the server buffer bytes: a request, frame, packet or envelope without its end.
    enum Part: CaseIterable {
        case request, message, attachments, envelope

        fileprivate func begin(_ bytes: Int, on client: RawClient) {
            let zeros = [UInt8](repeating: 0, count: bytes)
            switch self {
            case .request:
                client.write("POST /any HTTP/1.1\r\nHost: localhost\r\nContent-Length: \(bytes + 1)\r\n\r\n")
                client.write(zeros)
            case .message:
                client.write("GET /any HTTP/1.1\r\n" + upgrade)
                _ = client.read(until: "\r\n\r\n")
                client.write(Array(Self.frame(.binary, zeros + [0]).dropLast()))
            case .attachments:
                client.write("GET /socket.io/?EIO=4&transport=websocket HTTP/1.1\r\n" + upgrade)
                _ = client.read(until: "}")
                let header = #"452-["any",{"_placeholder":true,"num":0},{"_placeholder":true,"num":1}]"#
                client.write(Self.frame(.text, Array(header.utf8)) + Self.frame(.binary, zeros))
            case .envelope:
                client.write("GET /any HTTP/1.1\r\n" + upgrade)
                _ = client.read(until: "\r\n\r\n")
                let header = #"{"event":"any","data":[],"attachments":2}"#
                client.write(Self.frame(.text, Array(header.utf8)) + Self.frame(.binary, zeros))
            }
        }

        /// Sends the end, or a ping, so that the server answers on a connection that is still open.
        fileprivate func end(on client: RawClient) {
            switch self {
            case .request, .message: client.write([0])
            case .attachments, .envelope: client.write(Self.frame(.ping))
            }
        }

        /// A client's frame, whose mask of zeros changes no byte.
        private static func frame(_ opcode: Opcode, _ payload: [UInt8] = []) -> [UInt8] {
            var frame: [UInt8] = []
            FrameEncoder.append(opcode, payload: payload, mask: 0, to: &frame)
            return frame
        }
    }

    @Test(arguments: Part.allCases)
    func `when too much is kept for all clients together, the one with the most is dropped`(_ part: Part) async throws {
        let configuration = DevServer.Configuration {
            $0.maximumBufferedBytes = 1_000_000
            $0.requestTimeout = .seconds(60)
        }
        let run = ServerRun(
            configuration, rules: try AccessRules(configuration), hubs: ["/": InMemoryHub()],
            condition: ServerCondition(port: 0), loop: makeLoop(name: "kept", listens: true))
        let port = try await run.start(port: 0)
        let clients = try [300_000, 500_000, 300_000].map { bytes in
            let client = try RawClient(port: port)
            part.begin(bytes, on: client)
            return client
        }
        #expect(clients[1].readToEnd() == [])
        for client in [clients[0], clients[2]] {
            part.end(on: client)
            #expect(client.read(1) != nil)
        }
        await run.stop(gracefully: false)
    }

    @Test
    func `bytes sent since the last count do not count toward the limit`() {
        final class Owner: BufferOwner {
            var bufferedBytes: Int
            init(_ bytes: Int) { self.bufferedBytes = bytes }
            func drop() {}
        }
        var budget = ByteBudget(limit: 100)
        let (sends, stays) = (Owner(60), Owner(40))
        #expect(budget.count(sends) == nil && budget.count(stays) == nil)
        sends.bufferedBytes = 30
        stays.bufferedBytes = 70
        #expect(budget.count(stays) == nil)
        stays.bufferedBytes = 71
        #expect(budget.count(stays) === stays)
        // An owner without bytes takes no share of the limit.
        stays.bufferedBytes = 0
        sends.bufferedBytes = 100
        #expect(budget.count(stays) == nil && budget.count(sends) == nil)
        budget.remove(sends)
        stays.bufferedBytes = 100
        #expect(budget.count(stays) == nil)
    }

    @Test
    func `one address has no more places than its limit, and others are served`() async throws {
        let configuration = DevServer.Configuration {
            $0.maximumConnections = 6
            $0.maximumPerAddress = 3
            $0.introduction = .optional(within: .zero)
        }
        try await Bench.run(configuration: configuration) { bench in
            // Who hears it is known to the server to be in; until then it could be put out for a newcomer.
            bench.hub.onConnect { peer throws(LinkspanError) in peer.emit("entered", .empty) }
            func enter(from source: String) throws -> RawClient {
                let client = try RawClient(port: bench.server.port, from: source)
                client.write("GET /any HTTP/1.1\r\n" + Self.upgrade)
                return client
            }
            let first = try (0..<3).map { _ in try enter(from: "127.0.0.1") }
            for client in first { #expect(client.read(until: "entered").hasSuffix("entered")) }
            #expect(try enter(from: "127.0.0.1").readToEnd() == [])
            let second = try enter(from: "127.0.0.2")
            #expect(second.read(until: "entered").hasSuffix("entered"))
            withExtendedLifetime((first, second)) {}
        }
    }

    @Test
    func `a place is taken from the address that has the most, and there from who rested longest`() throws {
        final class Holder: PlaceHolder {
            let placeKey: Int
            let address: String
            var unusedSince: ContinuousClock.Instant?

            init(_ key: Int, _ address: String, _ unusedSince: ContinuousClock.Instant?) {
                (self.placeKey, self.address, self.unusedSince) = (key, address, unusedSince)
            }
        }
        let now = ContinuousClock.now
        var places = Places<Holder>(limit: 4, limitPerAddress: 3)
        let holders = [
            Holder(1, "a", now), Holder(2, "b", now + .seconds(2)), Holder(3, "b", now + .seconds(1)),
            Holder(4, "b", nil),
        ]
        for holder in holders { _ = places.add(holder) }
        guard case .takenFrom(let longest) = places.add(Holder(5, "c", nil)) else {
            Issue.record("no place was made")
            return
        }
        #expect(longest.placeKey == 3)
        // Now "a" and "b" have one each that may go, and "b" still has more.
        guard case .takenFrom(let next) = places.add(Holder(6, "c", nil)) else {
            Issue.record("no place was made")
            return
        }
        #expect(next.placeKey == 2)
        guard case .takenFrom(let last) = places.add(Holder(7, "c", nil)) else {
            Issue.record("no place was made")
            return
        }
        #expect(last.placeKey == 1)
        guard case .refused = places.add(Holder(8, "d", now)) else {
            Issue.record("a place in use was taken")
            return
        }
        #expect(places[4] != nil && places[5] != nil && places[1] == nil)
    }
}

/// An event loop that notes how many timers are to come.
private final class CountingLoop: NetworkLoop {
    private struct Timer: ScheduledWork {
        let work: any ScheduledWork
        let onCancel: @Sendable () -> Void

        func cancel() {
            self.work.cancel()
            self.onCancel()
        }
    }

    /// The number after each change.
    let timers = Journal<Int>("the timers to end")
    private let pending = Lock<Set<Int>>([])
    private let last = Lock(0)
    private let loop = makeLoop(name: "counted", listens: true)

    var isCurrent: Bool { self.loop.isCurrent }

    func execute(_ job: @escaping @Sendable () -> Void) { self.loop.execute(job) }

    func schedule(
        at instant: ContinuousClock.Instant, _ job: @escaping @Sendable () -> Void
    ) -> any ScheduledWork {
        let number = self.last.withLock { last in
            last += 1
            return last
        }
        self.timers.append(
            self.pending.withLock { pending in
                pending.insert(number)
                return pending.count
            })
        let work = self.loop.schedule(at: instant) {
            self.ended(number)
            job()
        }
        return Timer(work: work) { self.ended(number) }
    }

    private func ended(_ number: Int) {
        self.timers.append(
            self.pending.withLock { pending in
                pending.remove(number)
                return pending.count
            })
    }

    func connect(_ request: UpgradeRequest, handler: any ByteStreamHandler) -> any ByteStream {
        self.loop.connect(request, handler: handler)
    }

    func listen(
        _ request: ListenRequest, accept: @escaping (any ByteStream) -> (any ByteStreamHandler)?
    ) throws(ByteStreamError) -> any ByteListener {
        try self.loop.listen(request, accept: accept)
    }

    func shutdown() { self.loop.shutdown() }
}
