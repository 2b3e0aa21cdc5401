internal import LinkspanRuntime
internal import LinkspanTesting
internal import Testing

@testable internal import Linkspan

@Suite("Credentials that name a URL", .timeLimit(.minutes(1)))
struct CredentialURLTests {
    private struct AnyScheme: Transport {
        let name = "any"
        let schemes: Set<String> = ["http", "https", "ws", "wss", "foo", "foos"]
        let executor: any JobExecutor = TestExecutor()

        func makeLink(_ request: LinkRequest, receiver: any LinkReceiver) -> any Link {
            InstantTransport().makeLink(request, receiver: receiver)
        }
    }

    private func endpoint(_ url: String, insteadOf configured: String) throws -> ConnectionURL {
        try Credentials(url: try ConnectionURL(url))
            .endpoint(insteadOf: try ConnectionURL(configured), over: AnyScheme())
    }

    @Test
    func `the attempt goes there, and the connection keeps its configured URL`() throws {
        let url = try ConnectionURL("scripted://eu.server/lobby?signature=1")
        let harness = try Harness(credentials: .fixed(Credentials(url: url))) { _ in .perfect }
        try harness.connection.connect()
        harness.scheduler.settle()
        #expect(harness.peers.map(\.request.url) == [url])
        #expect(harness.connection.status.url.text == "scripted://server/")
        #expect(harness.connection.status.url.description == "scripted://server/")
    }

    @Test
    func `each attempt may go elsewhere`() async throws {
        let provider = GatedProvider()
        let harness = try Harness(credentials: .provider { try await provider.credentials(for: $0) }) { number in
            number == 1 ? .refusing(.lost) : .perfect
        }
        try harness.connection.connect()
        for call in 1...2 {
            try await provider.called(call, harness.scheduler)
            provider.answer(call, Credentials(url: try ConnectionURL("scripted://server\(call)")))
            try await eventually("attempt \(call)", harness.scheduler) {
                harness.recorder.changes.last?.attempt == call
            }
            if call == 1 { harness.scheduler.advance(by: .seconds(2)) }
        }
        #expect(harness.peers.map(\.request.url.host) == ["server1", "server2"])
        #expect(provider.requests.map(\.url.host) == ["server", "server"])
    }

    @Test(
        arguments: [
            ("ws://a/", "ws://b/"), ("http://a/", "ws://b/"), ("ws://a/", "http://b/"), ("ws://a/", "wss://b/"),
            ("foo://a/", "https://b/"), ("wss://a/", "https://b/"), ("foo://a/", "foo://b/"),
            ("foos://a/", "foos://b/"),
        ])
    func `a scheme that protects as much will do`(configured: String, url: String) throws {
        #expect(try self.endpoint(url, insteadOf: configured).text == url)
    }

    @Test(
        arguments: [
            ("wss://a/", "ws://a/"), ("https://a/", "http://b/"), ("wss://a/", "http://b/"), ("foos://a/", "foo://a/"),
            ("wss://a/", "foo://a/"), ("foo://a/", "ws://a/"), ("wss://a/", "ftp://a/"),
        ])
    func `a scheme that may protect less will not`(configured: String, url: String) throws {
        let error = #expect(throws: LinkspanError.self) { try self.endpoint(url, insteadOf: configured) }
        #expect(error?.code == .invalidURL)
        #expect(error?.isPermanent == true)
    }

    @Test
    func `a provider that names one that will not do ends the attempts, and says why`() async throws {
        let provider = GatedProvider()
        let harness = try Harness(credentials: .provider { try await provider.credentials(for: $0) }) { _ in .perfect }
        try harness.connection.connect()
        try await provider.called(1, harness.scheduler)
        provider.answer(1, Credentials(url: try ConnectionURL("ftp://server?secret=canary-7f3a")))
        try await eventually("the end", harness.scheduler) { harness.recorder.changes.count == 1 }
        harness.scheduler.advance(by: .seconds(600))
        #expect(harness.peers.isEmpty)
        #expect(harness.recorder.changes.last?.reason.error?.code == .invalidURL)
        let text = harness.connection.status.description
        #expect(text.contains("the credentials name a URL with scheme 'ftp'"))
        #expect(!text.contains("canary-7f3a"))
    }

    @Test
    func `fixed ones that will not do are refused by the builder`() throws {
        let credentials = Credentials(url: try ConnectionURL("ws://server"))
        let error = #expect(throws: LinkspanError.self) {
            try ConnectionBuilder("wss://server").transport(AnyScheme()).credentials(.fixed(credentials)).build()
        }
        #expect(error?.code == .invalidURL)
    }
}

@Suite
struct ConcealingTests {
    private static let secret = "s3cr\"et-of-ann"

    private static func credentials(_ configure: (inout Credentials) throws -> Void) rethrows -> Credentials {
        var credentials = Credentials()
        try configure(&credentials)
        return credentials
    }

    @Test func `every kind of credentials is left out of a server's text`() throws {
        let kinds = [
            try Credentials(auth: ["a": ["token": Self.secret]]), try Credentials(auth: Self.secret),
            Self.credentials { $0.headers = [.init("Authorization", Secret("Bearer \(Self.secret)"))] },
            Self.credentials { $0.query = [.init("key", Secret(Self.secret))] },
        ]
        for credentials in kinds {
            #expect(credentials.concealed(in: "no user \(Self.secret)!") == "no user <redacted>!")
        }
    }

    @Test func `tokens in the queries of both URLs are left out`() throws {
        let credentials = try Self.credentials { $0.url = try ConnectionURL("ws://a/?signature=0123456789") }
        #expect(
            credentials.concealed(in: "0123456789 and abcdefgh", query: "x=abcdefgh&y=1") == "<redacted> and <redacted>"
        )
    }

    @Test func `short values and names of members stay`() throws {
        let credentials = try Credentials(auth: ["credential": "ann"])
        #expect(credentials.concealed(in: "credential of ann") == "credential of ann")
    }

    @Test(arguments: ["…", ""])
    func `a secret is left out of a text that was cut inside it`(ellipsis: String) throws {
        let token = String(repeating: "secret", count: 60)
        let credentials = Self.credentials {
            $0.headers = [.init("A", Secret("Bearer \(token)")), .init("B", "secretsecret")]
        }
        for length in [8, 100, 185] {
            let text = "invalid token \(token.prefix(length))\(ellipsis)"
            #expect(credentials.concealed(in: text) == "invalid token <redacted>\(ellipsis)", "\(length)")
        }
        #expect(credentials.concealed(in: "a secret\(ellipsis) b") == "a secret\(ellipsis) b")
    }

    @Test func `of a value and a part of it the whole is left out`() throws {
        let credentials = Self.credentials {
            $0.headers = [.init("A", "part-of-it"), .init("B", "part-of-it-and-more")]
        }
        #expect(credentials.concealed(in: "<part-of-it-and-more>") == "<<redacted>>")
    }
}
