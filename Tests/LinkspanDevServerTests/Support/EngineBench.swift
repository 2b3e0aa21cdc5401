internal import Foundation
internal import LinkspanDevServer
internal import LinkspanInMemory
internal import Testing
internal import TestSupport

/// A server that speaks Engine.IO at a path, and what the cases of ``EngineCase`` ask of it.
struct EngineBench {
    let path: String
    /// What a client says first.
    private let greeting: String?
    /// What comes back as it is.
    private let message: String

    /// The echo, and what is below Socket.IO.
    static let echo = Self(path: "/engine.io/", greeting: nil, message: "4hello")
    static let socketIO = Self(path: "/socket.io/", greeting: "40", message: #"42["echo","hello"]"#)

    /// Runs a test at a server with the limit that the suites expect.
    func run(
        pingInterval: Duration = .seconds(25), pingTimeout: Duration = .seconds(20), _ body: (Int) throws -> Void
    ) async throws {
        let configuration = DevServerConfiguration {
            $0.echoPath = Self.echo.path
            $0.pingInterval = pingInterval
            $0.pingTimeout = pingTimeout
            $0.maximumMessageBytes = 1_000_000
        }
        try await Bench.run(configuration: configuration) { try body($0.server.port) }
    }

    func exchange(
        _ port: Int, _ method: String, _ query: String, body: String = ""
    ) throws -> (status: Int, body: String) {
        try RawClient.exchange(port: port, method, "\(self.path)?\(query)", body: body)
    }

    func handshake(_ packet: String) throws -> [String: Any] {
        #expect(packet.hasPrefix("0"))
        return try #require(try JSONSerialization.jsonObject(with: Data(packet.dropFirst().utf8)) as? [String: Any])
    }

    /// Begins a session that polls, and returns its query.
    func poll(_ port: Int) throws -> String {
        let answer = try self.exchange(port, "GET", "EIO=4&transport=polling")
        let sid = try #require(try self.handshake(answer.body)["sid"] as? String)
        return "EIO=4&transport=polling&sid=\(sid)"
    }

    /// Sends a poll that waits.
    func waitingPoll(_ port: Int, _ session: String) throws -> RawClient {
        let client = try RawClient(port: port)
        client.settle()
        client.ask("GET", "\(self.path)?\(session)")
        return client
    }

    /// Opens a WebSocket, for a session that polls or a new one.
    func open(_ port: Int, _ query: String = "EIO=4&transport=websocket") throws -> RawWebSocket {
        try RawWebSocket(port: port, "\(self.path)?\(query.replacing("polling", with: "websocket"))")
    }

    /// Tries a WebSocket for a session that polls.
    func probe(_ port: Int, _ session: String) throws -> RawWebSocket {
        let socket = try self.open(port, session)
        socket.send("2probe")
        #expect(try socket.text() == "3probe")
        return socket
    }

    /// Upgrades a session that polls, and returns what carries it then.
    func upgrade(_ port: Int, _ session: String) throws -> RawWebSocket {
        let socket = try self.probe(port, session)
        try self.complete(socket)
        return socket
    }

    /// Completes an upgrade.
    func complete(_ socket: RawWebSocket) throws {
        socket.send("5")
        if let greeting {
            socket.send(greeting)
            guard case .text(let answer) = socket.nextMessage() else { throw RawWebSocket.NoText() }
            #expect(answer.hasPrefix(greeting))
        }
        self.expectLife(socket)
    }

    /// Expects that a WebSocket carries its session.
    func expectLife(_ socket: RawWebSocket) {
        socket.send(self.message)
        #expect(socket.nextMessage() == .text(self.message))
    }

    /// Expects that a session is over, or is carried by a WebSocket alone.
    func expectNoPolling(_ port: Int, _ session: String) throws {
        #expect(try self.exchange(port, "GET", session).status == 400)
    }
}

/// The cases of the official test suite of the Engine.IO protocol, revision 4, by their titles.
enum EngineCase: String, Sendable, CaseIterable, CustomTestStringConvertible {
    case pollingHandshake = "handshake, HTTP long-polling: successfully opens a session"
    case pollingVersion = "handshake, HTTP long-polling: fails with an invalid 'EIO' query parameter"
    case pollingTransport = "handshake, HTTP long-polling: fails with an invalid 'transport' query parameter"
    case pollingMethod = "handshake, HTTP long-polling: fails with an invalid request method"
    case webSocketHandshake = "handshake, WebSocket: successfully opens a session"
    case webSocketVersion = "handshake, WebSocket: fails with an invalid 'EIO' query parameter"
    case webSocketTransport = "handshake, WebSocket: fails with an invalid 'transport' query parameter"

    case pollingText = "message, HTTP long-polling: sends and receives a payload containing one plain text packet"
    case pollingTexts = "message, HTTP long-polling: sends and receives a payload containing several plain text packets"
    case pollingBinary =
        "message, HTTP long-polling: sends and receives a payload containing plain text and binary packets"
    case pollingMalformed = "message, HTTP long-polling: closes the session upon invalid packet format"
    case twoPolls = "message, HTTP long-polling: closes the session upon duplicate poll requests"
    case cancelledPoll = "message, HTTP long-polling: closes the session upon cancelled polling request"
    case webSocketText = "message, WebSocket: sends and receives a plain text packet"
    case webSocketBinary = "message, WebSocket: sends and receives a binary packet"
    case webSocketMalformed = "message, WebSocket: closes the session upon invalid packet format"

    case pollingHeartbeat = "heartbeat, HTTP long-polling: sends ping/pong packets"
    case pollingSilence = "heartbeat, HTTP long-polling: closes the session upon ping timeout"
    case webSocketHeartbeat = "heartbeat, WebSocket: sends ping/pong packets"
    case webSocketSilence = "heartbeat, WebSocket: closes the session upon ping timeout"

    case pollingClose = "close, HTTP long-polling: forcefully closes the session"
    case webSocketClose = "close, WebSocket: forcefully closes the session"

    case upgrade = "upgrade: successfully upgrades from HTTP long-polling to WebSocket"
    case requestAfterUpgrade = "upgrade: ignores HTTP requests with same sid after upgrade"
    case webSocketAfterUpgrade = "upgrade: ignores WebSocket connection with same sid after upgrade"

    /// Those that the suite of the Socket.IO protocol, revision 5, has too: all but those on messages.
    static let ofSocketIO = Self.allCases.filter { !$0.rawValue.hasPrefix("message") }

    var testDescription: String { self.rawValue }
}

/// The cases of the official test suite of the Socket.IO protocol, revision 5, by their titles.
///
/// It has those of ``EngineCase/ofSocketIO`` before them.
enum SocketIOCase: String, Sendable, CaseIterable, CustomTestStringConvertible {
    case main = "connect: should allow connection to the main namespace"
    case mainWithPayload = "connect: should allow connection to the main namespace with a payload"
    case custom = "connect: should allow connection to a custom namespace"
    case customWithPayload = "connect: should allow connection to a custom namespace with a payload"
    case unknown = "connect: should disallow connection to an unknown namespace"
    case brokenHandshake = "connect: should disallow connection with an invalid handshake"
    case noHandshake = "connect: should close the connection if no handshake is received"

    case leaveMain = "disconnect: should disconnect from the main namespace"
    case leaveCustom = "disconnect: should connect then disconnect from a custom namespace"

    case text = "message: should send a plain-text packet"
    case binary = "message: should send a packet with binary attachments"
    case textWithAck = "message: should send a plain-text packet with an ack"
    case binaryWithAck = "message: should send a packet with binary attachments and an ack"
    case unknownType = "message: should close the connection upon invalid format (unknown packet type)"
    case brokenPayload = "message: should close the connection upon invalid format (invalid payload format)"
    case brokenID = "message: should close the connection upon invalid format (invalid ack id)"

    var testDescription: String { self.rawValue }
}
