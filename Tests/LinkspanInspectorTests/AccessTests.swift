internal import LinkspanNetwork
internal import Testing

@testable internal import LinkspanInspector

extension InspectorAccess {
    fileprivate static let start = ContinuousClock.now

    fileprivate mutating func decide(_ request: HTTPRequest) -> Decision { self.decide(request, now: Self.start) }

    /// The URL that is valid, without the origin.
    fileprivate mutating func target() -> String {
        String(self.invite(now: Self.start).dropFirst("http://127.0.0.1:8123".count))
    }
}

@Suite
struct AccessTests {
    private static func access(standing: String? = nil) -> InspectorAccess {
        InspectorAccess(port: 8123, standing: standing)
    }

    /// Shows a key that the inspector does not know, as a page does that an earlier run of the app has left open.
    private static let stale = [
        "Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Protocol: linkspan-inspector, session.stale",
    ]

    private static func request(_ target: String, _ fields: [String] = [], host: String = "127.0.0.1:8123") throws
        -> HTTPRequest
    {
        var parser = HTTPRequestParser(bodyBytes: 0)
        let lines = ["GET \(target) HTTP/1.1", "Host: \(host)"] + fields + ["", ""]
        parser.receive(Array(lines.joined(separator: "\r\n").utf8))
        return try #require(try parser.next())
    }

    private static func isRefused(_ decision: InspectorAccess.Decision) -> Bool {
        if case .refused(let status, _) = decision { status == 403 } else { false }
    }

    @Test func `the printed URL opens the page once`() throws {
        var access = Self.access()
        let target = access.target()
        guard case .page(let key?, _) = access.decide(try Self.request(target)) else {
            Issue.record("no page")
            return
        }
        #expect(
            access.decide(try Self.request("/snapshot", ["Authorization: Bearer \(key)"])) == .snapshot)
        #expect(access.invitations == 1)
        #expect(Self.isRefused(access.decide(try Self.request(target))))
    }

    @Test(arguments: ["/", "/?token=used", "/snapshot", "/feed?token=used"])
    func `another URL is made when somebody without a key asks for one, and one at a time`(target: String) throws {
        var access = Self.access()
        _ = access.decide(try Self.request(access.target()))
        #expect(Self.isRefused(access.decide(try Self.request("/feed", Self.stale))))
        #expect(Self.isRefused(access.decide(try Self.request("/report", ["Authorization: Bearer stale"]))))
        #expect(Self.isRefused(access.decide(try Self.request(target, ["Origin: http://evil.example"]))))
        #expect(access.invitations == 1)
        for _ in 0..<2 { #expect(Self.isRefused(access.decide(try Self.request(target)))) }
        #expect(access.invitations == 2)
        guard case .page = access.decide(try Self.request(access.target())) else {
            Issue.record("no page")
            return
        }
        #expect(access.invitations == 2)
    }

    @Test(arguments: [(Duration.seconds(599), false), (.seconds(600), true)])
    func `the printed URL works for ten minutes`(age: Duration, isRefused: Bool) throws {
        var access = Self.access()
        let request = try Self.request(access.target())
        #expect(Self.isRefused(access.decide(request, now: InspectorAccess.start + age)) == isRefused)
        #expect(access.invitations == (isRefused ? 2 : 1))
    }

    @Test(arguments: ["/", "/snapshot", "/report", "/feed", "/other", "/?token=", "/snapshot?token=x"])
    func `nothing is answered without the token`(target: String) throws {
        var access = Self.access()
        let fields = target == "/feed" ? ["Upgrade: websocket", "Connection: Upgrade"] : []
        #expect(Self.isRefused(access.decide(try Self.request(target, fields))))
    }

    @Test func `the cookie opens the empty page and nothing else`() throws {
        var access = Self.access()
        guard case .page(_, let cookie) = access.decide(try Self.request(access.target())) else {
            Issue.record("no page")
            return
        }
        let field = "Cookie: other=1; \(cookie.prefix { $0 != ";" })"
        #expect(access.decide(try Self.request("/", [field])) == .page(key: nil, cookie: ""))
        #expect(Self.isRefused(access.decide(try Self.request("/snapshot", [field]))))
        let upgrade = ["Upgrade: websocket", "Connection: Upgrade"]
        #expect(Self.isRefused(access.decide(try Self.request("/feed", [field] + upgrade))))
    }

    @Test(arguments: [
        "example.org", "example.org:8123", "127.0.0.1", "127.0.0.1:80", "127.0.0.2:8123", "rebound.localhost:8123",
        "[::1]:8123", "0.0.0.0:8123",
    ])
    func `another host name is refused even with the token, which stays good`(host: String) throws {
        var access = Self.access()
        let target = access.target()
        #expect(Self.isRefused(access.decide(try Self.request(target, host: host))))
        guard case .page = access.decide(try Self.request(target)) else {
            Issue.record("no page")
            return
        }
    }

    @Test(arguments: [
        "Origin: http://evil.example", "Origin: http://127.0.0.1:9999", "Origin: https://127.0.0.1:8123",
        "Origin: null", "Origin: http://localhost:8123", "Sec-Fetch-Site: cross-site", "Sec-Fetch-Site: same-site",
    ])
    func `another origin is refused even with the key of a session`(field: String) throws {
        var access = Self.access(standing: "standing-token-1")
        for target in ["/", "/snapshot", "/feed"] {
            let fields = [field, "Authorization: Bearer standing-token-1", "Upgrade: websocket", "Connection: Upgrade"]
            #expect(Self.isRefused(access.decide(try Self.request(target, fields))))
        }
    }

    @Test func `two origins are refused, though the first is the page's own`() throws {
        var access = Self.access(standing: "standing-token-1")
        let origins = ["Origin: http://127.0.0.1:8123", "Origin: http://evil.example"]
        let request = try Self.request("/snapshot", origins + ["Authorization: Bearer standing-token-1"])
        #expect(Self.isRefused(access.decide(request)))
    }

    @Test func `two hosts are refused, though the first is the inspector's own`() throws {
        var access = Self.access(standing: "standing-token-1")
        let fields = ["Host: evil.example", "Authorization: Bearer standing-token-1"]
        #expect(Self.isRefused(access.decide(try Self.request("/snapshot", fields))))
    }

    @Test func `an empty key opens nothing, whatever the configuration says`() throws {
        var access = Self.access(standing: "")
        let fields = ["Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Protocol: session."]
        for target in ["/feed", "/snapshot", "/snapshot?token="] {
            #expect(Self.isRefused(access.decide(try Self.request(target, fields))))
        }
    }

    @Test func `the page's own requests are answered`() throws {
        var access = Self.access()
        guard case .page(let key?, _) = access.decide(try Self.request(access.target())) else {
            Issue.record("no page")
            return
        }
        let own = ["Origin: http://127.0.0.1:8123", "Sec-Fetch-Site: same-origin"]
        #expect(access.decide(try Self.request("/report", own + ["Authorization: Bearer \(key)"])) == .report)
        let upgrade = ["Upgrade: websocket", "Connection: Upgrade"]
        let offer = "Sec-WebSocket-Protocol: linkspan-inspector, session.\(key)"
        #expect(
            access.decide(try Self.request("/feed", own + upgrade + [offer]))
                == .feed(key: nil, subprotocol: "linkspan-inspector"))
        #expect(
            access.decide(try Self.request("/feed", own + upgrade + ["Sec-WebSocket-Protocol: session.\(key)"]))
                == .feed(key: nil, subprotocol: nil))
    }

    @Test func `a standing token stays good for programs`() throws {
        var access = Self.access(standing: "standing-token-1")
        for _ in 0..<3 {
            #expect(
                access.decide(try Self.request("/snapshot", ["Authorization: Bearer standing-token-1"])) == .snapshot)
        }
        #expect(
            Self.isRefused(access.decide(try Self.request("/snapshot", ["Authorization: Bearer standing-token-2"]))))
        #expect(Self.isRefused(access.decide(try Self.request("/?token=standing-token-1"))))
        for field in ["Bearer", "Basic standing-token-1", "Bearer standing-token-1 x", "standing-token-1", ""] {
            #expect(
                Self.isRefused(access.decide(try Self.request("/snapshot", ["Authorization: \(field)"]))), "\(field)")
        }
        #expect(access.decide(try Self.request("/report", ["Authorization: bearer standing-token-1"])) == .report)
    }

    @Test func `a key has 48 hexadecimal digits, and no two are the same`() {
        let keys = (0..<1_000).map { _ in InspectorAccess.randomKey() }
        #expect(keys.allSatisfy { $0.count == 48 && $0.allSatisfy(\.isHexDigit) } && Set(keys).count == 1_000)
    }

    @Test func `the seventeenth session ends the first`() throws {
        var access = Self.access()
        var keys: [String] = []
        for _ in 0..<17 {
            if case .page(let key?, _) = access.decide(try Self.request(access.target())) {
                keys.append(key)
            }
        }
        #expect(keys.count == 17)
        #expect(Self.isRefused(access.decide(try Self.request("/snapshot", ["Authorization: Bearer \(keys[0])"]))))
        #expect(access.decide(try Self.request("/snapshot", ["Authorization: Bearer \(keys[16])"])) == .snapshot)
    }
}
