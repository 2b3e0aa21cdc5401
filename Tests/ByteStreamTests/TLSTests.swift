import Foundation
import LinkspanNetwork
import LinkspanRuntime
import TestedBackEnds
import Testing

@Suite("A secure stream", .timeLimit(.minutes(1)), .overEachBackEnd)
struct TLSTests {
    private let certificates: Certificates

    init() async throws { self.certificates = try await blocking { try Certificates() } }

    private func withTLSServer<Result>(
        _ certificate: String, address: String = "127.0.0.1", maximum: String = "TLSv1_3",
        answer: String = Peer.upgraded, piece: Int = 16_384, _ body: (TLSServer) async throws -> Result
    ) async throws -> Result {
        let certificates = self.certificates
        let server = try await blocking {
            try TLSServer(
                certificates, certificate: certificate, address: address, maximum: maximum, answer: answer,
                piece: piece)
        }
        defer { server.stop() }
        return try await body(server)
    }

    private func request(_ server: TLSServer, host: String = "localhost", roots: TLSPolicy.Roots? = nil)
        -> StreamRequest
    {
        let roots = roots ?? .file(self.certificates.authority)
        return StreamRequest(
            host: host, port: server.port, isSecure: true, target: "/?token=secret",
            headers: [("Authorization", "Bearer secret")], tls: TLSPolicy(roots: roots))
    }

    /// Resolves every name to the IPv4 loopback, so that a test's server is reached by any name.
    private func makeLoop() -> any NetworkLoop {
        TestedBackEnds.makeLoop(name: "test", resolver: Resolver { _, _ in .success(["127.0.0.1"]) })
    }

    private func ending(_ request: StreamRequest) async throws -> ByteStreamError {
        try await withLoop(self.makeLoop()) { loop in
            let recorder = Recorder()
            _ = recorder.connect(request, on: loop)
            let error = await recorder.ending()
            #expect(!error.description.contains("secret"))
            return error
        }
    }

    @Test(arguments: [
        "localhost", "127.0.0.1",
    ])
    func `connects to a server vouched for by the given file, over HTTP/1.1 and TLS 1.3`(host: String) async throws {
        try await self.withTLSServer("good") { server in
            try await withLoop(self.makeLoop()) { loop in
                let recorder = Recorder()
                let stream = recorder.connect(self.request(server, host: host), on: loop)
                _ = try await recorder.opening()
                stream.write { $0 += "hello".utf8 }
                let bytes = try await recorder.bytes(5)
                #expect(bytes == Array("hello".utf8))
                stream.finish()
                #expect(await recorder.ending().code == .closedByUs)
            }
            let report = try await server.report()
            #expect(report.version == "TLSv1.3")
            #expect(report.alpn == "http/1.1")
            #expect(report.name == (host == "localhost" ? host : "none"))
        }
    }

    @Test
    func `carries 16 MiB both ways intact, with pauses in between`() async throws {
        try await self.withTLSServer("good") { server in
            try await withLoop(self.makeLoop()) { loop in
                let size = 16 << 20
                let sent = pattern(size)
                let recorder = Recorder()
                let stream = recorder.connect(self.request(server), on: loop)
                _ = try await recorder.opening()
                stream.write { $0 += sent }
                var bytes: [UInt8] = []
                while bytes.count < size {
                    bytes += try await recorder.bytes(min(1 << 20, size - bytes.count))
                    stream.setReadingPaused(true)
                    await hop(loop)
                    stream.setReadingPaused(false)
                }
                #expect(bytes == sent)
                stream.abort()
            }
        }
    }

    @Test(arguments: InterimAnswerTests.interim, InterimAnswerTests.pieces)
    func `skips answers with 1xx before an upgrade and before a refusal`(_ interim: String, _ piece: Int) async throws {
        try await self.withTLSServer("good", answer: interim + Peer.upgraded + "behind", piece: piece) { server in
            try await withLoop(self.makeLoop()) { loop in
                try await InterimAnswerTests.expectUpgrade(self.request(server), on: loop)
            }
        }
        let refusal = "HTTP/1.1 503 Busy\r\nRetry-After: 7\r\nContent-Length: 0\r\n\r\n"
        try await self.withTLSServer("good", answer: interim + refusal, piece: piece) { server in
            let error = try await self.ending(self.request(server))
            #expect(error.code == .refused && error.status == 503 && error.retryAfter == .seconds(7))
        }
    }

    @Test(arguments: InterimAnswerTests.interim, InterimAnswerTests.framed)
    func `skips answers with 1xx before the answer of an exchange`(_ interim: String, _ answer: String) async throws {
        for piece in InterimAnswerTests.pieces {
            try await self.withTLSServer("good", answer: interim + answer, piece: piece) { server in
                try await withLoop(self.makeLoop()) { loop in
                    try await InterimAnswerTests.expectAnswer(self.request(server), on: loop)
                }
            }
        }
    }

    @Test(
        arguments: [
            ("Connection: close", "end", true), ("Connection: close", "cut", false),
            ("Content-Length: 4", "cut", true), ("Transfer-Encoding: chunked", "end", false),
        ], ["TLS1.2", "TLS1.3"])
    func `an answer that lasts up to the connection's end is complete only behind TLS's own farewell`(
        _ answer: (field: String, end: String, isWhole: Bool), _ version: String
    ) async throws {
        let certificates = self.certificates
        let head = "HTTP/1.1 200 OK\r\n\(answer.field)\r\n\r\n"
        let server = try await blocking {
            try OpenSSLServer(certificates, version: version, ["say 8\r\n0", answer.end], head: head)
        }
        defer { server.stop() }
        try await withLoop(self.makeLoop()) { loop in
            let tls = TLSPolicy(roots: .file(certificates.authority))
            var request = StreamRequest(host: "localhost", port: server.port, isSecure: true, tls: tls)
            request.purpose = .get
            let result = await withCheckedContinuation { [request] continuation in
                loop.execute { loop.exchange(request, limit: 100) { continuation.resume(returning: $0) } }
            }
            if answer.isWhole {
                let body = try result.get().body
                #expect(body == Array("8\r\n0".utf8))
            } else {
                let error = #expect(throws: ByteStreamError.self) { try result.get() }
                #expect(error?.code == .closedByPeer)
            }
        }
    }

    @Test(arguments: [("good", true), ("other", false)])
    func `checks an absolute name, and asks for it, without its last dot`(certificate: String, isGood: Bool)
        async throws
    {
        try await self.withTLSServer(certificate) { server in
            let request = self.request(server, host: "localhost.")
            if isGood {
                try await withLoop(self.makeLoop()) { loop in
                    let recorder = Recorder()
                    let stream = recorder.connect(request, on: loop)
                    _ = try await recorder.opening()
                    stream.abort()
                }
                #expect(try await server.report().name == "localhost")
            } else {
                let error = try await self.ending(request)
                #expect(error.code == .tls(.wrongHost))
            }
        }
    }

    @Test(arguments: [
        ("stranger", ByteStreamError.Code.tls(.incompleteChain)), ("other", .tls(.wrongHost)),
        ("expired", .tls(.expired)),
    ])
    func `is refused before any byte is sent when the certificate is not trusted, for another host, or expired`(
        certificate: String, code: ByteStreamError.Code
    ) async throws {
        try await self.withTLSServer(certificate) { server in
            let error = try await self.ending(self.request(server))
            #expect(error.code == code, "\(error)")
            let byAddress = try await self.ending(self.request(server, host: "127.0.0.1"))
            #expect(byAddress.code == (certificate == "other" ? .tls(.wrongAddress) : code), "\(byAddress)")
            #expect(try await server.report().count == 0)
            #expect(try await server.report().count == 0)
        }
    }

    @Test
    func `is refused when only the system's authorities are trusted`() async throws {
        try await self.withTLSServer("good") { server in
            let error = try await self.ending(self.request(server, roots: .system))
            #expect(error.code == .tls(.incompleteChain))
            #expect(try await server.report().count == 0)
        }
    }

    @Test
    func `finds the system's authorities`() async throws {
        await #expect(processExitsWith: .success) {
            let certificates = try Certificates()
            setEnvironment("SSL_CERT_FILE", certificates.authority)
            let server = try TLSServer(certificates, certificate: "good")
            defer { server.stop() }
            try await withLoop { loop in
                let recorder = Recorder()
                let request = StreamRequest(host: "127.0.0.1", port: server.port, isSecure: true)
                let stream = recorder.connect(request, on: loop)
                _ = try await recorder.opening()
                stream.abort()
            }
        }
    }

    @Test(arguments: ["::1", "[::1]"])
    func `checks an IPv6 address against the certificate, in both spellings`(host: String) async throws {
        try await self.withTLSServer("good", address: "::1") { server in
            try await withLoop { loop in
                let recorder = Recorder()
                let stream = recorder.connect(self.request(server, host: host), on: loop)
                _ = try await recorder.opening()
                stream.abort()
            }
            #expect(try await server.report().name == "none")
        }
        for certificate in ["other", "stranger", "expired"] {
            try await self.withTLSServer(certificate, address: "::1") { server in
                let error = try await self.ending(self.request(server, host: host))
                let codes: [String: ByteStreamError.Code] = [
                    "other": .tls(.wrongAddress), "stranger": .tls(.incompleteChain), "expired": .tls(.expired),
                ]
                #expect(error.code == codes[certificate], "\(error)")
                #expect(try await server.report().count == 0)
            }
        }
    }

    @Test
    func `keeps a bounded number of contexts that no stream uses`() async throws {
        let port = try unusedPort()
        try await self.withTLSServer("good") { server in
            try await withLoop(self.makeLoop()) { loop in
                let used = Recorder()
                let stream = used.connect(self.request(server), on: loop)
                _ = try await used.opening()
                for number in UInt8(0)..<40 {
                    var request = StreamRequest(host: "127.0.0.1", port: port, isSecure: true)
                    request.tls.roots = .file(self.certificates.authority)
                    request.tls.pins = [try #require(PublicKeyPin(digest: [UInt8](repeating: number, count: 32)))]
                    let recorder = Recorder()
                    _ = recorder.connect(request, on: loop)
                    #expect(await recorder.ending().code == .unreachable)
                }
                // That of the stream, those kept for later, and one that was still closing when it was looked at.
                #expect(loop.sync { keptConfigurations(loop) } <= 10)
                stream.write { $0 += [1, 2, 3] }
                #expect(try await used.bytes(3) == [1, 2, 3])
                stream.abort()
            }
        }
    }

    @Test
    func `does not mix the authorities of two configurations`() async throws {
        try await self.withTLSServer("good") { server in
            try await withLoop(self.makeLoop()) { loop in
                let strange = try self.certificates.bytes("strange.pem")
                let both = try strange + self.certificates.bytes("ca.pem")
                for roots in [TLSPolicy.Roots.pem(both), .file(self.certificates.authority)] {
                    let recorder = Recorder()
                    let stream = recorder.connect(self.request(server, roots: roots), on: loop)
                    _ = try await recorder.opening()
                    stream.abort()
                }
                let recorder = Recorder()
                _ = recorder.connect(self.request(server, roots: .pem(strange)), on: loop)
                #expect(await recorder.ending().code == .tls(.incompleteChain))
            }
        }
    }

    @Test(arguments: [
        TLSPolicy.Roots.file("/nonexistent/ca.pem"), .pem([]), .pem(Array("no certificate".utf8)),
        .pem(Array("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n".utf8)),
    ])
    func `ends as failed when the trusted certificates cannot be read`(roots: TLSPolicy.Roots) async throws {
        let error = try await self.ending(
            StreamRequest(host: "127.0.0.1", port: 1, isSecure: true, tls: TLSPolicy(roots: roots)))
        #expect(error.code == .tlsUnusable)
    }

    @Test(.timeLimit(.minutes(1)))
    func `a FIFO in place of a certificate or key file does not block`() async throws {
        let fifo = self.certificates.path("fifo")
        try #require(mkfifo(fifo, 0o600) == 0)
        let identity = ClientCertificate(.file(self.certificates.path("good.pem")), key: .file(fifo))
        let policies = [
            TLSPolicy(roots: .file(fifo)), TLSPolicy(roots: .system, clientCertificate: identity),
        ]
        for policy in policies {
            let error = try await self.ending(
                StreamRequest(host: "127.0.0.1", port: 1, isSecure: true, tls: policy))
            #expect(error.code == .tlsUnusable)
            #expect(error.message.contains("it is a FIFO, not a regular file"))
        }
    }

    @Test(arguments: [("TLSv1_2", true), ("TLSv1_1", false), ("TLSv1", false)])
    func `speaks TLS 1.2 and nothing older`(maximum: String, isSpoken: Bool) async throws {
        try await self.withTLSServer("good", maximum: maximum) { server in
            try await withLoop(self.makeLoop()) { loop in
                let recorder = Recorder()
                let stream = recorder.connect(self.request(server), on: loop)
                if isSpoken {
                    _ = try await recorder.opening()
                    stream.abort()
                    #expect(try await server.report().version == "TLSv1.2")
                } else {
                    let error = await recorder.ending()
                    #expect(error.code == .tls(.versionTooOld), "\(error)")
                    #expect(try await server.report().count == 0)
                }
            }
        }
    }

    @Test
    func `fails on a server that speaks no TLS, and on one that hangs up, and sends neither a request`() async throws {
        let (reads, found) = AsyncStream.makeStream(of: [UInt8].self)
        for answer in ["HTTP/1.1 400 Bad Request\r\n\r\n", ""] {
            try await withServer({ peer in
                found.yield(peer.read())
                peer.write(answer)
            }) { server in
                let request = StreamRequest(host: "127.0.0.1", port: server.port, isSecure: true, target: "/secret")
                let error = try await self.ending(request)
                #expect(error.code == (answer.isEmpty ? .tls(.handshakeCut) : .tls(.other)), "\(error)\(error)")
                let bytes = try #require(await reads.first { _ in true })
                #expect(bytes.first == 0x16, "a TLS handshake record")
            }
        }
    }

    @Test
    func `times out on a server that is silent during TLS`() async throws {
        try await withServer({ _ = $0.readAll() }) { server in
            try await expectTimeout(in: .tls) { deadline in
                try await self.ending(
                    StreamRequest(host: "127.0.0.1", port: server.port, isSecure: true, deadline: deadline))
            }
        }
    }
}
