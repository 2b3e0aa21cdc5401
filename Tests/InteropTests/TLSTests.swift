internal import TestSupport
internal import Linkspan
internal import LinkspanNetwork
internal import LinkspanSocketIO
internal import LinkspanWebSocket
internal import Testing

extension Interop {
    /// Secure connections, and those that must not come about.
    @Suite(.overEachCarrier) struct TLSTests {
        /// Shown to servers, and to nobody else.
        private static let canary = "canary-7f3a91"

        private static func credentials() throws -> CredentialSource {
            .fixed(
                Credentials(
                    auth: try Payload(["token": Self.canary]),
                    headers: [.init("Authorization", Secret("Bearer \(Self.canary)"))],
                    query: [.init("token", Secret(Self.canary))]))
        }

        /// Connects over TLS by the transport that the server speaks.
        private static func client(
            _ bench: Bench, _ kind: ServerKind, _ server: PythonServer, trusting roots: TLSPolicy.Roots,
            pins: Set<PublicKeyPin> = []
        ) async throws -> Client {
            let tls = TLSPolicy(roots: roots, pins: pins)
            return kind == .webSocket
                ? try await bench.webSocket(
                    server, scheme: "wss", credentials: try Self.credentials(),
                    configuration: .init { $0.tls = tls })
                : try await bench.socketIO(
                    server, scheme: "https", credentials: try Self.credentials(),
                    configuration: .init { $0.tls = tls })
        }

        /// How many clients the server has heard of.
        private static func heardOf(_ kind: ServerKind, by client: Client) async throws -> Int? {
            let event = kind == .webSocket ? "requests" : "engines"
            let answer = try await client.handler.request(event, timeout: .seconds(30))
            return answer[0]?["ever"]?.int ?? answer[0]?.int
        }

        /// Everything that can be read of what happened.
        private static func text(of client: Client, _ error: LinkspanError) -> String {
            var text = "\(error) \(String(reflecting: error)) \(error.message) \(client.handler.status.url)"
            dump(client.states.entries, to: &text)
            return text
        }

        @Test(arguments: ServerKind.secure)
        func `a trusted authority lets both transports connect`(_ kind: ServerKind) async throws {
            let certificates = try await SharedServers.certificates()
            try await withServer(kind, certificates.options("good")) { server in
                try await Bench.use { bench in
                    let client = try await Self.client(bench, kind, server, trusting: .file(certificates.authority))
                    try await client.connected()
                    let answer = try await client.handler.request("whoami", timeout: .seconds(30))
                    #expect(try answer.decode([String: String].self) == ["token": Self.canary])
                }
            }
        }

        @Test(arguments: ServerKind.secure)
        func `an unknown authority is refused before anything is said`(_ kind: ServerKind) async throws {
            let certificates = try await SharedServers.certificates()
            try await withServer(kind, certificates.options("good")) { server in
                let error = try await Bench.use { bench in
                    let client = try await Self.client(bench, kind, server, trusting: .system)
                    let reason = try await client.lost()
                    #expect(reason.isFailure)
                    let error = try #require(reason.error)
                    #expect(!Self.text(of: client, error).contains(Self.canary))
                    return error
                }
                #expect(error.code == .tlsFailed)
                #expect(error.tlsFailure == .incompleteChain)
                try await Bench.use { bench in
                    let client = try await Self.client(bench, kind, server, trusting: .file(certificates.authority))
                    try await client.connected()
                    #expect(try await Self.heardOf(kind, by: client) == 1)
                }
            }
        }

        @Test(arguments: ServerKind.secure)
        func `a certificate for another host is refused before anything is said`(_ kind: ServerKind) async throws {
            let certificates = try await SharedServers.certificates()
            try await withServer(kind, certificates.options("other")) { server in
                try await Bench.use { bench in
                    let client = try await Self.client(bench, kind, server, trusting: .file(certificates.authority))
                    let reason = try await client.lost()
                    #expect(reason.isFailure)
                    let error = try #require(reason.error)
                    #expect(error.code == .tlsFailed)
                    #expect([.wrongHost, .wrongAddress].contains(error.tlsFailure))
                    #expect(!Self.text(of: client, error).contains(Self.canary))
                    #expect(client.handler.status.progress == .idle)
                }
            }
        }

        @Test(arguments: ServerKind.secure)
        func `a key that is not pinned is refused before anything is said`(_ kind: ServerKind) async throws {
            let certificates = try await SharedServers.certificates()
            let pin = try PublicKeyPin("sha256/AQIDBAUGBwgJCgsMDQ4PEBESExQVFhcYGRobHB0eHyA=")
            try await withServer(kind, certificates.options("good")) { server in
                try await Bench.use { bench in
                    let client = try await Self.client(
                        bench, kind, server, trusting: .file(certificates.authority), pins: [pin])
                    let reason = try await client.lost()
                    #expect(reason.isFailure)
                    let error = try #require(reason.error)
                    #expect(error.tlsFailure == .pinMismatch)
                    #expect(!Self.text(of: client, error).contains(Self.canary))
                }
                try await Bench.use { bench in
                    let client = try await Self.client(bench, kind, server, trusting: .file(certificates.authority))
                    try await client.connected()
                    #expect(try await Self.heardOf(kind, by: client) == 1)
                }
            }
        }

        @Test(arguments: ServerKind.secure)
        func `no error tells a secret, whatever goes wrong`(_ kind: ServerKind) async throws {
            let certificates = try await SharedServers.certificates()
            try await withServer(kind, certificates.options("good")) { server in
                try await Bench.use { bench in
                    let client = try await Self.client(bench, kind, server, trusting: .file(certificates.authority))
                    try await client.connected()
                    let request = Journal<LinkspanError>("outcome of the request")
                    try client.handler.perform(
                        Command(.request, event: "unheard of", payload: Payload(Self.canary)) {
                            if case .failure(let error) = $0 { request.append(error) }
                        })
                    // Answered behind the request, which is under way by then.
                    _ = await client.handler.commands
                    await server.stop()
                    let lost = try #require(try await client.lost().error)
                    let failed = try await request.first(1)[0]
                    for error in [lost, failed] {
                        #expect(!Self.text(of: client, error).contains(Self.canary))
                    }
                }
            }
        }
    }
}
