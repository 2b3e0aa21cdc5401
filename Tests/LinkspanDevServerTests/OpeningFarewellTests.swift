internal import TestSupport
internal import Linkspan
internal import LinkspanNetwork
internal import LinkspanRuntime
internal import LinkspanSocketIO
internal import TestedBackEnds
internal import Testing

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
    private var parser = HTTPRequestParser(limits: .init(bodyBytes: 1 << 20))

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
