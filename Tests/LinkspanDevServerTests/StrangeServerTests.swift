internal import TestSupport
internal import Linkspan
internal import LinkspanNetwork
internal import LinkspanRuntime
internal import LinkspanSocketIO
internal import LinkspanWebSocket
internal import LinkspanWebSocketProtocol
internal import TestedBackEnds
internal import Testing

@testable import LinkspanDevServer

/// Our clients at servers that do what none should: they are understood, or given up.
@Suite(.timeLimit(.minutes(1)), .overSomeBackEnd)
struct StrangeServerTests {
    /// Runs a server that answers each request head with these bytes, behind `{accept}` the key's answer, and never closes;
    /// requests of an open polling session with others, if `later` is given.
    private func withServer(
        _ answer: String, later: String? = nil, open: Journal<Int> = Journal("open streams"),
        _ body: (Int, any NetworkLoop) async throws -> Void
    ) async throws {
        let loop = makeLoop(name: "strange", listens: true)
        defer { loop.shutdown() }
        let port = await loop.perform {
            let listener = try? loop.listen(ListenRequest()) {
                StrangeHandler($0, answer: answer, later: later ?? answer, open: open)
            }
            return listener?.port ?? 0
        }
        try await body(port, loop)
    }

    private func client(_ url: String, _ transport: any Transport, _ loop: any NetworkLoop) async throws -> Client {
        let configuration = try ConnectionBuilder(url).transport(transport).build()
        return try await Client(configuration, by: ConnectionManager(), on: loop)
    }

    private static let agreement =
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        + "Sec-WebSocket-Accept: {accept}\r\n\r\n"

    /// A text frame of less than 126 bytes.
    private static func frame(_ text: String) -> String {
        "\u{81}" + String(UnicodeScalar(UInt8(text.utf8.count))) + text
    }

    @Test(arguments: [true, false])
    func `a connection is down from the Close frame on, though the server leaves the stream open`(
        _ isSocketIO: Bool
    ) async throws {
        let open = Journal<Int>("a connection beside the former")
        let session = [#"0{"sid":"s","upgrades":[],"pingInterval":25000,"pingTimeout":20000}"#, #"40{"sid":"n"}"#]
        let greeting = isSocketIO ? session.map(Self.frame).joined() : ""
        // A Close frame with code 1012.
        let answer = Self.agreement + greeting + "\u{88}\u{02}\u{03}\u{F4}"
        try await self.withServer(answer, open: open) { port, loop in
            let transport: any Transport =
                isSocketIO
                ? SocketIOTransport(.init { $0.carriers = .webSocket }, loop: loop) : WebSocketTransport(loop: loop)
            let scheme = isSocketIO ? "http" : "ws"
            let client = try await self.client("\(scheme)://127.0.0.1:\(port)/", transport, loop)
            let change = try await client.states.first { $0.to == .reconnecting && $0.reason.error != nil }
            #expect(change.reason.error?.code == .serverUnavailable)
            // The next connection comes while the former's stream is still there.
            try await open.first { $0 == 2 }
            client.handler.release()
        }
    }

    /// The refusal that engine.io writes behind its 101.
    private static func refusal(_ text: String) -> String {
        "HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-type: text/html\r\n"
            + "Content-Length: \(text.utf8.count)\r\n\r\n\(text)"
    }

    @Test(arguments: ["Unsupported protocol version", ""])
    func `a 400 behind the 101 that speaks of the version, or of nothing, is final for a client of version 2`(
        _ text: String
    ) async throws {
        try await self.withServer(Self.agreement + Self.refusal(text)) { port, loop in
            let transport = SocketIOTransport(.init { $0.protocol = .v2 }, loop: loop)
            let client = try await self.client("http://127.0.0.1:\(port)/", transport, loop)
            let change = try await client.states.first { $0.to == .disconnected }
            #expect(change.reason.error?.code == .unsupportedVersion)
            #expect(change.reason.error?.message.contains("choose protocol v2") == true)
            #expect(client.handler.state == .disconnected)
            client.handler.release()
        }
    }

    @Test(arguments: [true, false])
    func `a 400 behind the 101 for another reason is tried again`(_ isLegacy: Bool) async throws {
        try await self.withServer(Self.agreement + Self.refusal("Bad request")) { port, loop in
            let transport = SocketIOTransport(.init { $0.protocol = isLegacy ? .v2 : .v4 }, loop: loop)
            let client = try await self.client("http://127.0.0.1:\(port)/", transport, loop)
            let change = try await client.states.first { $0.to != .connected }
            #expect(change.reason.error?.code == .serverUnavailable)
            #expect(change.reason.error?.message.hasSuffix("accepted the upgrade: Bad request") == true)
            try await client.states.first { $0.to == .reconnecting }
            client.handler.release()
        }
    }

    @Test(arguments: [302, 403, 405, 410, 426])
    func `a refusal in the middle of a polling session is the loss of the session`(_ status: Int) async throws {
        let session = #"0{"sid":"s","upgrades":[],"pingInterval":25000,"pingTimeout":20000}"#
        let packets = "\(session)\u{1E}" + #"40{"sid":"n"}"#
        let handshake = "HTTP/1.1 200 OK\r\nContent-Length: \(packets.utf8.count)\r\n\r\n\(packets)"
        let refusal = "HTTP/1.1 \(status) No\r\nLocation: http://login.invalid/\r\nContent-Length: 0\r\n\r\n"
        try await self.withServer(handshake, later: refusal) { port, loop in
            let transport = SocketIOTransport(.init { $0.carriers = .polling }, loop: loop)
            let client = try await self.client("http://127.0.0.1:\(port)/", transport, loop)
            try await client.connected()
            let change = try await client.states.first { $0.to == .reconnecting }
            #expect(change.reason.error?.code == .connectionLost)
            #expect(change.reason.error?.message.contains("status \(status)") == true)
            // The session is lost, and the server is not: the next handshake is accepted.
            try await client.connected(times: 2)
            client.handler.release()
        }
    }

    @Test(arguments: SocketIOCarriers.allCases)
    func `a 404 is final, and says that nothing is at the path`(_ carriers: SocketIOCarriers) async throws {
        let answer = "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"
        try await self.withServer(answer) { port, loop in
            let transport = SocketIOTransport(.init { $0.carriers = carriers }, loop: loop)
            let client = try await self.client("http://127.0.0.1:\(port)/", transport, loop)
            let change = try await client.states.first { $0.to == .disconnected }
            #expect(change.reason.error?.code == .refused)
            let place = "http://127.0.0.1:\(port)"
            #expect(
                change.reason.error?.message == "\(place) answered with status 404: there is nothing at /socket.io/")
            client.handler.release()
        }
    }
}

/// Answers each request with what the test wants.
private final class StrangeHandler: ByteStreamHandler {
    private let stream: any ByteStream
    private let answer: String
    private let later: String
    private let open: Journal<Int>
    private var parser = HTTPRequestParser(limits: .init(bodyBytes: 1 << 20))
    private var isUpgraded = false

    /// Makes a handler, and notes how many streams are open with it.
    init(_ stream: any ByteStream, answer: String, later: String, open: Journal<Int>) {
        self.stream = stream
        self.answer = answer
        self.later = later
        self.open = open
        open.append((open.entries.last ?? 0) + 1)
    }

    func opened(_ head: ResponseHead) {}
    func readTurnEnded() {}
    func writable() {}
    func closed(_ reason: ByteStreamError) { self.open.append((self.open.entries.last ?? 0) - 1) }

    func received(_ bytes: [UInt8]) {
        guard !self.isUpgraded else { return }
        self.parser.receive(bytes)
        guard let request = try? self.parser.next() else { return }
        let handshake = try? ServerHandshake().accept(method: request.method, headers: request.values)
        let accept = handshake?.headers.first { $0.name.lowercased() == "sec-websocket-accept" }?.value ?? ""
        self.isUpgraded = handshake != nil
        // One byte a scalar: frames are written as text.
        let answer = request.query.contains { $0.name == "sid" } ? self.later : self.answer
        let text = answer.replacing("{accept}", with: accept)
        self.stream.write { $0 += text.unicodeScalars.map { UInt8(truncatingIfNeeded: $0.value) } }
    }
}
