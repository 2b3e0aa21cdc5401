internal import Linkspan
internal import LinkspanDevServer
internal import LinkspanInMemory
internal import LinkspanNetwork
internal import LinkspanRuntime
internal import LinkspanSocketIO
internal import LinkspanWebSocketProtocol
internal import TestedBackEnds
internal import Testing
internal import TestSupport

/// WebSockets that are closed while their owner wants nothing to be read; no time passes on their loops.
@Suite(.timeLimit(.minutes(1)))
struct ClosingTests {
    /// A message, a pong, and the answer to a Close frame of code 1000.
    private static let farewell: [UInt8] = [0x81, 1, 0x48, 0x8A, 0, 0x88, 2, 0x03, 0xE8]

    @Test(arguments: [false, true])
    func `a channel whose reading is paused reads the server's Close frame, and hands over no message before it`(
        _ pausesAgain: Bool
    ) throws {
        var server: ScriptedStream?
        let loop = ScriptedLoop { request, stream in
            _ = try? stream.upgrade(request)
            server = stream
        }
        let recorder = ChannelRecorder()
        let upgrade = StreamRequest(host: "server", port: 80, isSecure: false)
        let channel = loop.enter { WebSocketChannel(upgrade, on: loop, handler: recorder) }
        loop.run()
        let stream = try #require(server)
        loop.enter {
            channel.setReadingPaused(true)
            stream.say(Self.farewell)
        }
        loop.run()
        #expect(recorder.messages.isEmpty && recorder.ends.isEmpty)
        loop.enter {
            channel.close()
            if pausesAgain { channel.setReadingPaused(true) }
        }
        loop.run()
        #expect(recorder.messages.isEmpty)
        guard case .closed(let event)? = recorder.ends.first else {
            Issue.record("\(recorder.ends)")
            return
        }
        #expect(event.violation == nil && event.code == .normal)
        #expect(recorder.ends.count == 1)
    }

    @Test
    func `a channel that is closed in the pause behind a message reads the server's Close frame after it`() throws {
        var server: (session: WebSocketSession, stream: ScriptedStream)?
        let loop = ScriptedLoop { request, stream in
            server = (try? stream.upgrade(request)).map { ($0, stream) }
        }
        let recorder = ChannelRecorder()
        let upgrade = StreamRequest(host: "server", port: 80, isSecure: false)
        let channel = loop.enter { WebSocketChannel(upgrade, compression: .init(), on: loop, handler: recorder) }
        loop.run()
        var (session, stream) = try #require(server)
        var bytes: [UInt8] = []
        for _ in 0..<2 {
            _ = session.send(.binary, payload: [UInt8](repeating: 0, count: 1 << 20)[...], into: &bytes)
        }
        loop.enter {
            stream.say(bytes)
            channel.setReadingPaused(true)
            stream.say(Self.farewell)
            channel.close()
        }
        loop.run()
        #expect(recorder.messages.count == 1 && recorder.ends.isEmpty)
        // The end of the pause; the close deadline is behind it.
        loop.fireTimers(first: 1)
        #expect(recorder.messages.count == 1)
        guard case .closed(let event)? = recorder.ends.first else {
            Issue.record("\(recorder.ends)")
            return
        }
        #expect(event.violation == nil)
    }

    @Test
    func `a link whose reading is paused ends when the server answers its close, and hears nothing before`() throws {
        let wire = ScriptedWire(nil)
        let link = try wire.open()
        wire.loop.enter { link.setReadingPaused(true) }
        wire.say(bytes: Self.farewell)
        wire.loop.run()
        #expect(wire.events.isEmpty && wire.ends.isEmpty)
        wire.loop.enter { link.close(code: nil, reason: "") }
        wire.loop.run()
        #expect(wire.ends == [.connectionLost])
        #expect(wire.events.isEmpty)
    }
}

/// What has been sent is with the server when a shutdown returns, and the server knows that the client has left.
@Suite(.timeLimit(.minutes(2)), .overSomeBackEnd)
struct FarewellTests {
    private static func listening() -> (hub: InMemoryHub, said: Journal<String>) {
        let (hub, said) = (InMemoryHub(), Journal<String>("what was said"))
        hub.onConnect { peer in peer.on("say") { said.append($0.payload[0]?.string ?? "") } }
        return (hub, said)
    }

    @Test(arguments: Way.allCases)
    func `nothing is lost that was sent right before a shutdown and the end of the loop`(_ way: Way) async throws {
        let (hub, said) = Self.listening()
        try await Bench.run(hub: hub) { bench in
            let client = try await bench.client(way)
            try await client.connected()
            // More than a socket takes at once.
            let pad = String(repeating: "x", count: 20_000)
            for number in 0..<100 { try client.handler.send("say", "\(number)", pad) }
            #expect(await client.handler.drain(within: .seconds(20)).isEmpty)
            await bench.shutDownClients()
            // As at the end of the process: nothing is sent from here on.
            bench.loop.shutdown()
            #expect(try await said.first(100) == (0..<100).map(String.init))
            try await eventually { hub.peers.isEmpty }
        }
    }

    @Test(arguments: SocketIOCarriers.allCases)
    func `one of two namespaces that share a socket leaves as cleanly`(_ carriers: SocketIOCarriers)
        async throws
    {
        let (hub, said) = Self.listening()
        try await Bench.run(hub: hub) { bench in
            let way = Way.socketIO(carriers)
            let (first, second) = (try await bench.client(way), try await bench.client(way, path: "second"))
            try await first.connected()
            try await second.connected()
            for number in 0..<10 { try second.handler.send("say", "\(number)") }
            await bench.shutDownClients(from: 1)
            #expect(try await said.first(10) == (0..<10).map(String.init))
            try await eventually { hub.peers.count <= 1 }
            try first.handler.send("say", "still here")
            #expect(try await said.first(11).last == "still here")
            #expect(first.states.entries.map(\.to) == [.connected])
        }
    }

    @Test
    func `a client that gives up while it polls for the first time leaves no session behind`() async throws {
        // With sessions left behind there would be no room for the last one before their heartbeat is missed.
        try await Bench.run(configuration: .init { $0.limits.maximumConnections = 8 }) { bench in
            for _ in 0..<40 {
                let client = try await bench.client(.socketIO(.polling))
                try client.handler.disconnect()
            }
            try await bench.client(.socketIO(.polling)).connected()
        }
    }
}

/// A process that exits after a shutdown leaves no session behind, although the session was only being opened.
@Suite(.timeLimit(.minutes(1)), .overSomeBackEnd)
struct OpeningFarewellTests {
    /// The answer that the client is waiting for when it is shut down.
    enum Moment: CaseIterable {
        case handshake
        case connect
    }

    private static let handshake = #"0{"sid":"s","upgrades":[],"pingInterval":25000,"pingTimeout":20000}"#

    @Test(arguments: Moment.allCases, [SocketIOCarriers.polling, .upgrade])
    func `a shutdown while a polling session opens returns when the server has answered the goodbye`(
        _ moment: Moment, _ carriers: SocketIOCarriers
    ) async throws {
        let loop = makeLoop(name: "patient", listens: true)
        defer { loop.shutdown() }
        let server = PatientServer(on: loop)
        let port = await server.start()
        let manager = ConnectionManager()
        let transport = SocketIOTransport(.init { $0.carriers = carriers }, loop: loop)
        let configuration = try ConnectionBuilder("http://127.0.0.1:\(port)/").transport(transport).build()
        let client = try await Client(configuration, by: manager, on: loop)
        let log = server.log
        try await log.first { $0 == "GET" }
        if moment == .connect {
            #expect(await server.answer("GET", with: Self.handshake))
            try await log.first { $0 == "POST 40" }
        }
        let leaving = Task {
            await manager.shutdown(within: .seconds(30))
            log.append("shut down")
        }
        // From here on the client has given the session up.
        try await client.states.first { $0.to == .disconnected }
        if moment == .handshake { #expect(await server.answer("GET", with: Self.handshake)) }
        try await log.first { $0 == "POST 1" }
        #expect(!log.entries.contains("shut down"))
        #expect(await server.answer("POST 1", with: "ok"))
        await leaving.value
        #expect(log.entries.last == "shut down")
    }
}

/// A server that answers each request when the test says so.
private final class PatientServer: Sendable {
    /// The requests in their order: the method, and the body of a POST.
    let log = Journal<String>("a request")
    private let loop: any NetworkLoop
    private let waiting: Confined<[(request: String, stream: any ByteStream)]>

    init(on loop: any NetworkLoop) {
        self.loop = loop
        self.waiting = Confined([], to: loop)
    }

    /// Begins to listen, and returns the port.
    func start() async -> Int {
        await self.loop.perform {
            (try? self.loop.listen(ListenRequest()) { PatientHandler($0, of: self) })?.port ?? 0
        }
    }

    /// Answers the first request of this kind that waits; false when there is none.
    func answer(_ request: String, with body: String) async -> Bool {
        await self.loop.perform { () -> Bool in
            guard let index = self.waiting.value.firstIndex(where: { $0.request == request }) else { return false }
            let stream = self.waiting.value.remove(at: index).stream
            let head = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: \(body.utf8.count)\r\n\r\n"
            stream.write { $0 += Array((head + body).utf8) }
            stream.finish()
            return true
        }
    }

    fileprivate func asked(_ request: HTTPRequest, on stream: any ByteStream) {
        let body = String(decoding: request.body, as: UTF8.self)
        let summary = request.method == "POST" ? "POST \(body)" : request.method
        self.waiting.value.append((summary, stream))
        self.log.append(summary)
    }
}

/// Notes the request of one stream.
private final class PatientHandler: ByteStreamHandler {
    private let stream: any ByteStream
    private let server: PatientServer
    private var parser = HTTPRequestParser(bodyBytes: 1 << 20)

    init(_ stream: any ByteStream, of server: PatientServer) {
        self.stream = stream
        self.server = server
    }

    func opened(_ head: ResponseHead) {}
    func writable() {}
    func closed(_ reason: ByteStreamError) {}

    func received(_ bytes: [UInt8]) {
        self.parser.receive(bytes)
        if let request = try? self.parser.next() { self.server.asked(request, on: self.stream) }
    }
}

/// Servers that agree to the upgrade and answer in HTTP all the same.
@Suite
struct LateRefusalTests {
    /// A channel whose server sends these bytes behind its 101, in pieces of so many.
    private static func hear(_ bytes: [UInt8], inPiecesOf size: Int) throws -> ChannelRecorder {
        let recorder = ChannelRecorder()
        let loop = ScriptedLoop { request, stream in
            _ = try? stream.upgrade(request)
            for start in stride(from: 0, to: bytes.count, by: size) {
                stream.say(Array(bytes[start..<min(start + size, bytes.count)]))
            }
        }
        let upgrade = StreamRequest(host: "127.0.0.1", port: 80, isSecure: false)
        loop.enter { _ = WebSocketChannel(upgrade, on: loop, handler: recorder) }
        loop.run()
        return recorder
    }

    @Test(arguments: 1...13)
    func `a refusal is told by its status, wherever it is cut`(size: Int) throws {
        let recorder = try Self.hear(Array("HTTP/1.1 400 Bad Request\r\n\r\n".utf8), inPiecesOf: size)
        guard case .stream(let error)? = recorder.ends.first else {
            Issue.record("\(recorder.ends)")
            return
        }
        #expect(error.code == .refusedAfterUpgrade)
        #expect(error.status == 400)
        #expect(recorder.ends.count == 1)
    }

    @Test
    func `the text of a refusal is quoted in one line, when it comes with the status`() throws {
        let sentence = "the server answered with status 400 after it accepted the upgrade"
        let head = "HTTP/1.1 400 Bad Request\r\nContent-Length: 12\r\n\r\n"
        let cases: [(body: String, size: Int, text: String)] = [
            ("Bad\nrequest", 1_000, #": Bad\u{a}request"#), ("", 1_000, ""), ("\r\n", 1_000, ""),
            ("Bad request", 12, ""),
        ]
        for (body, size, text) in cases {
            let recorder = try Self.hear(Array((head + body).utf8), inPiecesOf: size)
            guard case .stream(let error)? = recorder.ends.first else {
                Issue.record("\(recorder.ends)")
                return
            }
            #expect(error.message == sentence + text)
        }
    }

    @Test(arguments: ["HTTP/1.0 400 ", "HTTP/1.1 4x0 ", "HELLO", "JTTP/1.1 400 "])
    func `bytes that are no refusal break the protocol`(text: String) throws {
        for size in [1, 100] {
            let recorder = try Self.hear(Array(text.utf8), inPiecesOf: size)
            guard case .closed(let event)? = recorder.ends.first else {
                Issue.record("\(recorder.ends)")
                return
            }
            #expect(event.violation != nil)
        }
    }

    @Test(arguments: [1, 2, 3, 100])
    func `frames are heard as they come`(size: Int) throws {
        let recorder = try Self.hear([0x81, 1, 0x48, 0x81, 1, 0x49], inPiecesOf: size)
        #expect(recorder.messages == [.text([0x48]), .text([0x49])])
        #expect(recorder.ends.isEmpty)
    }
}
