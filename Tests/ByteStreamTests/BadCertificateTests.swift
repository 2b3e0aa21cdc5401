import Foundation
import LinkspanNetwork
import LinkspanRuntime
import TestedBackEnds
import Testing

/// The ways a server's TLS can be wrong, each of which ends an attempt with a reason of its own and without one byte of
/// the request.
@Suite("A server with bad TLS", .timeLimit(.minutes(1)), .overEachBackEnd)
struct BadCertificateTests {
    private let certificates: Certificates

    init() async throws { self.certificates = try await blocking { try Certificates() } }

    enum Case: String, CaseIterable, Sendable {
        case expired, notYetValid, wrongHost, wildcard, address, selfSigned, wrongRoot, noIntermediate, weakKey
        case revokedKey, wrongPin, oldVersion, wrongPurpose, cut
        case commonName, commonNameForAddress, commonNameBesideMail, commonNameBesideAddress
    }

    private struct Setting {
        var host = "localhost"
        var certificate = "good"
        var maximum = "TLSv1_3"
        var pins: Set<PublicKeyPin> = []
        var revokedPins: Set<PublicKeyPin> = []
        var code: ByteStreamError.Code
    }

    /// Makes what a case needs and says what is to come of it.
    private func setting(_ kind: Case) throws -> Setting {
        let made = self.certificates
        switch kind {
        case .expired: return Setting(certificate: "expired", code: .tls(.expired))
        case .notYetValid:
            try made.makeEarly("bad")
            return Setting(certificate: "bad", code: .tls(.notYetValid))
        case .wrongHost: return Setting(certificate: "other", code: .tls(.wrongHost))
        case .wildcard:
            try made.make("bad", extensions: "subjectAltName=DNS:*.example.test")
            return Setting(host: "deep.sub.example.test", certificate: "bad", code: .tls(.wildcardMisuse))
        case .address: return Setting(host: "127.0.0.1", certificate: "other", code: .tls(.wrongAddress))
        case .selfSigned:
            try made.make("bad", authority: nil)
            return Setting(certificate: "bad", code: .tls(.selfSigned))
        case .wrongRoot:
            try made.make("bad", authority: "strange", chain: ["strange"])
            return Setting(certificate: "bad", code: .tls(.untrustedRoot))
        case .noIntermediate:
            try made.makeIntermediate("between", authority: "ca")
            try made.make("bad", authority: "between")
            return Setting(certificate: "bad", code: .tls(.incompleteChain))
        case .weakKey:
            try made.make("bad", key: ["rsa:1024"])
            return Setting(certificate: "bad", code: .tls(.weakKey))
        case .revokedKey:
            return Setting(
                pins: [try made.digest("ca")], revokedPins: [try made.digest("good")], code: .tls(.revokedKey))
        case .wrongPin: return Setting(pins: [try made.digest("strange")], code: .tls(.pinMismatch))
        case .oldVersion: return Setting(maximum: "TLSv1_1", code: .tls(.versionTooOld))
        case .wrongPurpose:
            try made.make("bad", extensions: "subjectAltName=DNS:localhost\nextendedKeyUsage=clientAuth")
            return Setting(certificate: "bad", code: .tls(.wrongPurpose))
        case .cut: return Setting(code: .tls(.handshakeCut))
        // The common name is that of the file.
        case .commonName:
            try made.make("bad", extensions: "keyUsage=digitalSignature")
            return Setting(host: "bad", certificate: "bad", code: .tls(.noSubjectAltName))
        case .commonNameForAddress:
            try made.make("127.0.0.1", extensions: "keyUsage=digitalSignature")
            return Setting(host: "127.0.0.1", certificate: "127.0.0.1", code: .tls(.noSubjectAltName))
        case .commonNameBesideMail:
            try made.make("bad", extensions: "subjectAltName=email:a@bad")
            return Setting(host: "bad", certificate: "bad", code: .tls(.noSubjectAltName))
        case .commonNameBesideAddress:
            try made.make("bad", extensions: "subjectAltName=IP:127.0.0.1")
            return Setting(host: "bad", certificate: "bad", code: .tls(.wrongHost))
        }
    }

    private func request(port: Int, _ setting: Setting) -> StreamRequest {
        StreamRequest(
            host: setting.host, port: port, isSecure: true, target: "/?token=secret",
            headers: [("Authorization", "Bearer secret")],
            tls: TLSPolicy(
                roots: .file(self.certificates.authority), pins: setting.pins, revokedPins: setting.revokedPins))
    }

    /// Ends what should not have come about, so that the test fails at once.
    private func refusedOrAborted() -> Recorder {
        Recorder { event, stream in if case .opened = event { stream?.abort() } }
    }

    /// Resolves every name to the IPv4 loopback, so that a test's server is reached by any name.
    private func makeLoop() -> any NetworkLoop {
        TestedBackEnds.makeLoop(name: "test", resolver: Resolver { _, _ in .success(["127.0.0.1"]) })
    }

    @Test(arguments: Case.allCases)
    func `is refused with its own reason and no byte of the request, also at the second attempt`(_ kind: Case)
        async throws
    {
        guard kind != .cut else { return try await self.cut() }
        let setting = try await blocking { try self.setting(kind) }
        let server = try await blocking {
            try TLSServer(self.certificates, certificate: setting.certificate, maximum: setting.maximum)
        }
        defer { server.stop() }
        try await withLoop(self.makeLoop()) { loop in
            for _ in 0..<2 {
                let recorder = self.refusedOrAborted()
                _ = recorder.connect(self.request(port: server.port, setting), on: loop)
                let error = await recorder.ending()
                #expect(error.code == setting.code, "\(error)")
                #expect(!error.description.contains("secret"))
                let report = try await server.report()
                #expect(report.count == 0)
            }
        }
    }

    /// Cuts the server's first flight off after each of many bytes.
    private func cut() async throws {
        let setting = try self.setting(.cut)
        let records = Lock<[[UInt8]]>([])
        let flight = try await blocking { try self.firstFlight() }
        try #require(flight.count > 200)
        let lengths = Lock(Array(stride(from: 0, to: flight.count - 1, by: 97)))
        let count = lengths.withLock { $0.count }
        try await withServer({ peer in
            let hello = peer.read()
            let length = lengths.withLock { $0.removeFirst() }
            peer.write(flight[..<length])
            shutdownWriting(peer)
            records.withLock { $0.append(hello + peer.readAll()) }
        }) { server in
            try await withLoop(self.makeLoop()) { loop in
                for _ in 0..<count {
                    let recorder = Recorder()
                    _ = recorder.connect(self.request(port: server.port, setting), on: loop)
                    let error = await recorder.ending()
                    // A replayed flight is not for this client: beyond its first message it makes no sense.
                    #expect([setting.code, .tls(.other)].contains(error.code), "\(error)")
                }
            }
        }
        // A handshake record, then at most an alert; an application record begins with 0x17.
        #expect(records.withLock { $0.allSatisfy { $0.first == 0x16 && !TLSRecords.kinds($0).contains(0x17) } })
    }

    /// What a real server answers first.
    private func firstFlight() throws -> [UInt8] {
        let server = try TLSServer(self.certificates, certificate: "good", maximum: "TLSv1_2")
        defer { server.stop() }
        return try TLSRecords.firstFlight(port: server.port)
    }

    @Test(arguments: ["localhost", "127.0.0.1"])
    func `is no server that is right about all of that`(host: String) async throws {
        let made = self.certificates
        try await blocking {
            try made.makeIntermediate("between", authority: "ca")
            try made.make("chained", authority: "between", chain: ["between"])
        }
        let server = try await blocking { try TLSServer(made, certificate: "chained") }
        defer { server.stop() }
        // A pin of the server's key, of an authority's in between, of the root's that the server does not show.
        for pinned in ["chained", "between", "ca"] {
            var setting = Setting(host: host, code: .closedByUs)
            setting.pins = [try made.digest(pinned), try made.digest("strange")]
            setting.revokedPins = [try made.digest("good")]
            try await withLoop(self.makeLoop()) { loop in
                let recorder = Recorder()
                let stream = recorder.connect(self.request(port: server.port, setting), on: loop)
                _ = try await recorder.opening()
                stream.abort()
            }
        }
    }

    @Test
    func `is noticed when it takes the place of one whose key is pinned`() async throws {
        let made = self.certificates
        try await blocking { try made.make("second") }
        let setting = Setting(pins: [try made.digest("good")], code: .tls(.pinMismatch))
        let first = try await blocking { try TLSServer(made, certificate: "good") }
        try await withLoop(self.makeLoop()) { loop in
            let recorder = Recorder()
            let stream = recorder.connect(self.request(port: first.port, setting), on: loop)
            _ = try await recorder.opening()
            stream.abort()
            _ = await recorder.ending()
            first.stop()
            let second = try await blocking { try TLSServer(made, certificate: "second", port: first.port) }
            defer { second.stop() }
            let again = self.refusedOrAborted()
            _ = again.connect(self.request(port: second.port, setting), on: loop)
            #expect(await again.ending().code == .tls(.pinMismatch))
            let report = try await second.report()
            #expect(report.count == 0)
        }
    }

    @Test
    func `is refused without a word when it speaks TLS 1.2 and 1.3 is asked for`() async throws {
        let server = try await blocking { try TLSServer(self.certificates, certificate: "good", maximum: "TLSv1_2") }
        defer { server.stop() }
        var request = self.request(port: server.port, Setting(code: .tls(.versionTooOld)))
        request.tls.minimumVersion = .tls13
        try await withLoop(self.makeLoop()) { loop in
            let recorder = self.refusedOrAborted()
            _ = recorder.connect(request, on: loop)
            #expect(await recorder.ending().code == .tls(.versionTooOld))
            let report = try await server.report()
            #expect(report.count == 0)
        }
    }
}

extension Certificates {
    private static let loopback = "subjectAltName=DNS:localhost,IP:127.0.0.1"

    /// Makes a certificate of `authority`, or of itself, in a file with the rest of the `chain` that a server shows.
    func make(
        _ name: String, authority: String? = "ca", key: [String] = Certificates.curve, extensions: String? = nil,
        chain: [String] = []
    ) throws {
        let request = self.path("\(name).csr")
        let subject = "/CN=\(name)"
        try self.openssl(
            ["req", "-newkey"] + key + [
                "-nodes", "-subj", subject, "-keyout", self.path("\(name).key"), "-out", request,
            ])
        let file = self.path("\(name).ext")
        try "\(extensions ?? Self.loopback)\n".write(toFile: file, atomically: true, encoding: .utf8)
        let signer =
            authority.map { ["-CA", self.path("\($0).pem"), "-CAkey", self.path("\($0).key"), "-CAcreateserial"] }
            ?? ["-signkey", self.path("\(name).key")]
        try self.openssl(
            ["x509", "-req", "-in", request, "-days", "2", "-extfile", file, "-out", self.path("\(name).pem")] + signer)
        try self.append(chain, to: name)
    }

    static let curve = ["ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"]

    /// Makes a certificate that will be valid in some years.
    func makeEarly(_ name: String) throws {
        try self.make(name)
        let settings = """
            [ca]
            default_ca = own
            [own]
            new_certs_dir = \(self.folder)
            database = \(self.path("index.txt"))
            serial = \(self.path("ca.srl"))
            default_md = sha256
            policy = any
            [any]
            commonName = supplied

            """
        try "".write(toFile: self.path("index.txt"), atomically: true, encoding: .utf8)
        try settings.write(toFile: self.path("ca.cnf"), atomically: true, encoding: .utf8)
        try self.openssl([
            "ca", "-batch", "-notext", "-config", self.path("ca.cnf"), "-cert", self.authority, "-keyfile",
            self.path("ca.key"), "-startdate", "20500101000000Z", "-enddate", "20510101000000Z", "-extfile",
            self.path("\(name).ext"), "-in", self.path("\(name).csr"), "-out", self.path("\(name).pem"),
        ])
    }

    /// Makes an authority below another one.
    func makeIntermediate(_ name: String, authority: String) throws {
        try self.make(
            name, authority: authority,
            extensions: "basicConstraints=critical,CA:TRUE\nkeyUsage=critical,keyCertSign")
    }

    /// The pin of a certificate's key, computed by openssl.
    func pin(_ name: String) throws -> String {
        let parts = [
            "openssl x509 -in '\(self.path("\(name).pem"))' -pubkey -noout", "openssl pkey -pubin -outform der",
            "openssl dgst -sha256 -binary", "openssl base64",
        ]
        let process = try ChildProcess(["sh", "-c", parts.joined(separator: " | ")])
        let line = process.line()
        try #require(process.hasSucceeded())
        return line
    }

    func digest(_ name: String) throws -> PublicKeyPin {
        let data = try #require(Data(base64Encoded: try self.pin(name)))
        return try #require(PublicKeyPin(digest: [UInt8](data)))
    }

    private func append(_ others: [String], to name: String) throws {
        var bytes = try self.bytes("\(name).pem")
        for other in others { bytes += try self.bytes("\(other).pem") }
        try Data(bytes).write(to: URL(fileURLWithPath: self.path("\(name).pem")))
    }
}
