internal import Foundation
internal import LinkspanDevServer
internal import LinkspanInMemory
internal import Testing

/// What the suite of the Engine.IO protocol, revision 4, asks of a server, at the echo.
@Suite(.timeLimit(.minutes(2)))
struct EngineProtocolTests {
    private static let path = "/engine.io/"

    /// A server with the limit that the suite expects.
    private func withServer(
        pingInterval: Duration = .seconds(25), pingTimeout: Duration = .seconds(20), _ body: (Int) async throws -> Void
    ) async throws {
        let configuration = DevServer.Configuration {
            $0.echoPath = Self.path
            $0.pingInterval = pingInterval
            $0.pingTimeout = pingTimeout
            $0.maximumMessageBytes = 1_000_000
        }
        try await Bench.run(configuration: configuration) { try await body($0.server.port) }
    }

    private func exchange(
        _ port: Int, _ method: String, _ query: String, body: String = ""
    ) throws -> (status: Int, body: String) {
        try RawClient.exchange(port: port, method, "\(Self.path)?\(query)", body: body)
    }

    private func handshake(_ packet: String) throws -> [String: Any] {
        #expect(packet.hasPrefix("0"))
        return try #require(try JSONSerialization.jsonObject(with: Data(packet.dropFirst().utf8)) as? [String: Any])
    }

    /// The query of a session that polls.
    private func poll(_ port: Int) throws -> String {
        let answer = try self.exchange(port, "GET", "EIO=4&transport=polling")
        let sid = try #require(try self.handshake(answer.body)["sid"] as? String)
        return "EIO=4&transport=polling&sid=\(sid)"
    }

    private func open(_ port: Int, _ query: String = "EIO=4&transport=websocket") throws -> RawWebSocket {
        try RawWebSocket(port: port, "\(Self.path)?\(query)")
    }

    /// Upgrades a session that polls, and returns what carries it then.
    private func upgrade(_ port: Int, _ session: String) throws -> RawWebSocket {
        let socket = try self.open(port, session.replacing("polling", with: "websocket"))
        socket.send("2probe")
        #expect(try socket.text() == "3probe")
        socket.send("5")
        return socket
    }

    @Test("a handshake tells the session, its upgrades, its heartbeat and its limit", arguments: [false, true])
    func handshake(_ overWebSocket: Bool) async throws {
        try await self.withServer { port in
            let packet =
                try overWebSocket
                ? self.open(port).text() : self.exchange(port, "GET", "EIO=4&transport=polling").body
            let handshake = try self.handshake(packet)
            #expect(Set(handshake.keys) == ["sid", "upgrades", "pingInterval", "pingTimeout", "maxPayload"])
            #expect(handshake["upgrades"] as? [String] == (overWebSocket ? [] : ["websocket"]))
            #expect(handshake["pingInterval"] as? Int == 25_000)
            #expect(handshake["pingTimeout"] as? Int == 20_000)
            #expect(handshake["maxPayload"] as? Int == 1_000_000)
        }
    }

    @Test(
        "a request with a wrong version, transport or method is answered 400",
        arguments: [
            ("GET", "transport=polling"), ("GET", "EIO=abc&transport=polling"), ("GET", "EIO=4"),
            ("GET", "EIO=4&transport=abc"), ("POST", "EIO=4&transport=polling"), ("PUT", "EIO=4&transport=polling"),
        ])
    func wrongHandshake(_ method: String, _ query: String) async throws {
        try await self.withServer { port in
            let status = try self.exchange(port, method, query).status
            #expect(status == 400)
        }
    }

    @Test(
        "a WebSocket with a wrong version or transport does not open",
        arguments: ["transport=websocket", "EIO=abc&transport=websocket", "EIO=4", "EIO=4&transport=abc"])
    func wrongWebSocket(_ query: String) async throws {
        try await self.withServer { port in
            let socket = try self.open(port, query)
            #expect(!socket.isOpen)
        }
    }

    @Test(
        "what is posted comes back in a poll",
        arguments: ["4hello", "4test1\u{1E}4test2\u{1E}4test3", "4hello\u{1E}bAQIDBA=="])
    func payload(_ body: String) async throws {
        try await self.withServer { port in
            let session = try self.poll(port)
            let push = try self.exchange(port, "POST", session, body: body)
            #expect(push.status == 200 && push.body == "ok")
            let poll = try self.exchange(port, "GET", session)
            #expect(poll.status == 200 && poll.body == body)
        }
    }

    @Test("text and binary come back over a WebSocket")
    func webSocket() async throws {
        try await self.withServer { port in
            let socket = try self.open(port)
            _ = try socket.text()
            socket.send("4hello")
            #expect(socket.nextMessage() == .text("4hello"))
            socket.send([1, 2, 3, 4])
            #expect(socket.nextMessage() == .binary([1, 2, 3, 4]))
        }
    }

    @Test("a malformed packet ends the session, over both carriers")
    func malformed() async throws {
        try await self.withServer { port in
            let session = try self.poll(port)
            #expect(try self.exchange(port, "POST", session, body: "abc").status == 400)
            #expect(try self.exchange(port, "GET", session).status == 400)
            let socket = try self.open(port)
            socket.send("abc")
            #expect(socket.isClosed())
        }
    }

    @Test("of two polls at a time the first is told that the session is over, the second is answered 400")
    func twoPolls() async throws {
        try await self.withServer { port in
            let session = try self.poll(port)
            let first = try RawClient(port: port)
            first.settle()
            first.ask("GET", "\(Self.path)?\(session)")
            #expect(try self.exchange(port, "GET", session).status == 400)
            let answer = try first.answer()
            #expect(answer.status == 200 && answer.body == "1")
            #expect(try self.exchange(port, "GET", session).status == 400)
        }
    }

    @Test("a poll that is given up ends the session")
    func cancelledPoll() async throws {
        try await self.withServer { port in
            let session = try self.poll(port)
            do {
                let client = try RawClient(port: port)
                client.settle()
                client.ask("GET", "\(Self.path)?\(session)")
            }
            #expect(try self.exchange(port, "GET", session).status == 400)
        }
    }

    @Test("pings come and pongs are taken, over both carriers")
    func heartbeat() async throws {
        try await self.withServer(pingInterval: .milliseconds(100)) { port in
            let session = try self.poll(port)
            let socket = try self.open(port)
            _ = try socket.text()
            for _ in 0..<3 {
                let poll = try self.exchange(port, "GET", session)
                #expect(poll.status == 200 && poll.body == "2")
                #expect(try self.exchange(port, "POST", session, body: "3").status == 200)
                #expect(try socket.text() == "2")
                socket.send("3")
            }
        }
    }

    @Test("a client that does not answer pings is put out, over both carriers")
    func silence() async throws {
        try await self.withServer(pingInterval: .milliseconds(100), pingTimeout: .milliseconds(100)) { port in
            let session = try self.poll(port)
            #expect(try self.open(port).isClosed())
            // This session is older than that one.
            #expect(try self.exchange(port, "GET", session).status == 400)
        }
    }

    @Test("a close packet ends the session, and answers the poll with a noop packet")
    func close() async throws {
        try await self.withServer { port in
            let session = try self.poll(port)
            let poll = try RawClient(port: port)
            poll.settle()
            poll.ask("GET", "\(Self.path)?\(session)")
            #expect(try self.exchange(port, "POST", session, body: "1").status == 200)
            let answer = try poll.answer()
            #expect(answer.status == 200 && answer.body == "6")
            #expect(try self.exchange(port, "GET", session).status == 400)
            let socket = try self.open(port)
            socket.send("1")
            #expect(socket.isClosed())
        }
    }

    @Test("an upgrade releases the poll with a noop packet, and the WebSocket carries the session")
    func upgrade() async throws {
        try await self.withServer { port in
            let session = try self.poll(port)
            let socket = try self.open(port, session.replacing("polling", with: "websocket"))
            socket.send("2probe")
            #expect(try socket.text() == "3probe")
            let poll = try self.exchange(port, "GET", session)
            #expect(poll.status == 200 && poll.body == "6")
            socket.send("5")
            socket.send("4hello")
            #expect(socket.nextMessage() == .text("4hello"))
        }
    }

    @Test("a poll or POST with the id of an upgraded session is answered 400, and the session lives")
    func requestAfterUpgrade() async throws {
        try await self.withServer { port in
            let session = try self.poll(port)
            let socket = try self.upgrade(port, session)
            // Its echo shows that the upgrade is complete.
            socket.send("4upgraded")
            #expect(socket.nextMessage() == .text("4upgraded"))
            #expect(try self.exchange(port, "GET", session).status == 400)
            #expect(try self.exchange(port, "POST", session, body: "4late").status == 400)
            socket.send("4hello")
            #expect(socket.nextMessage() == .text("4hello"))
        }
    }

    @Test("a second WebSocket of a session is opened and closed, during the upgrade and after, and the session lives")
    func secondWebSocket() async throws {
        try await self.withServer { port in
            let session = try self.poll(port)
            let webSocket = session.replacing("polling", with: "websocket")
            let socket = try self.open(port, webSocket)
            let early = try self.open(port, webSocket)
            #expect(early.isOpen && early.isClosed())
            socket.send("2probe")
            #expect(try socket.text() == "3probe")
            socket.send("5")
            socket.send("4upgraded")
            #expect(socket.nextMessage() == .text("4upgraded"))
            let late = try self.open(port, webSocket)
            #expect(late.isOpen && late.isClosed())
            socket.send("4hello")
            #expect(socket.nextMessage() == .text("4hello"))
        }
    }

    @Test("without the option there is no echo, and Socket.IO's sessions are not its")
    func noEcho() async throws {
        try await Bench.run { bench in
            let status = try self.exchange(bench.server.port, "GET", "EIO=4&transport=polling").status
            #expect(status == 404)
        }
        try await self.withServer { port in
            let answer = try RawClient.exchange(port: port, "GET", "/socket.io/?EIO=4&transport=polling")
            let sid = try #require(try self.handshake(answer.body)["sid"] as? String)
            #expect(try self.exchange(port, "GET", "EIO=4&transport=polling&sid=\(sid)").status == 400)
        }
    }
}
