internal import TestSupport
internal import Linkspan
internal import Testing

extension Interop {
    /// What servers get to know of who connects, and what follows when they do not like it.
    @Suite(.overEachWire) struct CredentialTests {
        @Test(arguments: ServerKind.asyncio)
        func `each attempt shows the auth payload that was made for it`(_ kind: ServerKind) async throws {
            let server = try await SharedServers.server(kind)
            let requests = Journal<CredentialRequest.Reason>("credential requests")
            try await Bench.use { bench in
                let client = try await bench.socketIO(
                    server,
                    credentials: .provider { request in
                        requests.append(request.reason)
                        return try Credentials(auth: ["attempt": requests.entries.count])
                    })
                for attempt in 1...3 {
                    try await client.connected(times: attempt)
                    let answer = try await client.handler.request("whoami", timeout: .seconds(30))
                    #expect(try answer.decode([String: Int].self) == ["attempt": attempt])
                    guard attempt < 3 else { break }
                    try client.handler.send("kill_engine")
                    #expect(try await client.lost(times: attempt).isLoss)
                }
                #expect(requests.entries == [.first, .retry, .retry])
            }
        }

        @Test(arguments: ServerKind.socketIO)
        func `a refusal carries its data, and is final after one renewal`(_ kind: ServerKind) async throws {
            struct Details: Decodable, Equatable {
                struct Data: Decodable, Equatable {
                    var code: Int
                    var reason: String
                }
                var message: String
                var data: Data
            }
            let server = try await SharedServers.server(kind)
            let requests = Journal<CredentialRequest.Reason>("credential requests")
            try await Bench.use { bench in
                let client = try await bench.socketIO(
                    server, "/auth",
                    credentials: .provider { request in
                        requests.append(request.reason)
                        return try Credentials(auth: ["token": "bad"])
                    })
                let end = try await client.states.first {
                    if case .failed = $0.reason { true } else { false }
                }
                let error = try #require(end.reason.error)
                #expect(error.code == .credentialsRefused)
                let details = try #require(error.details).decode(Details.self)
                #expect(details == Details(message: "unauthorized", data: .init(code: 401, reason: "bad token")))
                #expect(requests.entries == [.first, .refused])
                #expect(client.states.entries.map(\.to) == [.disconnected, .reconnecting, .disconnected])
                #expect(client.handler.status.progress == .idle)
            }
        }

        @Test(arguments: ServerKind.asyncio)
        func `renewed credentials are accepted after a refusal`(_ kind: ServerKind) async throws {
            let server = try await SharedServers.server(kind)
            try await Bench.use { bench in
                let client = try await bench.socketIO(
                    server, "/auth",
                    credentials: .provider { request in
                        try Credentials(auth: ["token": request.reason == .refused ? "good" : "bad"])
                    })
                try await client.connected()
                let answer = try await client.handler.request("whoami", timeout: .seconds(30))
                #expect(try answer.decode([String: String].self) == ["token": "good"])
            }
        }

        @Test
        func `fixed credentials that are refused are not tried again`() async throws {
            let server = try await SharedServers.server(.aiohttp)
            try await Bench.use { bench in
                let client = try await bench.socketIO(
                    server, "/auth", credentials: .fixed(Credentials(auth: ["token": "bad"])))
                let reason = try await client.lost()
                #expect(reason.isFailure)
                #expect(reason.error?.code == .credentialsRefused)
                #expect(client.handler.status.progress == .idle)
            }
        }

        @Test
        func `a refused namespace does not disturb another on the same socket`() async throws {
            let server = try await SharedServers.server(.aiohttp)
            try await Bench.use { bench in
                let fine = try await bench.socketIO(server)
                try await fine.connected()
                let refused = try await bench.socketIO(server, "/auth")
                #expect(try await refused.lost().isFailure)
                try await fine.settle()
                #expect(fine.states.entries.map(\.to) == [.connected])
            }
        }
    }
}
