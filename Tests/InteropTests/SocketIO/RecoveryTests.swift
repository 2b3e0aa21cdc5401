internal import Foundation
internal import Linkspan
#if OUTBOX
internal import LinkspanOutbox
#endif
internal import LinkspanSocketIO
internal import TestSupport
internal import Testing

extension Interop {
    /// Sessions that go on over another link, against a server that does what the reference does.
    @Suite(.overEachWire) struct RecoveryTests {
        /// Runs a test against the shared server, whose sessions stay apart.
        private static func use(_ body: (PythonServer, Bench) async throws -> Void) async throws {
            let server = try await SharedServers.server(.recovery)
            try await Bench.use { bench in try await body(server, bench) }
        }

        @Test
        func `missed messages arrive once, in order, and no gap is reported`() async throws {
            try await Self.use { server, bench in
                let client = try await bench.socketIO(server)
                let first = try await client.connected()
                #expect(!first.isContinuous)
                try client.handler.send("say", 1)
                try await client.received("said")
                try client.handler.send("cut", 2, 5)
                let second = try await client.connected(times: 2)
                #expect(second.isContinuous)
                #expect(second.sessionID == first.sessionID)
                let link = try #require(client.handler.status.link)
                #expect(link.sessionID == first.sessionID)
                #expect(link.isContinuous)
                #expect(Wire.current.carrierNames.contains(link.facts["carrier"] ?? ""))
                try client.handler.send("say", 7)
                #expect(try await client.values("said", count: 7, as: Int.self) == Array(1...7))
            }
        }

        @Test(.overEachCarrier)
        func `what was lost with the answer to a poll is replayed, though the server took the session for alive`()
            async throws
        {
            guard Wire.current.carriers == .polling else { return }
            try await Self.use { server, bench in
                let client = try await bench.socketIO(server)
                let first = try await client.connected()
                try client.handler.send("say", 1)
                try await client.received("said")
                for round in 1...5 {
                    try client.handler.send("swallow", 2 * round, 2)
                    let next = try await client.connected(times: round + 1)
                    #expect(next.isContinuous && next.sessionID == first.sessionID)
                    let numbers = try await client.values("said", count: 2 * round + 1, as: Int.self)
                    #expect(numbers == Array(1...(2 * round + 1)))
                }
            }
        }

        @Test
        func `a volatile event that ends in a text does not spoil the recovery (S44)`() async throws {
            try await Self.use { server, bench in
                let client = try await bench.socketIO(server)
                try await client.connected()
                try client.handler.send("say", 1)
                try client.handler.send("say", 2)
                try client.handler.send("mutter", "vvv")
                try client.handler.send("mutter", "Welcome")
                try await client.received("muttered", count: 2)
                try client.handler.send("cut", 3, 1)
                #expect(try await client.connected(times: 2).isContinuous)
                #expect(try await client.values("said", count: 3, as: Int.self) == [1, 2, 3])
            }
        }

        @Test
        func `without an event there is nothing to resume from, and a gap is reported (S43)`() async throws {
            try await Self.use { server, bench in
                let client = try await bench.socketIO(server)
                let first = try await client.connected()
                #expect(client.handler.status.resumption == nil)
                try client.handler.send("cut", 1, 1)
                let second = try await client.connected(times: 2)
                #expect(!second.isContinuous)
                #expect(second.sessionID != first.sessionID)
            }
        }

        @Test
        func `the next user resumes nothing of the one before, beside them or after a move`() async throws {
            try await Self.use { server, bench in
                let user = { (name: String) in CredentialSource.provider { _ in try Credentials(auth: ["name": name]) }
                }
                let client = try await bench.socketIO(server, credentials: user("ann"))
                let first = try await client.connected()
                try client.handler.send("say", 1)
                try await client.received("said")
                #expect(client.handler.status.resumption != nil)
                let beside = try await bench.socketIO(server, credentials: user("bob"))
                let second = try await beside.connected()
                #expect(second.sessionID != first.sessionID && !second.isContinuous)

                let transport = SocketIOTransport(
                    .init {
                        $0.carriers = Wire.current.carriers
                        if server.isSecure { $0.tls = server.tls }
                    }, loop: bench.loop)
                let next = try ConnectionBuilder("\(client.handler.status.url)").transport(transport)
                    .credentials(user("cid")).build()
                try bench.manager.move(client.handler, to: next)
                let third = try await client.connected(times: 2)
                #expect(third.sessionID != first.sessionID && !third.isContinuous)
                #expect(client.handler.status.resumption == nil)
            }
        }

        @Test
        func `a server that has forgotten begins anew, and the next loss is resumed again`() async throws {
            try await withServer(.recovery) { server in
                try await Bench.use { bench in
                    let client = try await bench.socketIO(server)
                    try await client.connected()
                    try client.handler.send("say", 1)
                    try await client.received("said")
                    try await server.restart()
                    #expect(try await !client.connected(times: 2).isContinuous)
                    try client.handler.send("say", 2)
                    try await client.received("said", count: 2)
                    try client.handler.send("cut", 3, 1)
                    #expect(try await client.connected(times: 3).isContinuous)
                    #expect(try await client.values("said", count: 3, as: Int.self) == [1, 2, 3])
                }
            }
        }

        @Test
        func `another process goes on with what the first one exported`() async throws {
            try await Self.use { server, bench in
                let client = try await bench.socketIO(server)
                let first = try await client.connected()
                try client.handler.send("say", 1)
                try await client.received("said")
                let exported = try #require(client.handler.status.resumption?.exposed)
                // The first process dies: its link is given up without a word.
                try await Bench.use { other in
                    try client.handler.send("cut", 2, 2)
                    try await client.lost()
                    try client.handler.disconnect()
                    let resumption = Secret(exported)
                    let second = try await other.socketIO(server, resuming: resumption)
                    let info = try await second.connected()
                    #expect(info.isContinuous)
                    #expect(info.sessionID == first.sessionID)
                    #expect(try await second.values("said", count: 2, as: Int.self) == [2, 3])
                }
            }
        }

        #if OUTBOX
        @Test
        func `a killed process is offered what it had recorded and not handled, and then what it missed, each once`()
            async throws
        {
            try await Self.use { server, bench in
                let (former, next) = (try Folder(), try Folder())
                let outbox = Outbox(path: former.outbox)
                let client = try await bench.socketIO(server) { $0.store = outbox }
                let first = try await client.connected()
                try outbox.record("said", of: client.handler)
                try client.handler.send("say", 1)
                for try await entry in outbox.received() {
                    #expect(entry.number == 1)
                    break
                }
                // What a process leaves that dies here.
                for file in former.files where !file.hasSuffix("-shm") && !file.hasSuffix("-lock") {
                    try FileManager.default.copyItem(
                        atPath: "\(former.path)/\(file)", toPath: "\(next.path)/\(file)")
                }
                try client.handler.send("cut", 2, 2)
                try await client.lost()
                try client.handler.disconnect()
                try await Bench.use { other in
                    let outbox = Outbox(path: next.outbox)
                    let second = try await other.socketIO(server) { $0.store = outbox }
                    try outbox.record("said", of: second.handler)
                    let info = try await second.connected()
                    #expect(info.isContinuous)
                    #expect(info.sessionID == first.sessionID)
                    var numbers: [Int?] = []
                    for try await entry in outbox.received() {
                        numbers.append(entry.number)
                        try await outbox.confirm(entry)
                        if numbers.count == 3 { break }
                    }
                    #expect(numbers == [1, 2, 3])
                    await other.manager.shutdown()
                    await outbox.close()
                }
                await outbox.close()
            }
        }
        #endif

        @Test
        func `a deliberate disconnect starts a new session (S45)`() async throws {
            try await Self.use { server, bench in
                let client = try await bench.socketIO(server)
                try await client.connected()
                try client.handler.send("say", 1)
                try await client.received("said")
                try client.handler.disconnect()
                #expect(client.handler.status.resumption == nil)
                try client.handler.connect()
                #expect(try await !client.connected(times: 2).isContinuous)
            }
        }
    }
}

#if OUTBOX
extension ReceivedEntry {
    /// The first argument of the message; nil for a gap.
    fileprivate var number: Int? {
        if case .message(let message) = self.item { message.payload[0]?.int } else { nil }
    }
}
#endif
