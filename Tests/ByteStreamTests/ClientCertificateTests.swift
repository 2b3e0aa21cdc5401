import Linkspan
import LinkspanNetwork
import TestedBackEnds
import Testing

@Suite("A client certificate", .timeLimit(.minutes(1)), .overEachBackEnd)
struct ClientCertificateTests {
    private let certificates: Certificates

    init() async throws {
        self.certificates = try await blocking {
            let made = try Certificates()
            try made.make("client", extensions: "extendedKeyUsage=clientAuth")
            try made.make("unknown", authority: "strange", extensions: "extendedKeyUsage=clientAuth")
            try made.make("small", key: ["rsa:1024"])
            try made.openssl([
                "pkey", "-in", made.path("client.key"), "-aes256", "-passout", "pass:secret", "-out",
                made.path("locked.key"),
            ])
            return made
        }
    }

    private func ending(_ identity: ClientCertificate?, maximum: String) async throws -> ByteStreamError {
        let made = self.certificates
        let server = try await blocking {
            try TLSServer(made, certificate: "good", maximum: maximum, clients: made.authority)
        }
        defer { server.stop() }
        let request = StreamRequest(
            host: "127.0.0.1", port: server.port, isSecure: true, target: "/?token=secret",
            tls: TLSPolicy(roots: .file(made.authority), clientCertificate: identity))
        return try await withLoop { loop in
            let recorder = Recorder { event, stream in if case .opened = event { stream?.finish() } }
            _ = recorder.connect(request, on: loop)
            let error = await recorder.ending()
            #expect(!"\(error)".contains("secret"))
            return error
        }
    }

    private func text(_ name: String) throws -> Secret {
        Secret(String(decoding: try self.certificates.bytes(name), as: UTF8.self))
    }

    @Test(arguments: ["TLSv1_2", "TLSv1_3"])
    func `lets a server that asks for one accept us, from files and from memory`(maximum: String) async throws {
        let path = self.certificates.path("client.pem")
        let identities: [ClientCertificate] = [
            ClientCertificate(.file(path), key: .file(self.certificates.path("client.key"))),
            ClientCertificate(
                .pem(try self.certificates.bytes("client.pem")), key: .pem(try self.text("client.key"))),
        ]
        for identity in identities {
            #expect(try await self.ending(identity, maximum: maximum).code == .closedByUs)
        }
    }

    @Test(arguments: [("TLSv1_2", "none"), ("TLSv1_2", "unknown"), ("TLSv1_3", "none"), ("TLSv1_3", "unknown")])
    func `that is missing or not trusted is a reason of its own`(maximum: String, name: String) async throws {
        let path = self.certificates.path("\(name).pem")
        let identity = ClientCertificate(.file(path), key: .file(self.certificates.path("\(name).key")))
        let error = try await self.ending(name == "none" ? nil : identity, maximum: maximum)
        // TLS 1.2 has no alert for one that is missing: the server only says that the handshake failed.
        let isUnnamed = maximum == "TLSv1_2" && name == "none"
        #expect(error.code == (isUnnamed ? .tls(.other) : .tls(.clientCertificateRefused)), "\(error)")
    }

    enum Fault: CaseIterable, Sendable { case missing, noCertificate, otherKey, lockedKey, noKey, weak }

    @Test(arguments: Fault.allCases)
    func `that cannot be used ends the attempt before it begins`(_ fault: Fault) async throws {
        let path = { self.certificates.path($0) }
        let identity: ClientCertificate
        switch fault {
        case .missing: identity = ClientCertificate(.file("/nonexistent"), key: .file(path("client.key")))
        case .noCertificate:
            identity = ClientCertificate(.pem(Array("no certificate".utf8)), key: .file(path("client.key")))
        case .otherKey: identity = ClientCertificate(.file(path("client.pem")), key: .file(path("good.key")))
        case .lockedKey: identity = ClientCertificate(.file(path("client.pem")), key: .pem(try self.text("locked.key")))
        case .noKey: identity = ClientCertificate(.file(path("client.pem")), key: .file("/nonexistent"))
        case .weak: identity = ClientCertificate(.file(path("small.pem")), key: .file(path("small.key")))
        }
        try await withServer({ _ in Issue.record("there was a connection") }) { server in
            try await withLoop { loop in
                var request = server.request()
                request.isSecure = true
                request.tls.clientCertificate = identity
                let recorder = Recorder()
                _ = recorder.connect(request, on: loop)
                let error = await recorder.ending()
                #expect(error.code == .tlsUnusable)
                #expect(server.acceptedCount == 0)
            }
        }
    }

    @Test
    func `never prints its key`() throws {
        let key = try self.text("client.key")
        let options = TLSPolicy(clientCertificate: ClientCertificate(.pem([]), key: .pem(key)))
        var text = "\(options) \(String(reflecting: options)) \(key)"
        dump(options, to: &text)
        #expect(!text.contains("PRIVATE"))
        #expect(text.contains("<redacted>"))
    }
}
