internal import LinkspanDevServer
internal import TestedBackEnds
internal import TestSupport
internal import Testing

/// What the official suite of the Engine.IO protocol, revision 4, asks of a server, at the echo, and some more.
@Suite(.timeLimit(.minutes(2)), .overSomeBackEnd)
struct EngineProtocolTests {
    private let bench = EngineBench.echo

    @Test(arguments: EngineCase.allCases)
    func `a server behaves as each case of the official suite asks`(_ each: EngineCase) async throws {
        try await self.bench.check(each)
    }

    @Test
    func `the official suites have as many cases as are checked here`() {
        #expect(EngineCase.allCases.count == 25)
        #expect(EngineCase.ofSocketIO.count + SocketIOCase.allCases.count == 32)
    }

    @Test
    func `a POST with the id of an upgraded session is answered 400, and the session lives`() async throws {
        try await self.bench.run { port in
            let session = try self.bench.poll(port)
            let socket = try self.bench.upgrade(port, session)
            #expect(try self.bench.exchange(port, "POST", session, body: "4late").status == 400)
            self.bench.expectLife(socket)
        }
    }

    @Test
    func `a second WebSocket of a session during the upgrade is opened and closed, and the upgrade goes on`()
        async throws
    {
        try await self.bench.run { port in
            let session = try self.bench.poll(port)
            let socket = try self.bench.probe(port, session)
            let second = try self.bench.open(port, session)
            #expect(second.isOpen && second.isClosed())
            try self.bench.complete(socket)
        }
    }

    @Test
    func `without the option there is no echo, and Socket.IO's sessions are not its`() async throws {
        try await Bench.run { bench in
            let status = try self.bench.exchange(bench.server.port, "GET", "EIO=4&transport=polling").status
            #expect(status == 404)
        }
        try await self.bench.run { port in
            let session = try EngineBench.socketIO.poll(port)
            try self.bench.expectNoPolling(port, session)
        }
    }
}

extension EngineBench {
    /// Does what a case of the official suite does.
    func check(_ each: EngineCase) async throws {
        switch each {
        case .pollingHandshake:
            try await self.run { port in
                let answer = try self.exchange(port, "GET", "EIO=4&transport=polling")
                #expect(answer.status == 200)
                try self.expectHandshake(answer.body, upgrades: ["websocket"])
            }
        case .pollingVersion: try await self.refuses(["transport=polling", "EIO=abc&transport=polling"])
        case .pollingTransport: try await self.refuses(["EIO=4", "EIO=4&transport=abc"])
        case .pollingMethod: try await self.refuses(["EIO=4&transport=polling"], methods: ["POST", "PUT"])
        case .webSocketHandshake:
            try await self.run { port in
                let packet = try self.open(port).text()
                try self.expectHandshake(packet, upgrades: [])
            }
        case .webSocketVersion: try await self.refusesWebSocket(["transport=websocket", "EIO=abc&transport=websocket"])
        case .webSocketTransport: try await self.refusesWebSocket(["EIO=4", "EIO=4&transport=abc"])
        case .pollingText: try await self.echoes("4hello")
        case .pollingTexts: try await self.echoes("4test1\u{1E}4test2\u{1E}4test3")
        case .pollingBinary: try await self.echoes("4hello\u{1E}bAQIDBA==")
        case .pollingMalformed:
            try await self.run { port in
                let session = try self.poll(port)
                #expect(try self.exchange(port, "POST", session, body: "abc").status == 400)
                try self.expectNoPolling(port, session)
            }
        case .twoPolls: try await self.twoPolls()
        case .cancelledPoll:
            try await self.run { port in
                let session = try self.poll(port)
                do { _ = try self.waitingPoll(port, session) }
                try self.expectNoPolling(port, session)
            }
        case .webSocketText: try await self.webSocketEchoes(.text("4hello"))
        case .webSocketBinary: try await self.webSocketEchoes(.binary([1, 2, 3, 4]))
        case .webSocketMalformed: try await self.closes(after: "abc")
        case .pollingHeartbeat: try await self.pollingHeartbeat()
        case .pollingSilence:
            try await self.run(pingInterval: .milliseconds(100), pingTimeout: .milliseconds(100)) { port in
                let session = try self.poll(port)
                // Its session is younger than that one.
                let socket = try self.open(port)
                #expect(socket.isClosed())
                try self.expectNoPolling(port, session)
            }
        case .webSocketHeartbeat: try await self.webSocketHeartbeat()
        case .webSocketSilence:
            try await self.run(pingInterval: .milliseconds(100), pingTimeout: .milliseconds(100)) { port in
                let socket = try self.open(port)
                #expect(socket.isClosed())
            }
        case .pollingClose: try await self.pollingClose()
        case .webSocketClose: try await self.closes(after: "1")
        case .upgrade: try await self.upgradeReleasesThePoll()
        case .requestAfterUpgrade:
            try await self.livesOn { port, session in try self.expectNoPolling(port, session) }
        case .webSocketAfterUpgrade:
            try await self.livesOn { port, session in
                let second = try self.open(port, session)
                #expect(second.isOpen && second.isClosed())
            }
        }
    }

    private func expectHandshake(_ packet: String, upgrades: [String]) throws {
        let handshake = try self.handshake(packet)
        #expect(Set(handshake.keys) == ["sid", "upgrades", "pingInterval", "pingTimeout", "maxPayload"])
        #expect(handshake["upgrades"] as? [String] == upgrades)
        #expect(handshake["pingInterval"] as? Int == 25_000)
        #expect(handshake["pingTimeout"] as? Int == 20_000)
        #expect(handshake["maxPayload"] as? Int == 1_000_000)
    }

    private func refuses(_ queries: [String], methods: [String] = ["GET"]) async throws {
        try await self.run { port in
            for query in queries {
                for method in methods {
                    let status = try self.exchange(port, method, query).status
                    #expect(status == 400, "\(method) \(query)")
                }
            }
        }
    }

    private func refusesWebSocket(_ queries: [String]) async throws {
        try await self.run { port in
            for query in queries {
                let socket = try self.open(port, query)
                #expect(!socket.isOpen)
            }
        }
    }

    private func echoes(_ body: String) async throws {
        try await self.run { port in
            let session = try self.poll(port)
            let push = try self.exchange(port, "POST", session, body: body)
            #expect(push.status == 200 && push.body == "ok")
            let poll = try self.exchange(port, "GET", session)
            #expect(poll.status == 200 && poll.body == body)
        }
    }

    private func webSocketEchoes(_ frame: RawWebSocket.Frame) async throws {
        try await self.run { port in
            let socket = try self.open(port)
            _ = try socket.text()
            socket.send(frame)
            #expect(socket.nextMessage() == frame)
        }
    }

    private func closes(after packet: String) async throws {
        try await self.run { port in
            let socket = try self.open(port)
            _ = try socket.text()
            socket.send(packet)
            #expect(socket.isClosed())
        }
    }

    private func twoPolls() async throws {
        try await self.run { port in
            let session = try self.poll(port)
            let first = try self.waitingPoll(port, session)
            #expect(try self.exchange(port, "GET", session).status == 400)
            let answer = try first.answer()
            #expect(answer.status == 200 && answer.body == "1")
            try self.expectNoPolling(port, session)
        }
    }

    private func pollingHeartbeat() async throws {
        try await self.run(pingInterval: .milliseconds(100)) { port in
            let session = try self.poll(port)
            for _ in 0..<3 {
                let poll = try self.exchange(port, "GET", session)
                #expect(poll.status == 200 && poll.body == "2")
                #expect(try self.exchange(port, "POST", session, body: "3").status == 200)
            }
        }
    }

    private func webSocketHeartbeat() async throws {
        try await self.run(pingInterval: .milliseconds(100)) { port in
            let socket = try self.open(port)
            _ = try socket.text()
            for _ in 0..<3 {
                #expect(try socket.text() == "2")
                socket.send("3")
            }
        }
    }

    private func pollingClose() async throws {
        try await self.run { port in
            let session = try self.poll(port)
            let poll = try self.waitingPoll(port, session)
            #expect(try self.exchange(port, "POST", session, body: "1").status == 200)
            let answer = try poll.answer()
            #expect(answer.status == 200 && answer.body == "6")
            try self.expectNoPolling(port, session)
        }
    }

    private func upgradeReleasesThePoll() async throws {
        try await self.run { port in
            let session = try self.poll(port)
            let socket = try self.probe(port, session)
            let poll = try self.exchange(port, "GET", session)
            #expect(poll.status == 200 && poll.body == "6")
            try self.complete(socket)
        }
    }

    /// Expects that something done with its id does not end an upgraded session.
    private func livesOn(_ disturb: (Int, String) throws -> Void) async throws {
        try await self.run { port in
            let session = try self.poll(port)
            let socket = try self.upgrade(port, session)
            try disturb(port, session)
            self.expectLife(socket)
        }
    }
}
