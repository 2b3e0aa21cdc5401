internal import Dispatch
internal import Linkspan
internal import LinkspanBackEnds
internal import LinkspanNetwork
internal import LinkspanRuntime
internal import LinkspanSocketIO
internal import LinkspanWebSocket
internal import Testing
internal import TestSupport

extension Interop {
    /// The stage that the error of a failed attempt names, or the fault that it names.
    @Suite struct OpeningStageTests {
        /// How far a server lets its clients get.
        enum Stop: String, Sendable, CaseIterable {
            case connection, accept, request, answer, handshake

            /// What the client waits for.
            func stage(over wire: Wire) -> String {
                switch self {
                case .connection: "connecting to the server by TCP"
                case .accept where wire.isSecure: "waiting for the TLS handshake"
                case .accept, .request:
                    wire.carriers == .webSocket
                        ? "waiting for the answer to the WebSocket upgrade"
                        : "waiting for the answer to the HTTP request"
                case .answer: "waiting for the Engine.IO handshake"
                case .handshake: "waiting for the answer to CONNECT"
                }
            }
        }

        private final class Receiver: LinkReceiver {
            let events = Journal<LinkEvent>("link events")

            func receive(_ next: () -> LinkEvent?) {
                while let event = next() { self.events.append(event) }
            }
        }

        /// Opens a link until it waits for what it is expected to wait for, then gives it up.
        private static func expect(
            _ expected: String, of transport: some Transport, _ url: String, on loop: any NetworkLoop
        ) async throws {
            let receiver = Receiver()
            let request = LinkRequest(url: try ConnectionURL(url), deadline: .seconds(60))
            let link = await loop.perform {
                let link = transport.makeLink(request, receiver: receiver)
                link.open()
                return Confined<any Link>(link, to: loop)
            }
            var stage: String?
            repeat {
                stage = await loop.perform { link.value.openingStage }
            } while stage != expected && receiver.events.entries.isEmpty && !Task.isCancelled
            #expect(stage == expected)
            // Its end is not awaited: over polling it hears the answer to a handshake out, for up to five seconds.
            await loop.perform { link.value.abort() }
        }

        @Test(.overEveryWire, arguments: Stop.allCases)
        func `a link over Socket.IO says what it waits for`(_ stop: Stop) async throws {
            let wire = Wire.current
            let server = try await SharedServers.silent(at: stop.rawValue)
            try await Bench.use { bench in
                let configuration = SocketIOConfiguration {
                    $0.carriers = wire.carriers
                    $0.tls = server.tls
                }
                try await Self.expect(
                    stop.stage(over: wire), of: SocketIOTransport(configuration, loop: bench.loop),
                    "\(wire.isSecure ? "https" : "http")://127.0.0.1:\(server.port)", on: bench.loop)
            }
        }

        @Test(
            .overWebSockets,
            arguments: [Stop.connection, .accept, .request])
        func `a link over a raw WebSocket says what it waits for`(_ stop: Stop) async throws {
            let wire = Wire.current
            let server = try await SharedServers.silent(at: stop.rawValue)
            try await Bench.use { bench in
                let transport = WebSocketTransport(.init { $0.tls = server.tls }, loop: bench.loop)
                try await Self.expect(
                    stop.stage(over: wire), of: transport,
                    "\(wire.isSecure ? "wss" : "ws")://127.0.0.1:\(server.port)", on: bench.loop)
            }
        }

        @Test(.overWebSockets)
        func `a refusal of the version behind the agreement to upgrade is recognised, too`() async throws {
            let certificates = Wire.current.isSecure ? try await SharedServers.certificates() : nil
            let server = PythonServer(
                "hostile_server.py", ["--attack", "late-refusal"], certificates: certificates)
            try await server.use {
                try await Bench.use { bench in
                    for version in [SocketIOConfiguration.Version.v2, .v4] {
                        let configuration = SocketIOConfiguration { $0.protocol = version }
                        let client = try await bench.socketIO(server, configuration: configuration)
                        let error = try #require(try await client.lost().error)
                        #expect(error.code == .unsupportedVersion)
                        #expect(client.handler.state == .disconnected)
                    }
                }
            }
        }

        @Test(.overEveryWire)
        func `a timeout behind a silent proxy names the stage`() async throws {
            let wire = Wire.current
            try await Wire.$current.withValue(Wire(network: Wire.current.network)) {
                let server = try await SharedServers.silent(at: "request")
                try await Bench.use { bench in
                    let configuration = SocketIOConfiguration {
                        $0.carriers = wire.carriers
                        $0.proxy = NetworkProxy(host: "127.0.0.1", port: server.port)
                    }
                    try await Self.expect(
                        "waiting for the proxy to reach the server",
                        of: SocketIOTransport(configuration, loop: bench.loop),
                        "\(wire.isSecure ? "https" : "http")://server.test", on: bench.loop)
                }
            }
        }

        /// A loop for which names that begin with `hang` are never resolved, and all others are the loopback's.
        private static func withHangingNames(_ body: (any NetworkLoop) async throws -> Void) async throws {
            let gate = DispatchSemaphore(value: 0)
            let resolver = Resolver { name, _ in
                guard name.hasPrefix("hang") else { return .success(["127.0.0.1"]) }
                gate.wait()
                gate.signal()
                return .success([])
            }
            defer { gate.signal() }
            let loop = Wire.current.network.makeLoop(name: "hanging", resolver: resolver)
            defer { loop.shutdown() }
            try await body(loop)
        }

        @Test(.overEveryWire)
        func `a timeout in name resolution names the host's owner, server or proxy`() async throws {
            let wire = Wire.current
            try await Self.withHangingNames { loop in
                for proxy in [nil, NetworkProxy(host: "hanging.test", port: 1)] {
                    let configuration = SocketIOConfiguration {
                        $0.carriers = wire.carriers
                        $0.proxy = proxy
                    }
                    let error = try await Self.failure(
                        of: SocketIOTransport(configuration, loop: loop),
                        "\(wire.isSecure ? "https" : "http")://hanging.test")
                    #expect(error.code == .timedOut)
                    let peer = proxy == nil ? "server" : "proxy"
                    #expect(error.message.hasSuffix("resolving the \(peer)'s name"), "\(error)")
                }
                let scheme = wire.isSecure ? "wss" : "ws"
                let error = try await Self.failure(of: WebSocketTransport(loop: loop), "\(scheme)://hanging.test")
                #expect(error.message.hasSuffix("resolving the server's name"), "\(error)")
            }
        }

        /// The error of the first attempt of a connection that has a moment for it.
        private static func failure(of transport: some Transport, _ url: String) async throws -> LinkspanError {
            try await Bench.use { bench in
                let client = try await bench.client(url, transport) { $0.openDeadline = .milliseconds(200) }
                return try #require(try await client.lost().error)
            }
        }

        @Test
        func `40 names that are never resolved do not hold up one that is`() async throws {
            let server = try await SharedServers.server(.aiohttp)
            try await Self.withHangingNames { loop in
                try await Bench.use { bench in
                    let transport = SocketIOTransport(loop: loop)
                    for number in 0..<40 { _ = try await bench.client("http://hang\(number).test", transport) }
                    let client = try await bench.client("http://healthy.test:\(server.port)", transport)
                    try await client.connected()
                    #expect(client.states.entries.count == 1)
                }
            }
        }
    }
}

extension Interop {
    /// Links that end before they begin, as happens when the app disconnects at the same moment.
    @Suite(.overBackEnds) struct UnbegunLinkTests {
        private final class Receiver: LinkReceiver {
            let events = Journal<LinkEvent>("link events")

            func receive(_ next: () -> LinkEvent?) {
                while let event = next() { self.events.append(event) }
            }
        }

        /// The ways to end a link.
        enum Ending: CaseIterable, Sendable {
            case abort
            case close
        }

        private static func isClosed(_ event: LinkEvent) -> Bool {
            if case .closed = event { true } else { false }
        }

        /// Ends a link, opens it, and waits until it says that it has ended.
        private static func endThenOpen(_ transport: some Transport, _ url: String, _ ending: Ending) async throws {
            let receiver = Receiver()
            let request = LinkRequest(url: try ConnectionURL(url))
            transport.executor.execute {
                let link = transport.makeLink(request, receiver: receiver)
                switch ending {
                case .abort: link.abort()
                case .close: link.close(code: nil, reason: "")
                }
                link.open()
            }
            try await receiver.events.first(where: Self.isClosed)
            #expect(receiver.events.entries.count == 1)
        }

        @Test(arguments: Ending.allCases)
        func `over Socket.IO, a link that has ended cannot be opened`(_ ending: Ending) async throws {
            try await withServer(.aiohttp) { server in
                try await Bench.use { bench in
                    try await Self.endThenOpen(
                        SocketIOTransport(loop: bench.loop), "http://127.0.0.1:\(server.port)/chat", ending)
                    // Had it connected, it would have been the first.
                    let client = try await bench.socketIO(server)
                    let sessions = try await client.handler.request("engines", timeout: .seconds(30))
                    #expect(sessions[0]?["ever"]?.int == 1)
                }
            }
        }

        @Test(arguments: Ending.allCases)
        func `over raw WebSocket, a link that has ended cannot be opened`(_ ending: Ending) async throws {
            try await withServer(.webSocket) { server in
                try await Bench.use { bench in
                    try await Self.endThenOpen(
                        WebSocketTransport(loop: bench.loop), "ws://127.0.0.1:\(server.port)/envelope", ending)
                    let client = try await bench.webSocket(server)
                    let requests = try await client.handler.request("requests", timeout: .seconds(30))
                    #expect(try requests.decode(Int.self) == 1)
                }
            }
        }
    }
}
