import Linkspan
import LinkspanNetwork
import TestedBackEnds
import Testing

@Suite("An HTTP proxy", .timeLimit(.minutes(1)), .overEachBackEnd)
struct ProxyTests {
    private static let user = "ann"
    private static let password = Secret("p@ss:word/=+secret")

    private func withProxy<Result>(
        _ address: String = "127.0.0.1", credentials: String = "", status: Int = 200,
        _ body: (ProxyServer) async throws -> Result
    ) async throws -> Result {
        let proxy = try await blocking { try ProxyServer(address, credentials: credentials, status: status) }
        defer { proxy.stop() }
        return try await body(proxy)
    }

    private func ending(_ request: UpgradeRequest) async throws -> ByteStreamError {
        try await withLoop { loop in
            let recorder = Recorder()
            _ = recorder.connect(request, on: loop)
            let error = await recorder.ending()
            #expect(!"\(error) \(String(reflecting: error))".contains("secret"))
            return error
        }
    }

    @Test(arguments: ["127.0.0.1", "::1"], ["", "ann:p@ss:word/=+secret"])
    func `leads a plain stream to a server whose name only it can look up`(address: String, credentials: String)
        async throws
    {
        try await self.withProxy(address, credentials: credentials) { proxy in
            try await withServer(EchoTests.echo) { server in
                var request = server.request()
                request.host = "only.proxy.test"
                request.proxy = HTTPProxy(
                    host: address, port: proxy.port, user: credentials.isEmpty ? nil : Self.user,
                    password: credentials.isEmpty ? nil : Self.password)
                try await withLoop { loop in
                    for _ in 0..<3 {
                        let recorder = Recorder()
                        let stream = recorder.connect(request, on: loop)
                        _ = try await recorder.opening()
                        stream.write { $0 += pattern(300_000) }
                        #expect(try await recorder.bytes(300_000) == pattern(300_000))
                        stream.finish()
                        #expect(await recorder.ending().code == .closedByUs)
                        #expect(try await proxy.report() == "CONNECT only.proxy.test:\(server.port) HTTP/1.1 200")
                    }
                }
            }
        }
    }

    @Test(arguments: ["good", "other"])
    func `a server behind it is verified on a secure stream`(certificate: String) async throws {
        let certificates = try await blocking { try Certificates() }
        let server = try await blocking { try TLSServer(certificates, certificate: certificate) }
        defer { server.stop() }
        try await self.withProxy { proxy in
            let request = UpgradeRequest(
                host: "localhost", port: server.port, isSecure: true, target: "/?token=secret",
                tls: TLSPolicy(roots: .file(certificates.authority), pins: [try certificates.digest("ca")]),
                proxy: HTTPProxy(host: "127.0.0.1", port: proxy.port))
            try await withLoop { loop in
                let recorder = Recorder()
                let stream = recorder.connect(request, on: loop)
                if certificate == "good" {
                    _ = try await recorder.opening()
                    stream.write { $0 += "hello".utf8 }
                    #expect(try await recorder.bytes(5) == Array("hello".utf8))
                    stream.abort()
                    let report = try await server.report()
                    #expect(report.name == "localhost")
                } else {
                    #expect(await recorder.ending().code == .tls(.wrongHost))
                    let report = try await server.report()
                    #expect(report.count == 0)
                }
                #expect(try await proxy.report() == "CONNECT localhost:\(server.port) HTTP/1.1 200")
            }
        }
    }

    @Test
    func `names an IPv6 server to the proxy in brackets`() async throws {
        try await self.withProxy { proxy in
            let server = try LoopbackServer("::1", EchoTests.echo)
            defer { server.stop() }
            var request = server.request()
            request.host = "::1"
            request.proxy = HTTPProxy(host: "127.0.0.1", port: proxy.port)
            try await withLoop { loop in
                let recorder = Recorder()
                let stream = recorder.connect(request, on: loop)
                _ = try await recorder.opening()
                stream.abort()
            }
            #expect(try await proxy.report() == "CONNECT [::1]:\(server.port) HTTP/1.1 200")
        }
    }

    @Test(arguments: [(403, false), (403, true), (502, false), (302, false), (500, true)])
    func `that refuses says why`(status: Int, isSecure: Bool) async throws {
        try await self.withProxy(status: status) { proxy in
            let error = try await self.ending(
                UpgradeRequest(
                    host: "server.test", port: 80, isSecure: isSecure, target: "/?token=secret",
                    proxy: HTTPProxy(host: "127.0.0.1", port: proxy.port)))
            #expect(error.code == .proxyRefused, "\(error)")
            #expect(error.status == status)
        }
    }

    @Test(arguments: [false, true], [false, true])
    func `that wants other credentials, or any, says so`(showsCredentials: Bool, isSecure: Bool) async throws {
        try await self.withProxy(credentials: "ann:another") { proxy in
            let error = try await self.ending(
                UpgradeRequest(
                    host: "server.test", port: 80, isSecure: isSecure,
                    proxy: HTTPProxy(
                        host: "127.0.0.1", port: proxy.port, user: showsCredentials ? Self.user : nil,
                        password: showsCredentials ? Self.password : nil)))
            #expect(error.code == .proxyUnauthorized, "\(error)")
            #expect(error.status == 407)
        }
    }

    @Test
    func `that is unreachable differs from an unreachable server`() async throws {
        let hosts = ["127.0.0.1", "no.such.proxy.invalid"]
        for host in hosts {
            let error = try await self.ending(
                UpgradeRequest(
                    host: "server.test", port: 80, isSecure: false,
                    proxy: HTTPProxy(host: host, port: try unusedPort())))
            #expect(error.code == .proxyUnreachable, "\(error)")
        }
    }

    @Test(arguments: ["", "220 mail.test ESMTP\r\n"])
    func `that closes, or does not speak HTTP, ends the attempt`(answer: String) async throws {
        try await withServer({ peer in
            _ = peer.readHead()
            peer.write(answer)
        }) { proxy in
            let error = try await self.ending(
                UpgradeRequest(
                    host: "server.test", port: 80, isSecure: false,
                    proxy: HTTPProxy(host: "127.0.0.1", port: proxy.port)))
            #expect(error.code == .proxyRefused, "\(error)")
        }
    }

    @Test
    func `that is silent ends the attempt at its deadline, and aborting ends it at once`() async throws {
        try await withServer({ _ = $0.readAll() }) { proxy in
            var request = UpgradeRequest(
                host: "server.test", port: 80, isSecure: true, deadline: .milliseconds(300),
                proxy: HTTPProxy(host: "127.0.0.1", port: proxy.port))
            #expect(try await self.ending(request) == ByteStreamError(timedOutIn: .proxy))
            request.deadline = .seconds(30)
            try await withLoop { loop in
                let recorder = Recorder()
                let stream = recorder.connect(request, on: loop)
                await hop(loop)
                stream.abort()
                #expect(await recorder.ending().code == .closedByUs)
            }
        }
    }

    @Test(arguments: [
        HTTPProxy(host: "", port: 80), HTTPProxy(host: "a@b", port: 80), HTTPProxy(host: "a", port: 0),
        HTTPProxy(host: "a", port: 80, user: "a:b"),
        HTTPProxy(host: "a", port: 80, user: "a\r\nX: y"),
        HTTPProxy(
            host: "a", port: 80, user: "a", password: Secret(String(repeating: "p", count: 95))),
    ])
    func `cannot be one whose place or credentials would be cut or misread`(proxy: HTTPProxy) async throws {
        let error = try await self.ending(UpgradeRequest(host: "server.test", port: 80, isSecure: false, proxy: proxy))
        #expect([.invalidRequest, .requestTooLong].contains(error.code), "\(error)")
    }

    @Test
    func `of the environment is not looked at`() async {
        await #expect(processExitsWith: .success) {
            let proxy = try ProxyServer(status: 403)
            defer { proxy.stop() }
            for name in ["http_proxy", "https_proxy", "HTTP_PROXY", "ALL_PROXY"] {
                setEnvironment(name, "http://127.0.0.1:\(proxy.port)")
            }
            try await withServer(EchoTests.echo) { server in
                try await withLoop { loop in
                    let recorder = Recorder()
                    let stream = recorder.connect(server.request(), on: loop)
                    _ = try await recorder.opening()
                    stream.abort()
                }
            }
        }
    }
}
