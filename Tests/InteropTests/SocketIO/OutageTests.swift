internal import Foundation
internal import Linkspan
internal import Testing
internal import TestSupport

extension Interop {
    /// Servers that die, hang and come back, and what becomes of commands meanwhile.
    @Suite(.overEachWire) struct OutageTests {
        private static let quickHeartbeat = ["--ping-interval", "1", "--ping-timeout", "1"]

        @Test(arguments: ServerKind.socketIO)
        func `a session that the server closes is replaced`(_ kind: ServerKind) async throws {
            let server = try await SharedServers.server(kind)
            try await Bench.use { bench in
                let client = try await bench.socketIO(server)
                let first = try await client.connected()
                try client.handler.send("kill_engine")
                let reason = try await client.lost()
                #expect(reason.isLoss)
                #expect(reason.error?.code == .connectionLost)
                let second = try await client.connected(times: 2)
                #expect(first.sessionID != second.sessionID)
                try await client.settle()
            }
        }

        @Test(arguments: ServerKind.asyncio)
        func `after a crash, what was sent meanwhile arrives in order`(_ kind: ServerKind) async throws {
            try await withServer(kind) { server in
                try await Bench.use { bench in
                    try await bench.socketIO(server).expectOrder(afterCrashOf: server)
                }
            }
        }

        @Test(arguments: ServerKind.asyncio)
        func `a crash in the middle fails requests as uncertain and repeats deliveries`(_ kind: ServerKind) async throws
        {
            try await withServer(kind) { server in
                try await Bench.use { bench in
                    let client = try await bench.socketIO(server)
                    try await client.settle()
                    // A server that hangs takes the bytes and answers nothing.
                    server.pause()
                    let request = Journal<Result<Payload, LinkspanError>>("outcome of the request")
                    let delivery = Journal<Result<Payload, LinkspanError>>("outcome of the delivery")
                    try client.handler.perform(
                        Command(.request, event: "req", payload: Payload("once")) { request.append($0) })
                    try client.handler.perform(
                        Command(.deliver(orderingKey: "room"), event: "req", payload: Payload("surely")) {
                            delivery.append($0)
                        })
                    // Over polling the last POST may be unanswered; then the link has taken neither, and both wait.
                    let wasTaken = await client.handler.commands.first?.stage == .underWay
                    await server.stop()
                    if wasTaken {
                        let failure = try await request.first(1)[0]
                        let error = #expect(throws: LinkspanError.self) { try failure.get() }
                        #expect(error?.code == .disconnected)
                        #expect(error?.certainty == .unknown)
                    }
                    #expect(delivery.entries.isEmpty)
                    try await server.start()
                    if !wasTaken { #expect(try await request.first(1)[0].get().decode(String.self) == "once") }
                    #expect(try await delivery.first(1)[0].get().decode(String.self) == "surely")
                }
            }
        }

        @Test
        func `through three crashes no event is sent twice`() async throws {
            try await withServer(.aiohttp) { server in
                try await Bench.use { bench in
                    let client = try await bench.socketIO(server)
                    var number = 0
                    for crash in 1...3 {
                        try await client.connected(times: crash)
                        for _ in 0..<200 {
                            try client.handler.send("echo", number)
                            number += 1
                        }
                        // Somewhere in the middle of it.
                        try await client.received("echo")
                        await server.stop()
                        for _ in 0..<50 {
                            try client.handler.send("echo", number)
                            number += 1
                        }
                        try await server.start()
                    }
                    try await client.connected(times: 4)
                    try await client.settle()
                    let echoes = try client.messages.entries.filter { $0.event == "echo" }.map {
                        try $0.decode(Int.self)
                    }
                    #expect(Set(echoes).count == echoes.count)
                    #expect(echoes == echoes.sorted())
                }
            }
        }

        @Test
        func `a server that hangs is left after its heartbeat is missed, and found again`() async throws {
            try await withServers(ServerKind.asyncio, Self.quickHeartbeat) { kind, server in
                try await Bench.use { bench in
                    let client = try await bench.socketIO(server) { $0.openDeadline = .seconds(5) }
                    try await client.settle()
                    server.pause()
                    let reason = try await client.lost()
                    #expect(reason.isLoss, "\(kind)")
                    #expect(reason.error?.code == .heartbeatMissed, "\(kind)")
                    server.resume()
                    try await client.connected(times: 2)
                    try await client.settle()
                }
            }
        }

        @Test
        func `a quiet connection outlives many heartbeats`() async throws {
            try await withServers(ServerKind.socketIO, Self.quickHeartbeat) { kind, server in
                try await Bench.use { bench in
                    let client = try await bench.socketIO(server)
                    try await client.connected()
                    // A request that nobody answers: its time passes without any traffic but the heartbeat.
                    await #expect(throws: LinkspanError.self) {
                        try await client.handler.request("unheard of", timeout: .seconds(3))
                    }
                    try await client.settle()
                    #expect(client.states.entries.map(\.to) == [.connected], "\(kind)")
                }
            }
        }

        @Test
        func `a server that starts late is found`() async throws {
            try await withServer(.aiohttp) { server in
                await server.stop()
                try await Bench.use { bench in
                    let client = try await bench.socketIO(server)
                    try client.handler.send("echo", "early bird")
                    #expect(try await client.lost().error?.code == .connectionLost)
                    try await server.start()
                    #expect(try await client.values("echo", as: String.self) == ["early bird"])
                }
            }
        }
    }
}

extension Interop {
    /// When silence is the end.
    @Suite(.overBackEnds) struct LivenessTests {
        @Test
        func `whatever comes proves that the server lives, a part of a message included, and silence is the end`()
            async throws
        {
            let server = PythonServer("hostile_server.py", ["--attack", "speaking-without-pings"])
            try await server.start()
            try await Bench.use { bench in
                let client = try await bench.socketIO(server) { $0.retry = .never }
                try await client.messages.entries { $0.contains { $0.event == "slow" } }
                #expect(client.states.entries.map(\.to) == [.connected])
                try await server.says("limit")
                let states = try await client.states.first(2)
                #expect(states[1].reason.error?.code == .heartbeatMissed)
            }
            await server.stop()
        }
    }
}
