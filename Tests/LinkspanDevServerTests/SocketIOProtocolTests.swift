internal import Linkspan
internal import LinkspanDevServer
internal import LinkspanInMemory
internal import TestedBackEnds
internal import TestSupport
internal import Testing

/// What the official suite of the Socket.IO protocol, revision 5, asks of a server.
@Suite(.timeLimit(.minutes(2)), .overSomeBackEnd)
struct SocketIOProtocolTests {
    private static let target = "/socket.io/?EIO=4&transport=websocket"

    @Test(arguments: EngineCase.ofSocketIO)
    func `a server behaves below Socket.IO as each case of the official suite asks`(_ each: EngineCase) async throws {
        try await EngineBench.socketIO.check(each)
    }

    @Test(arguments: SocketIOCase.allCases)
    func `a server behaves as each case of the official suite asks`(_ each: SocketIOCase) async throws {
        switch each {
        case .main: try await self.connects("40", "40{", #"42["auth",{}]"#)
        case .mainWithPayload: try await self.connects(#"40{"token":"123"}"#, "40{", #"42["auth",{"token":"123"}]"#)
        case .custom: try await self.connects("40/custom,", "40/custom,{", #"42/custom,["auth",{}]"#)
        case .customWithPayload:
            try await self.connects(
                #"40/custom,{"token":"abc"}"#, "40/custom,{", #"42/custom,["auth",{"token":"abc"}]"#)
        case .unknown:
            try await self.withServer { port in
                let socket = try self.open(port)
                socket.send("40/random")
                #expect(socket.nextMessage() == .text(#"44/random,{"message":"Invalid namespace"}"#))
            }
        case .brokenHandshake:
            try await self.withServer { port in
                let socket = try self.open(port)
                socket.send("4abc")
                #expect(socket.isClosed())
            }
        case .noHandshake:
            try await self.withServer({ $0.limits.connectTimeout = .milliseconds(100) }) { port in
                let socket = try self.open(port)
                #expect(socket.isClosed())
            }
        case .leaveMain: try await self.leavesMain()
        case .leaveCustom: try await self.leavesCustom()
        case .text:
            try await self.answers(#"42["message",1,"2",{"3":[true]}]"#, #"42["message-back",1,"2",{"3":[true]}]"#)
        case .textWithAck:
            try await self.answers(#"42456["message-with-ack",1,"2",{"3":[false]}]"#, #"43456[1,"2",{"3":[false]}]"#)
        case .binary: try await self.answersBinary(#"452-["message","#, #"452-["message-back","#)
        case .binaryWithAck: try await self.answersBinary(#"452-789["message-with-ack","#, "462-789[")
        case .unknownType: try await self.closes(after: "4abc")
        case .brokenPayload: try await self.closes(after: "42{}")
        case .brokenID: try await self.closes(after: #"42abc["message-with-ack",1,"2",{"3":[false]}]"#)
        }
    }

    @Test(arguments: [#"42["x"]"#, "430[]", "41"])
    func `a packet for a namespace that was never joined ends the session, and one behind its end does not`(
        packet: String
    ) async throws {
        try await self.withServer { port in
            let socket = try self.open(port)
            socket.send(packet)
            #expect(socket.isClosed())
        }
        try await self.withServer { port in
            let socket = try self.connect(port)
            socket.send("41")
            socket.send(packet)
            socket.send("40")
            #expect(socket.nextMessage().map { "\($0)".contains("40{") } == true)
        }
    }

    @Test
    func `a client that has left the main namespace is put out when it does not answer pings`() async throws {
        try await self.withServer({
            $0.pingInterval = .milliseconds(100)
            $0.pingTimeout = .milliseconds(100)
        }) { port in
            let socket = try self.connect(port)
            socket.send("41")
            #expect(socket.isClosed())
        }
    }

    // MARK: What the cases do

    private func connects(_ packet: String, _ answer: String, _ auth: String) async throws {
        try await self.withServer { port in
            let socket = try self.open(port)
            socket.send(packet)
            let handshake = try self.message(socket)
            #expect(handshake.hasPrefix("\(answer)\"sid\":\""))
            // Nothing but the id.
            #expect(handshake.split(separator: "\"").count == 5)
            #expect(try self.message(socket) == auth)
        }
    }

    private func leavesMain() async throws {
        try await self.withServer({ $0.pingInterval = .milliseconds(100) }) { port in
            let socket = try self.connect(port)
            socket.send("41")
            #expect(try socket.text() == "2")
            socket.send("3")
            // A second one shows that the connection is not about to close.
            #expect(try socket.text() == "2")
        }
    }

    private func leavesCustom() async throws {
        try await self.withServer { port in
            let socket = try self.connect(port)
            socket.send("40/custom")
            _ = try self.message(socket)
            _ = try self.message(socket)
            socket.send("41/custom")
            socket.send(#"42["message","message to main namespace"]"#)
            #expect(try self.message(socket) == #"42["message-back","message to main namespace"]"#)
        }
    }

    private func answers(_ packet: String, _ answer: String) async throws {
        try await self.withServer { port in
            let socket = try self.connect(port)
            socket.send(packet)
            #expect(try self.message(socket) == answer)
        }
    }

    private func answersBinary(_ head: String, _ answer: String) async throws {
        let placeholders = #"{"_placeholder":true,"num":0},{"_placeholder":true,"num":1}]"#
        try await self.withServer { port in
            let socket = try self.connect(port)
            socket.send(head + placeholders)
            socket.send([1, 2, 3])
            socket.send([4, 5, 6])
            #expect(try self.message(socket) == answer + placeholders)
            #expect(socket.nextMessage() == .binary([1, 2, 3]))
            #expect(socket.nextMessage() == .binary([4, 5, 6]))
        }
    }

    private func closes(after packet: String) async throws {
        try await self.withServer { port in
            let socket = try self.connect(port)
            socket.send(packet)
            #expect(socket.isClosed())
        }
    }

    // MARK: The server that the suite expects

    /// It tells the credentials, sends `message` back and acknowledges.
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
        _ configure: (inout DevServerConfiguration) -> Void = { _ in }, _ body: (Int) throws -> Void
    ) async throws {
        let hub = Self.hub()
        let server = DevServer(hub: hub, namespaces: ["/custom": hub], configuration: .init(configure))
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
        _ = try self.message(socket)
        _ = try self.message(socket)
        return socket
    }

    private func message(_ socket: RawWebSocket) throws -> String {
        guard case .text(let text) = socket.nextMessage() else { throw RawWebSocket.NoText() }
        return text
    }
}
