internal import TestSupport
internal import Linkspan
internal import LinkspanDevServer
internal import LinkspanInMemory
internal import TestedBackEnds
internal import Testing

/// Which web pages may use the server, and under which names it answers.
@Suite(.timeLimit(.minutes(2)), .overSomeBackEnd)
struct OriginTests {
    /// A request that a page can have a browser send.
    private enum Kind: String, CaseIterable {
        case handshake = "GET /socket.io/?EIO=4&transport=polling HTTP/1.1\r\n"
        case socketIO = "GET /socket.io/?EIO=4&transport=websocket HTTP/1.1\r\n"
        case webSocket = "GET /any HTTP/1.1\r\n"

        func text(_ fields: [String: String]) -> String {
            let lines = fields.map { "\($0): \($1)\r\n" }.joined()
            let upgrade =
                "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
                + "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n"
            return self.rawValue + lines + (self == .handshake ? "" : upgrade) + "\r\n"
        }
    }

    private static let pages = DevServerConfiguration {
        $0.allowedOrigins = ["https://app.example", "http://old.example:8080"]
        $0.allowedHosts = ["dev.example"]
        $0.introduction = .optional(within: .zero)
    }

    /// The heads of the answers to one request of each kind.
    private func answers(_ bench: Bench, _ fields: [String: String]) throws -> [String] {
        try Kind.allCases.map { kind in
            let client = try RawClient(port: bench.server.port)
            client.write(kind.text(fields.merging(["Host": "127.0.0.1:\(bench.server.port)"]) { given, _ in given }))
            return client.read(until: "\r\n\r\n")
        }
    }

    @Test(arguments: [
        nil, "http://localhost:5173", "http://LOCALHOST", "https://app.localhost", "http://127.0.0.1:1",
        "http://127.8.8.8", "http://[::1]:3000", "https://app.example", "https://app.example:443",
        "http://old.example:8080",
    ])
    func `apps, pages of this machine and pages on the list are served`(_ origin: String?) async throws {
        try await Bench.run(configuration: Self.pages) { bench in
            let answers = try self.answers(bench, origin.map { ["Origin": $0] } ?? [:])
            #expect(answers[0].hasPrefix("HTTP/1.1 200 "))
            #expect(answers[1].hasPrefix("HTTP/1.1 101 ") && answers[2].hasPrefix("HTTP/1.1 101 "))
            let permission = origin.map { "Access-Control-Allow-Origin: \($0)\r\n" }
            #expect(answers[0].contains(permission ?? "HTTP/1.1 200 "))
            #expect(answers[0].contains("Access-Control-") == (origin != nil))
        }
    }

    @Test(arguments: [
        "https://evil.example", "http://localhost.evil.example", "http://127.0.0.1.evil.example", "null", "file://",
        "http://evil-localhost", "http://localhost@evil.example", "http://app.example", "https://app.example:8443",
        "https://old.example:8080", "https://sub.app.example", "", "*", "http://[::2]", "http://localhost:1:2",
    ])
    func `a page of another site is refused over every wire, and the hub hears nothing of it`(_ origin: String)
        async throws
    {
        try await Bench.run(configuration: Self.pages) { bench in
            let peers = Journal<HubPeer>("peers")
            bench.hub.onConnect { peer throws(LinkspanError) in peers.append(peer) }
            for answer in try self.answers(bench, ["Origin": origin]) {
                #expect(answer.hasPrefix("HTTP/1.1 403 "))
                #expect(!answer.contains("Access-Control-"))
            }
            // The hub does one thing after the other: this client would come behind those.
            let client = try await bench.client(.webSocket)
            try await client.connected()
            try await peers.first(1)
            #expect(peers.entries.count == 1)
        }
    }

    @Test(arguments: ["evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "app.example"])
    func `a name that is not the server's is refused, whether or not the page has the same (DNS rebinding)`(
        _ name: String
    ) async throws {
        try await Bench.run(configuration: Self.pages) { bench in
            let host = "\(name):\(bench.server.port)"
            let requests = [["Host": host], ["Host": host, "Origin": "http://\(host)"], ["Host": name]]
            for fields in requests {
                for answer in try self.answers(bench, fields) { #expect(answer.hasPrefix("HTTP/1.1 403 ")) }
            }
        }
    }

    @Test
    func `without a list no name is the server's but those of this machine`() async throws {
        try await Bench.run(configuration: .init { $0.introduction = .optional(within: .zero) }) { bench in
            for (name, isOurs) in [("evil.example", false), ("dev.example", false), ("localhost", true)] {
                for answer in try self.answers(bench, ["Host": name]) {
                    #expect(answer.hasPrefix("HTTP/1.1 403 ") != isOurs, "\(name)")
                }
            }
        }
    }

    @Test(arguments: ["localhost", "app.localhost", "dev.example", "DEV.example.", "192.0.2.7", "[2001:db8::7]"])
    func `the server answers under its own names, and to pages that came from there`(_ name: String) async throws {
        try await Bench.run(configuration: Self.pages) { bench in
            for host in [name, "\(name):\(bench.server.port)"] {
                #expect(try self.answers(bench, ["Host": host]).allSatisfy { !$0.hasPrefix("HTTP/1.1 4") })
                // Another port of the same name is another page.
                let page = name.hasSuffix(".") ? String(host.filter { $0 != "." }) : host
                guard page == host else { continue }
                let answers = try self.answers(bench, ["Host": host, "Origin": "http://\(page)"])
                #expect(answers.allSatisfy { !$0.hasPrefix("HTTP/1.1 4") })
                guard !name.hasSuffix("localhost") else { continue }
                let neighbours = try self.answers(bench, ["Host": host, "Origin": "http://\(name):1"])
                #expect(neighbours.allSatisfy { $0.hasPrefix("HTTP/1.1 403 ") })
            }
        }
    }

    @Test
    func `a request with no Host, or with two or a broken one, is answered 400`() async throws {
        try await Bench.run { bench in
            let hosts = ["", "Host: localhost\r\nHost: localhost\r\n", "Host: localhost:x\r\n", "Host: [::1\r\n"]
            for host in hosts {
                let client = try RawClient(port: bench.server.port)
                client.write("GET /socket.io/?EIO=4&transport=polling HTTP/1.1\r\n\(host)\r\n")
                #expect(client.read(until: "\r\n\r\n").hasPrefix("HTTP/1.1 400 "))
            }
        }
    }

    @Test
    func `the authority of a target in absolute form is the name that counts, not the Host field`() async throws {
        try await Bench.run(configuration: Self.pages) { bench in
            func ask(_ authority: String, _ host: String) throws -> String {
                let client = try RawClient(port: bench.server.port)
                client.write("GET http://\(authority)/nothing HTTP/1.1\r\n\(host)\r\n")
                return client.read(until: "\r\n\r\n")
            }
            let (allowed, other) = (
                try ask("localhost", "Host: evil.example\r\n"), try ask("evil.example", "Host: localhost\r\n")
            )
            #expect(allowed.hasPrefix("HTTP/1.1 404 "))
            #expect(other.hasPrefix("HTTP/1.1 403 "))
            // The field has to be there all the same.
            for host in ["", "Host: localhost\r\nHost: localhost\r\n", "Host: localhost:x\r\n"] {
                let answer = try ask("localhost", host)
                #expect(answer.hasPrefix("HTTP/1.1 400 "))
            }
        }
    }

    @Test
    func `a cross-site request without an origin takes no session`() async throws {
        try await Bench.run { bench in
            let answers = try self.answers(bench, ["Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"])
            #expect(answers.allSatisfy { $0.hasPrefix("HTTP/1.1 403 ") })
        }
    }

    @Test
    func `a CORS preflight is answered for an allowed page and refused for another`() async throws {
        try await Bench.run(configuration: Self.pages) { bench in
            func ask(_ origin: String) throws -> String {
                let client = try RawClient(port: bench.server.port)
                client.write(
                    "OPTIONS /socket.io/?EIO=4&transport=polling HTTP/1.1\r\nHost: localhost\r\nOrigin: \(origin)\r\n"
                        + "Access-Control-Request-Method: POST\r\n"
                        + "Access-Control-Request-Headers: content-type, x-mine\r\n\r\n")
                return client.read(until: "\r\n\r\n")
            }
            let allowed = try ask("https://app.example")
            #expect(allowed.hasPrefix("HTTP/1.1 204 "))
            #expect(allowed.contains("Access-Control-Allow-Origin: https://app.example\r\n"))
            #expect(allowed.contains("Access-Control-Allow-Methods: GET, POST\r\n"))
            #expect(allowed.contains("Access-Control-Allow-Headers: content-type, x-mine\r\n"))
            #expect(allowed.contains("Vary: Origin\r\n") && !allowed.contains("Content-Length"))
            #expect(try ask("https://evil.example").hasPrefix("HTTP/1.1 403 "))
        }
    }

    @Test(arguments: [
        ("app.example", "a"), ("https://app.example/path", "a"), ("https://a", "http://a"), ("*", "a:80"),
    ])
    func `an invalid allowed origin or host keeps the server from starting`(_ origin: String, _ host: String)
        async throws
    {
        let server = DevServer(
            hub: InMemoryHub(),
            configuration: .init {
                $0.allowedOrigins = [origin]
                $0.allowedHosts = [host]
            })
        let error = await #expect(throws: LinkspanError.self) { try await server.start() }
        #expect(error?.code == .invalidConfiguration)
    }
}
