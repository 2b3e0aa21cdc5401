internal import Foundation
internal import Linkspan
internal import LinkspanDevServer
internal import LinkspanInMemory
internal import LinkspanSocketIO
internal import LinkspanTesting
internal import TestSupport
internal import Testing

@Suite("The fault proxy", .timeLimit(.minutes(1)))
struct FaultProxyTests {
    private func withServer(_ body: (DevServer) async throws -> Void) async throws {
        let hub = InMemoryHub()
        hub.onConnect { peer in peer.on("echo") { message in message.reply(message.payload) } }
        let server = DevServer(hub: hub)
        try await server.start()
        try await body(server)
        await server.stop()
    }

    private let request = "GET /nothing HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"

    /// What comes of a request through the proxy, up to the end.
    private func answer(_ proxy: FaultProxy) throws -> [UInt8] {
        let client = try RawClient(port: proxy.port)
        client.write(self.request)
        return try #require(client.readToEnd())
    }

    @Test
    func `bytes pass unchanged, are cut at the byte, and change in the same places for one seed`() async throws {
        try await self.withServer { server in
            let plain = try FaultProxy(to: "localhost", port: server.port, profile: .init())
            let whole = try self.answer(plain)
            #expect(String(decoding: whole, as: UTF8.self).hasPrefix("HTTP/1.1 404"))
            try await eventually("the bytes in both directions") {
                plain.statistics.bytes == whole.count + self.request.utf8.count
            }
            for ending in [FaultProfile.Ending.close, .reset] {
                let cutter = try FaultProxy(to: "127.0.0.1", port: server.port) {
                    ($0.cut, $0.from, $0.ending) = (17, .server, ending)
                }
                let answer = try self.answer(cutter)
                // A reset may overtake what was sent before it.
                #expect(ending == .reset ? whole.starts(with: answer) : answer == Array(whole.prefix(17)))
                try await eventually("the end by the profile") { cutter.statistics.ended == 1 }
            }
            var changed: Set<[UInt8]> = []
            for seed: UInt64 in [7, 7, 8] {
                let corrupter = try FaultProxy(to: "127.0.0.1", port: server.port, seed: seed) {
                    ($0.corruption, $0.from) = (0.1, .server)
                }
                changed.insert(try self.answer(corrupter))
            }
            #expect(changed.count == 2 && !changed.contains(whole))
        }
    }

    @Test
    func `a delay takes its time`() async throws {
        try await self.withServer { server in
            let proxy = try FaultProxy(to: "127.0.0.1", port: server.port) { $0.delay = .milliseconds(60) }
            let start = ContinuousClock.now
            #expect(try !self.answer(proxy).isEmpty)
            #expect(ContinuousClock.now - start >= .milliseconds(120))
        }
    }

    @Test
    func `a connection comes back after a reset, and notices one that is half open by its pings`() async throws {
        try await self.withServer { server in
            let manager = ConnectionManager(options: .init { $0.attempts.spacing = .milliseconds(50) })
            let proxy = try FaultProxy(to: "127.0.0.1", port: server.port, profile: .init())
            let connection = try ConnectionBuilder("http://127.0.0.1:\(proxy.port)")
                .transport(.socketIO).options { $0.openDeadline = .seconds(5) }.connect(by: manager)
            let lost = Journal<ConnectionState>("losses")
            connection.onStateChange { if $0.from == .connected { lost.append($0.to) } }
            #expect(try await connection.request("echo", 1, timeout: .seconds(10)).decode(Int.self) == 1)
            proxy.use(.init { ($0.cut, $0.ending) = (0, .reset) })
            // What is sent before the loss is noticed ends with it.
            try await lost.first(1)
            proxy.use(.init())
            #expect(try await connection.request("echo", 2, timeout: .seconds(20)).decode(Int.self) == 2)
            proxy.use(.init { ($0.cut, $0.ending) = (0, .halfOpen) })
            await #expect(throws: LinkspanError.self) {
                try await connection.request("echo", 3, timeout: .milliseconds(300))
            }
            #expect(connection.state == .connected)
            connection.release()
            await proxy.stop()
        }
    }

    @Test
    func `a stopped proxy gives its port back, and a bad target is an error that names it`() async throws {
        try await self.withServer { server in
            let first = try FaultProxy(to: "127.0.0.1", port: server.port, profile: .init())
            let (client, port) = (try RawClient(port: first.port), first.port)
            await first.stop()
            #expect(client.readToEnd() == [])
            let second = try FaultProxy(to: "127.0.0.1", port: server.port, port: port, profile: .init())
            #expect(second.port == port)
            let taken = #expect(throws: LinkspanError.self) {
                try FaultProxy(to: "127.0.0.1", port: server.port, port: port, profile: .init())
            }
            #expect(taken?.message.contains("127.0.0.1:\(port)") == true)
            let absent = #expect(throws: LinkspanError.self) {
                try FaultProxy(to: "127.0.0.1", port: 70_000, profile: .init())
            }
            #expect(absent?.message == "127.0.0.1:70000 is not the address of a host and a port")
        }
    }

    @Test
    func `a profile is read from a file, and a mistake in it is named`() throws {
        let text = """
            {"phases": [{"delay": 0.04, "jitter": 0.02, "loss": 0.01, "rate": 65536},
                {"at": 30, "cut": 0, "ending": "reset", "from": "server"}, {"at": 45, "drops": 0.1, "corruption": 0.5}]}
            """
        let decoder = JSONDecoder()
        #expect(
            try decoder.decode(FaultProfile.self, from: Data(text.utf8))
                == FaultProfile([
                    .init {
                        ($0.delay, $0.jitter) = (.milliseconds(40), .milliseconds(20))
                        ($0.loss, $0.rate) = (0.01, 65_536)
                    },
                    .init(at: .seconds(30)) { ($0.cut, $0.ending, $0.from) = (0, .reset, .server) },
                    .init(at: .seconds(45)) { ($0.drops, $0.corruption) = (0.1, 0.5) },
                ]))
        for (text, word) in [
            (#"{"phases":[{"dellay":1}]}"#, "'dellay' is none of at, from, delay"),
            (#"{"phases":[{"loss":2}]}"#, "loss has to be from 0.0 to 1.0, not 2.0"),
        ] {
            let error = #expect(throws: DecodingError.self) {
                try decoder.decode(FaultProfile.self, from: Data(text.utf8))
            }
            #expect("\(error as Any)".contains(word))
        }
    }
}
