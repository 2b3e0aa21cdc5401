internal import Linkspan
internal import LinkspanDevServer
internal import LinkspanInMemory
internal import Testing

/// What the suite of the Socket.IO protocol, revision 5, asks of a server.
///
/// Its part on Engine.IO is that of ``EngineProtocolTests``, at another path.
@Suite(.timeLimit(.minutes(2)))
struct SocketIOProtocolTests {
    private static let target = "/socket.io/?EIO=4&transport=websocket"

    /// The hub that the suite expects: it tells the credentials, sends `message` back and acknowledges.
    private static func hub() -> InMemoryHub {
        let hub = InMemoryHub()
        hub.onConnect { peer throws(LinkspanError) in
            let auth = peer.request.credentials.auth ?? Payload(trustedElements: Array("{}".utf8)[...])
            peer.emit("auth", auth)
            peer.on("message") { peer.emit("message-back", $0.payload) }
            peer.on("message-with-ack") { $0.reply($0.payload) }
        }
        return hub
    }

    private func withServer(
        pingInterval: Duration = .seconds(25), pingTimeout: Duration = .seconds(20), _ body: (Int) throws -> Void
    ) async throws {
        let hub = Self.hub()
        let server = DevServer(
            hub: hub, namespaces: ["/custom": hub],
            configuration: .init {
                $0.pingInterval = pingInterval
                $0.pingTimeout = pingTimeout
            })
        let port = try await server.start()
        let outcome = Result { try body(port) }
        await server.stop()
        try outcome.get()
    }

    private func open(_ port: Int) throws -> RawWebSocket {
        let socket = try RawWebSocket(port: port, Self.target)
        #expect(try socket.text().hasPrefix("0{"))
        return socket
    }

    /// A client in the namespace `/`.
    private func connect(_ port: Int) throws -> RawWebSocket {
        let socket = try self.open(port)
        socket.send("40")
        _ = socket.nextMessage()
        _ = socket.nextMessage()
        return socket
    }

    private func message(_ socket: RawWebSocket) throws -> String {
        guard case .text(let text) = try #require(socket.nextMessage()) else { return "" }
        return text
    }

    @Test(
        "a client enters a namespace, with and without credentials",
        arguments: [
            ("40", "40{", #"42["auth",{}]"#), (#"40{"token":"123"}"#, "40{", #"42["auth",{"token":"123"}]"#),
            ("40/custom,", "40/custom,{", #"42/custom,["auth",{}]"#),
            (#"40/custom,{"token":"abc"}"#, "40/custom,{", #"42/custom,["auth",{"token":"abc"}]"#),
        ])
    func connects(_ packet: String, _ answer: String, _ auth: String) async throws {
        try await self.withServer { port in
            let socket = try self.open(port)
            socket.send(packet)
            let handshake = try self.message(socket)
            #expect(handshake.hasPrefix("\(answer)\"sid\":\""))
            #expect(handshake.split(separator: "\"").count == 5)
            #expect(try self.message(socket) == auth)
        }
    }

    @Test("a namespace that there is not is refused, and a broken CONNECT closes the connection")
    func refused() async throws {
        try await self.withServer { port in
            let socket = try self.open(port)
            socket.send("40/random")
            #expect(try self.message(socket) == #"44/random,{"message":"Invalid namespace"}"#)
            socket.send("4abc")
            #expect(socket.isClosed())
        }
    }

    @Test("a client that has left the main namespace is still pinged, and put out when it does not answer")
    func disconnectMain() async throws {
        let (interval, timeout) = (Duration.milliseconds(100), Duration.seconds(1))
        try await self.withServer(pingInterval: interval, pingTimeout: timeout) { port in
            let socket = try self.connect(port)
            socket.send("41")
            #expect(try socket.text() == "2")
            #expect(socket.isClosed())
        }
    }

    @Test("who leaves one namespace stays in the others")
    func disconnectCustom() async throws {
        try await self.withServer { port in
            let socket = try self.connect(port)
            socket.send("40/custom")
            _ = socket.nextMessage()
            _ = socket.nextMessage()
            socket.send("41/custom")
            socket.send(#"42["message","message to main namespace"]"#)
            #expect(try self.message(socket) == #"42["message-back","message to main namespace"]"#)
        }
    }

    @Test(
        "events and acknowledgements come back, in text",
        arguments: [
            (#"42["message",1,"2",{"3":[true]}]"#, #"42["message-back",1,"2",{"3":[true]}]"#),
            (#"42456["message-with-ack",1,"2",{"3":[false]}]"#, #"43456[1,"2",{"3":[false]}]"#),
        ])
    func text(_ packet: String, _ answer: String) async throws {
        try await self.withServer { port in
            let socket = try self.connect(port)
            socket.send(packet)
            #expect(try self.message(socket) == answer)
        }
    }

    @Test(
        "events and acknowledgements come back, with attachments",
        arguments: [
            ("452-", "message", #"452-["message-back","#), ("452-789", "message-with-ack", "462-789["),
        ])
    func binary(_ head: String, _ event: String, _ answer: String) async throws {
        let placeholders = #"{"_placeholder":true,"num":0},{"_placeholder":true,"num":1}]"#
        try await self.withServer { port in
            let socket = try self.connect(port)
            socket.send(#"\#(head)["\#(event)",\#(placeholders)"#)
            socket.send([1, 2, 3])
            socket.send([4, 5, 6])
            #expect(try self.message(socket) == answer + placeholders)
            #expect(socket.nextMessage() == .binary([1, 2, 3]))
            #expect(socket.nextMessage() == .binary([4, 5, 6]))
        }
    }

    @Test(
        "a packet with an unknown type, a broken payload or a broken id closes the connection",
        arguments: ["4abc", "42{}", #"42abc["message-with-ack",1,"2",{"3":[false]}]"#])
    func malformed(_ packet: String) async throws {
        try await self.withServer { port in
            let socket = try self.connect(port)
            socket.send(packet)
            #expect(socket.isClosed())
        }
    }
}
