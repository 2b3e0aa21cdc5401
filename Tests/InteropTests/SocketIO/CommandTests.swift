internal import TestSupport
internal import Linkspan
internal import Testing

extension Interop {
    /// Commands that end otherwise than by an answer.
    @Suite(.overEachWire) struct CommandTests {
        @Test
        func `a volatile event is sent while connected, and dropped otherwise`() async throws {
            try await withServer(.aiohttp) { server in
                try await Bench.use { bench in
                    let client = try await bench.socketIO(server)
                    let outcomes = Journal<LinkspanError.Code?>("outcomes of volatile events")
                    func send(_ text: String) throws {
                        try client.handler.perform(
                            Command(.send, event: "echo", payload: Payload(text), isVolatile: true) { outcome in
                                if case .failure(let error) = outcome {
                                    #expect(error.certainty == .notSent)
                                    outcomes.append(error.code)
                                } else {
                                    outcomes.append(nil)
                                }
                            })
                    }
                    try await client.connected()
                    try await client.settle()
                    try send("now")
                    #expect(try await client.values("echo", as: String.self) == ["now"])
                    await server.stop()
                    try await client.lost()
                    try send("never")
                    #expect(try await outcomes.first(2) == [nil, .cancelled])
                    try await server.start()
                    try await client.connected(times: 2)
                    try await client.settle()
                    #expect(client.messages.entries.count == 1)
                }
            }
        }

        @Test
        func `cancelling the task of a request gives it up`() async throws {
            let server = try await SharedServers.server(.aiohttp)
            try await Bench.use { bench in
                let client = try await bench.socketIO(server)
                try await client.connected()
                let handler = client.handler
                let code = await withTaskGroup(of: LinkspanError.Code?.self) { group in
                    group.addTask {
                        do throws(LinkspanError) {
                            _ = try await handler.request("unheard of")
                            return nil
                        } catch {
                            return error.code
                        }
                    }
                    group.cancelAll()
                    return await group.next() ?? nil
                }
                #expect(code == .cancelled)
                try await client.settle()
            }
        }

        @Test
        func `cancelling a request that was sent says that the server may have it`() async throws {
            let server = try await SharedServers.server(.aiohttp)
            try await Bench.use { bench in
                let client = try await bench.socketIO(server)
                try await client.connected()
                let outcome = Journal<LinkspanError>("outcome of the request")
                let command = try Command(.request, event: "unheard of", payload: Payload("x")) {
                    if case .failure(let error) = $0 { outcome.append(error) }
                }
                try client.handler.perform(command)
                try await client.settle()
                client.handler.cancel(command.id)
                let error = try await outcome.first(1)[0]
                #expect(error.code == .cancelled)
                #expect(error.certainty == .unknown)
            }
        }

        @Test(arguments: ServerKind.asyncio)
        func `a request that is not answered ends with its time`(_ kind: ServerKind) async throws {
            let server = try await SharedServers.server(kind)
            try await Bench.use { bench in
                let client = try await bench.socketIO(server)
                try await client.connected()
                let error = await #expect(throws: LinkspanError.self) {
                    try await client.handler.request("unheard of", timeout: .milliseconds(200))
                }
                #expect(error?.code == .timedOut)
                #expect(error?.certainty == .unknown)
                #expect(client.states.entries.map(\.to) == [.connected])
            }
        }

        @Test
        func `a request that cannot be sent in time was not sent`() async throws {
            try await withServer(.aiohttp) { server in
                await server.stop()
                try await Bench.use { bench in
                    let client = try await bench.socketIO(server)
                    let error = await #expect(throws: LinkspanError.self) {
                        try await client.handler.request("req", timeout: .milliseconds(200))
                    }
                    #expect(error?.code == .timedOut)
                    #expect(error?.certainty == .notSent)
                    // The event that was given up does not come later.
                    try await server.start()
                    try await client.settle()
                    #expect(client.messages.entries.isEmpty)
                }
            }
        }
    }
}
