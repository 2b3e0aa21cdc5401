internal import TestSupport
internal import Linkspan
internal import LinkspanSocketIO
internal import Testing

extension Interop {
    /// Which sockets there are for which namespaces.
    @Suite(.overEachWire) struct SocketTests {
        /// What a server tells of its Engine.IO sessions.
        private struct Engines: Decodable, Equatable {
            var open: Int
            var ever: Int
        }

        private static func engines(by client: Client) async throws -> Engines {
            try await client.handler.request("engines", timeout: .seconds(30)).decode(Engines.self)
        }

        /// Asks a server again and again until it has so many sessions.
        private static func engines(by client: Client, becomeOpen count: Int) async throws -> Bool {
            let clock = ContinuousClock()
            let end = clock.now + .seconds(30)
            while clock.now < end {
                if try await Self.engines(by: client).open == count { return true }
            }
            return false
        }

        @Test(arguments: ServerKind.socketIO)
        func `three namespaces share one socket and stay apart on it`(_ kind: ServerKind) async throws {
            try await withServer(kind) { server in
                try await Bench.use { bench in
                    var clients: [Client] = []
                    for name in ["/", "/admin", "/chat"] {
                        clients.append(try await bench.socketIO(server, name))
                    }
                    for (index, client) in clients.enumerated() {
                        try await client.connected()
                        try client.handler.send("echo", index)
                    }
                    for (index, client) in clients.enumerated() {
                        #expect(try await client.values("echo", as: Int.self) == [index])
                        try await client.settle()
                        #expect(client.messages.entries.count == 1)
                    }
                    #expect(try await Self.engines(by: clients[2]) == Engines(open: 1, ever: 1))
                    #expect(Set(clients.map { $0.states.entries.count }) == [1])
                }
            }
        }

        @Test
        func `namespaces of two users have a socket each, those of one user share theirs`() async throws {
            try await withServer(.aiohttp) { server in
                try await Bench.use { bench in
                    let (ann, bob) = (CredentialSource.user("ann"), CredentialSource.user("bob"))
                    let clients = [
                        try await bench.socketIO(server, credentials: ann),
                        try await bench.socketIO(server, "/chat", credentials: bob),
                        try await bench.socketIO(server, "/admin", credentials: ann),
                    ]
                    for client in clients { try await client.connected() }
                    #expect(try await Self.engines(by: clients[0]) == Engines(open: 2, ever: 2))
                }
            }
        }

        @Test
        func `the loss of the socket is the loss of all its namespaces, and one socket serves them again`() async throws
        {
            try await withServer(.aiohttp) { server in
                try await Bench.use { bench in
                    let (first, second) = (try await bench.socketIO(server), try await bench.socketIO(server, "/chat"))
                    try await first.connected()
                    try await second.connected()
                    try first.handler.send("kill_engine")
                    for client in [first, second] {
                        #expect(try await client.lost().isLoss)
                        try await client.connected(times: 2)
                        try await client.settle()
                    }
                }
            }
        }

        @Test
        func `without sharing, each namespace has a socket of its own`() async throws {
            try await withServer(.aiohttp) { server in
                try await Bench.use { bench in
                    let apart = SocketIOConfiguration { $0.isMultiplexed = false }
                    let first = try await bench.socketIO(server, configuration: apart)
                    let second = try await bench.socketIO(server, "/chat", configuration: apart)
                    try await first.connected()
                    try await second.connected()
                    #expect(try await Self.engines(by: first) == Engines(open: 2, ever: 2))
                }
            }
        }

        @Test(arguments: ServerKind.socketIO)
        func `a socket is closed with the last namespace that its client leaves`(_ kind: ServerKind) async throws {
            try await withServer(kind) { server in
                try await Bench.use { observer in
                    let observing = try await observer.socketIO(server)
                    try await Bench.use { bench in
                        let client = try await bench.socketIO(server, "/chat")
                        try await client.connected()
                        #expect(try await Self.engines(by: observing).open == 2)
                        try client.handler.disconnect()
                        #expect(try await Self.engines(by: observing, becomeOpen: 1))
                    }
                }
            }
        }

        @Test(arguments: ServerKind.socketIO)
        func `a socket is closed when the server has ended its last namespace`(_ kind: ServerKind) async throws {
            try await withServer(kind) { server in
                try await Bench.use { observer in
                    let observing = try await observer.socketIO(server)
                    try await Bench.use { bench in
                        let client = try await bench.socketIO(server, "/chat")
                        try await client.connected()
                        #expect(try await Self.engines(by: observing).open == 2)
                        try client.handler.send("kick")
                        #expect(try await client.lost().isFailure)
                        #expect(try await Self.engines(by: observing, becomeOpen: 1))
                    }
                }
            }
        }

        @Test(arguments: ServerKind.asyncio)
        func `a socket is closed when its only namespace was refused`(_ kind: ServerKind) async throws {
            try await withServer(kind) { server in
                try await Bench.use { observer in
                    let observing = try await observer.socketIO(server)
                    try await Bench.use { bench in
                        let client = try await bench.socketIO(server, "/nowhere")
                        #expect(try await client.lost().isFailure)
                        #expect(try await Self.engines(by: observing, becomeOpen: 1))
                    }
                }
            }
        }

        @Test
        func `an auth payload that is no object is refused before anything is sent, and leaves no socket`() async throws
        {
            try await withServer(.aiohttp) { server in
                try await Bench.use { observer in
                    let observing = try await observer.socketIO(server)
                    try await Bench.use { bench in
                        let client = try await bench.socketIO(
                            server, credentials: .fixed(Credentials(auth: ["a", "list"])))
                        let reason = try await client.lost()
                        #expect(reason.isFailure)
                        #expect(reason.error?.code == .invalidConfiguration)
                        #expect(try await Self.engines(by: observing, becomeOpen: 1))
                    }
                }
            }
        }

        @Test
        func `an auth payload that is no object does not disturb the socket that others use`() async throws {
            let server = try await SharedServers.server(.aiohttp)
            try await Bench.use { bench in
                let fine = try await bench.socketIO(server)
                try await fine.connected()
                let odd = try await bench.socketIO(
                    server, "/chat", credentials: .fixed(Credentials(auth: ["a", "list"])))
                let reason = try await odd.lost()
                #expect(reason.isFailure)
                #expect(reason.error?.code == .invalidConfiguration)
                try await fine.settle()
                #expect(fine.states.entries.map(\.to) == [.connected])
            }
        }
    }
}

extension CredentialSource {
    /// A user of their own, who shows nothing but a name.
    fileprivate static func user(_ name: String) -> Self { .provider { _ in try Credentials(auth: ["name": name]) } }
}
