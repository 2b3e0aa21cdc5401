import Linkspan
import LinkspanNetwork
import TestedBackEnds
import Testing

@Suite("A proxy", .timeLimit(.minutes(1)), .overEachBackEnd)
struct ProxyTests {
    private static let user = "ann"
    private static let password = Secret("p@ss:word/=+secret")

    private func withProxy<Result>(
        _ kind: NetworkProxy.Kind, _ address: String = "127.0.0.1", credentials: String = "", status: Int = 200,
        _ body: (ProxyServer) async throws -> Result
    ) async throws -> Result {
        let proxy = try await blocking { try ProxyServer(kind, address, credentials: credentials, status: status) }
        defer { proxy.stop() }
        return try await body(proxy)
    }

    private func ending(_ request: StreamRequest) async throws -> ByteStreamError {
        try await withLoop { loop in
            let recorder = Recorder()
            _ = recorder.connect(request, on: loop)
            let error = await recorder.ending()
            #expect(!"\(error) \(String(reflecting: error))".contains("secret"))
            return error
        }
    }

    @Test(arguments: NetworkProxy.Kind.allCases, [("127.0.0.1", ""), ("::1", "ann:p@ss:word/=+secret")])
    func `leads a plain stream to a server whose name only it can look up`(
        kind: NetworkProxy.Kind, place: (address: String, credentials: String)
    ) async throws {
        let (address, credentials) = place
        try await self.withProxy(kind, address, credentials: credentials) { proxy in
            try await withServer(EchoTests.echo) { server in
                var request = server.request()
                request.host = "only.proxy.test"
                request.proxy = NetworkProxy(
                    kind, host: address, port: proxy.port, user: credentials.isEmpty ? nil : Self.user,
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
                        #expect(try await proxy.report() == kind.success("only.proxy.test:\(server.port)"))
                    }
                }
            }
        }
    }

    @Test(arguments: NetworkProxy.Kind.allCases, ["good", "other"])
    func `a server behind it is verified on a secure stream`(kind: NetworkProxy.Kind, certificate: String) async throws
    {
        let certificates = try await blocking { try Certificates() }
        let server = try await blocking { try TLSServer(certificates, certificate: certificate) }
        defer { server.stop() }
        try await self.withProxy(kind) { proxy in
            let request = StreamRequest(
                host: "localhost", port: server.port, isSecure: true, target: "/?token=secret",
                tls: TLSPolicy(roots: .file(certificates.authority), pins: [try certificates.digest("ca")]),
                proxy: NetworkProxy(kind, host: "127.0.0.1", port: proxy.port))
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
                #expect(try await proxy.report() == kind.success("localhost:\(server.port)"))
            }
        }
    }

    @Test(arguments: NetworkProxy.Kind.allCases)
    func `leads to a server that is given as an IPv6 address`(kind: NetworkProxy.Kind) async throws {
        try await self.withProxy(kind) { proxy in
            let server = try LoopbackServer("::1", EchoTests.echo)
            defer { server.stop() }
            var request = server.request()
            request.host = "::1"
            request.proxy = NetworkProxy(kind, host: "127.0.0.1", port: proxy.port)
            try await withLoop { loop in
                let recorder = Recorder()
                let stream = recorder.connect(request, on: loop)
                _ = try await recorder.opening()
                stream.abort()
            }
            #expect(try await proxy.report() == kind.success("[::1]:\(server.port)"))
        }
    }

    @Test(arguments: NetworkProxy.Kind.allCases)
    func `leads the requests of an exchange to the server`(kind: NetworkProxy.Kind) async throws {
        try await self.withProxy(kind) { proxy in
            try await withServer({ peer in
                _ = peer.readHead()
                peer.write("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello")
            }) { server in
                var request = server.request()
                request.purpose = .get
                request.host = "only.proxy.test"
                request.proxy = NetworkProxy(kind, host: "127.0.0.1", port: proxy.port)
                try await withLoop { loop in
                    let recorder = Recorder()
                    _ = recorder.connect(request, on: loop)
                    let body = try await recorder.bytes(5)
                    #expect(body == Array("hello".utf8))
                    #expect(await recorder.ending().code == .completed)
                }
            }
        }
    }

    @Test(arguments: [(403, false), (403, true), (502, false), (302, false), (500, true)])
    func `over HTTP that refuses says why`(status: Int, isSecure: Bool) async throws {
        try await self.withProxy(.http, status: status) { proxy in
            let error = try await self.ending(
                StreamRequest(
                    host: "server.test", port: 80, isSecure: isSecure, target: "/?token=secret",
                    proxy: NetworkProxy(host: "127.0.0.1", port: proxy.port)))
            #expect(error.code == .proxyRefused, "\(error)")
            #expect(error.status == status)
        }
    }

    @Test(arguments: [
        (1, "general failure"), (2, "not allowed by its rules"), (4, "host unreachable"),
        (5, "connection refused"), (91, "reply 91"),
    ])
    func `over SOCKS that refuses says why`(reply: Int, reason: String) async throws {
        try await self.withProxy(.socks5, status: reply) { proxy in
            let error = try await self.ending(
                StreamRequest(
                    host: "server.test", port: 80, isSecure: false, target: "/?token=secret",
                    proxy: NetworkProxy(.socks5, host: "127.0.0.1", port: proxy.port)))
            #expect(error.code == .proxyRefused)
            #expect(error.message == "the proxy did not connect to the server: \(reason)")
        }
    }

    @Test(arguments: NetworkProxy.Kind.allCases, [false, true])
    func `that wants other credentials, or any, says so`(kind: NetworkProxy.Kind, showsCredentials: Bool) async throws {
        try await self.withProxy(kind, credentials: "ann:another") { proxy in
            let error = try await self.ending(
                StreamRequest(
                    host: "server.test", port: 80, isSecure: showsCredentials,
                    proxy: NetworkProxy(
                        kind, host: "127.0.0.1", port: proxy.port, user: showsCredentials ? Self.user : nil,
                        password: showsCredentials ? Self.password : nil)))
            #expect(error.code == .proxyUnauthorized, "\(error)")
            #expect(error.status == (kind == .http ? 407 : nil))
        }
    }

    @Test
    func `that is unreachable differs from an unreachable server`() async throws {
        let hosts = ["127.0.0.1", "no.such.proxy.invalid"]
        for host in hosts {
            let error = try await self.ending(
                StreamRequest(
                    host: "server.test", port: 80, isSecure: false,
                    proxy: NetworkProxy(host: host, port: try unusedPort())))
            #expect(error.code == .proxyUnreachable, "\(error)")
        }
    }

    @Test(
        arguments: NetworkProxy.Kind.allCases,
        ["", "220 mail.test ESMTP\r\n\r\n", "\u{04}\u{5A}\r\n\r\n"])
    func `that closes, or speaks another protocol, ends the attempt`(kind: NetworkProxy.Kind, answer: String)
        async throws
    {
        try await withServer({ peer in
            _ = peer.read()
            peer.write(answer)
        }) { proxy in
            let error = try await self.ending(
                StreamRequest(
                    host: "server.test", port: 80, isSecure: false,
                    proxy: NetworkProxy(kind, host: "127.0.0.1", port: proxy.port)))
            #expect(error.code == .proxyRefused, "\(error)")
        }
    }

    @Test(arguments: NetworkProxy.Kind.allCases)
    func `that is silent ends the attempt at its deadline, and aborting ends it at once`(kind: NetworkProxy.Kind)
        async throws
    {
        try await withServer({ _ = $0.readAll() }) { proxy in
            var request = StreamRequest(
                host: "server.test", port: 80, isSecure: true,
                proxy: NetworkProxy(kind, host: "127.0.0.1", port: proxy.port))
            try await expectTimeout(in: .proxy) { deadline in
                request.deadline = deadline
                return try await self.ending(request)
            }
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
        NetworkProxy(host: "", port: 80), NetworkProxy(host: "a@b", port: 80), NetworkProxy(host: "a", port: 0),
        NetworkProxy(host: "a", port: 80, user: "a:b"),
        NetworkProxy(host: "a", port: 80, user: "a\r\nX: y"),
        NetworkProxy(
            host: "a", port: 80, user: "a", password: Secret(String(repeating: "p", count: 256))),
        NetworkProxy(.socks5, host: "a", port: 80, user: String(repeating: "u", count: 256)),
        NetworkProxy(.socks5, host: "a", port: 80, user: ""),
    ])
    func `cannot be one whose place or credentials would be cut or misread`(proxy: NetworkProxy) async throws {
        let error = try await self.ending(StreamRequest(host: "server.test", port: 80, isSecure: false, proxy: proxy))
        #expect([.invalidRequest, .requestTooLong].contains(error.code), "\(error)")
    }

    @Test
    func `of the environment is not looked at`() async {
        await #expect(processExitsWith: .success) {
            let proxy = try ProxyServer(.http, status: 403)
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

extension NetworkProxy.Kind {
    /// What the proxy of the tests reports of a connection that it lets through.
    fileprivate func success(_ place: String) -> String {
        switch self {
        case .http: "CONNECT \(place) HTTP/1.1 200"
        case .socks5: "SOCKS5 \(place) 0"
        }
    }
}
