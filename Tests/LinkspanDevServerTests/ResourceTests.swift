internal import TestSupport
internal import Linkspan
internal import LinkspanInMemory
internal import LinkspanNetwork
internal import LinkspanRuntime
internal import LinkspanSocketIO
internal import LinkspanWebSocketProtocol
internal import TestedBackEnds
internal import Testing

@testable import LinkspanDevServer

@Suite("Defaults of a development server")
struct DevServerDefaultTests {
    @Test
    func `are the documented ones`() {
        let usual = DevServerConfiguration()
        #expect(usual.pingInterval == .seconds(25) && usual.pingTimeout == .seconds(20) && usual.port == 0)
        #expect(usual.introduction == .optional(within: .milliseconds(250)))
        #expect(usual.maximumMessageBytes == 4 << 20 && usual.limits.maximumWaitingBytes == 16 << 20)
        #expect(usual.limits.connectTimeout == .seconds(45) && usual.limits.requestTimeout == .seconds(10))
        #expect(usual.limits.maximumConnections == 2_000)
        #expect(usual.carriers == [.polling, .webSocket] && usual.carriers != .polling)
    }
}

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
        let configuration = DevServerConfiguration()
        let run = ServerRun(
            configuration, rules: try AccessRules(configuration), hubs: [:], faults: Lock(ServerFaults()),
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
        let configuration = DevServerConfiguration()
        let run = ServerRun(
            configuration, rules: try AccessRules(configuration), hubs: ["/": InMemoryHub()],
            faults: Lock(ServerFaults()), loop: loop)
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
    func `idle clients do not keep others out`(_ idleness: Idleness) async throws {
        let configuration = DevServerConfiguration {
            $0.limits.maximumConnections = 20
            $0.introduction = .required(within: .seconds(60))
            $0.limits.requestTimeout = .seconds(60)
            $0.limits.connectTimeout = .seconds(60)
        }
        try await Bench.run(configuration: configuration) { bench in
            let used = try await bench.client(.socketIO(.webSocket), auth: ["name": "used"])
            _ = try await used.handler.request("req")
            var idlers: [RawClient] = []
            for _ in 0..<50 {
                let client = try RawClient(port: bench.server.port)
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

    @Test
    func `a place is taken from the holder that has been idle longest`() throws {
        final class Holder: PlaceHolder {
            let placeKey: Int
            var unusedSince: ContinuousClock.Instant?

            init(_ key: Int, _ unusedSince: ContinuousClock.Instant?) {
                (self.placeKey, self.unusedSince) = (key, unusedSince)
            }
        }
        let now = ContinuousClock.now
        var places = Places<Holder>(limit: 3)
        for holder in [Holder(1, now + .seconds(1)), Holder(2, now), Holder(3, nil)] { _ = places.add(holder) }
        for (newcomer, idlest) in [(4, 2), (5, 1)] {
            let (isTaken, former) = places.add(Holder(newcomer, nil))
            #expect(isTaken && former?.placeKey == idlest)
        }
        let (isTaken, former) = places.add(Holder(6, now))
        #expect(!isTaken && former == nil)
        #expect(places[3] != nil && places[4] != nil && places[1] == nil)
    }
}

/// An event loop that notes how many timers are to come.
private final class CountingLoop: NetworkLoop {
    private final class Timer: ScheduledWork {
        private let work: any ScheduledWork
        private let onCancel: @Sendable () -> Void

        init(work: any ScheduledWork, onCancel: @escaping @Sendable () -> Void) {
            (self.work, self.onCancel) = (work, onCancel)
        }

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

    func connect(
        _ request: StreamRequest, handler: any ByteStreamHandler, over kept: KeptConnections?
    ) -> any ByteStream {
        self.loop.connect(request, handler: handler)
    }

    func listen(
        _ request: ListenRequest, accept: @escaping (any ByteStream) -> (any ByteStreamHandler)?
    ) throws(ByteStreamError) -> any ByteListener {
        try self.loop.listen(request, accept: accept)
    }

    func shutdown() { self.loop.shutdown() }
}
