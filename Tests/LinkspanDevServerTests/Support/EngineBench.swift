internal import Foundation
internal import LinkspanDevServer
internal import LinkspanInMemory
internal import TestSupport
internal import Testing

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
