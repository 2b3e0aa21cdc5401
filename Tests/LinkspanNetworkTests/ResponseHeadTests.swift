internal import Testing

@testable internal import LinkspanNetwork

@Suite("The head of an answer")
struct ResponseHeadTests {
    private static func head(_ text: String) -> ResponseHead? { ResponseHead(Array(text.utf8)[...]) }

    @Test
    func `has a status, and the values of each field in their order`() throws {
        let head = try #require(Self.head("HTTP/1.0 204\r\nA:1\r\nB: 2 \r\na: 3\r\n x\r\nC:\r\n\r\n"))
        #expect(head.status == 204 && head.values("a") == ["1", "3 x"] && head["a"] == "1,3 x")
        #expect(head["b"] == "2" && head["c"] == "" && head["d"] == nil && head.values("d").isEmpty)
        #expect(head.list("b") == ["2"] && head.list("c").isEmpty && head.list("d").isEmpty)
        #expect(head == ResponseHead(status: 204, fields: ["a": ["1", "3 x"], "b": ["2"], "c": [""]]))
    }

    @Test(arguments: [
        "", "\r\n\r\n", "HTTP/1.1\r\n\r\n", "HTTP/2 200 OK\r\n\r\n", "HTTP/1.1 20 OK\r\n\r\n", "HTTP/1.1 2000\r\n\r\n",
        "HTTP/1.1 2x0 OK\r\n\r\n", "HTTP/1.1 200 OK\r\nA\r\n\r\n", "HTTP/1.1 200 OK\r\n: a\r\n\r\n",
    ])
    func `is none without a version, a status of three digits, and names before colons`(text: String) {
        #expect(Self.head(text) == nil)
    }

    @Test(
        arguments: [
            ("0", .zero), ("120", .seconds(120)), ("86400", .seconds(86_400)), ("86401", .seconds(86_400)),
            ("99999999999999999999", .seconds(86_400)), ("-1", nil), ("1.5", nil), ("", nil),
            ("Fri, 27 Nov 2026 00:00:00 GMT", nil),
        ] as [(String, Duration?)])
    func `says when to try again in seconds, a day at most`(text: String, after: Duration?) {
        let head = ResponseHead(status: 503, fields: ["retry-after": [text]])
        #expect(head.retryAfter == after && head.refusal.retryAfter == after && head.upgradeError?.retryAfter == after)
        #expect(ResponseHead(status: 302, fields: ["retry-after": [text]]).upgradeError?.retryAfter == after)
        #expect(ResponseHead(status: 503).retryAfter == nil)
    }

    @Test(
        arguments: [
            (["keep-alive"], true), (["Keep-Alive"], true), (["upgrade, keep-alive"], true),
            (["keep-alive", "close"], false),
            (["close"], false), ([], false), (["keep-alive,close"], false), (["keep-alive-not"], false),
        ])
    func `keeps the connection when it says so and nothing against it`(options: [String], keeps: Bool) {
        let head = ResponseHead(status: 200, fields: options.isEmpty ? [:] : ["connection": options])
        #expect(head.keepsConnection == keeps)
    }

    @Test
    func `is an interim one from 100 to 199, but for 101`() {
        let interim = [99, 100, 101, 102, 199, 200].filter { ResponseHead(status: $0).isInterim }
        #expect(interim == [100, 102, 199])
    }

    @Test(
        arguments: [
            ("https://user:secret@Host.example:1/path?secret#secret", " to https://Host.example:1"),
            ("http://host", " to http://host"), ("abcdefghijklmnop://host?secret", " to abcdefghijklmnop://host"),
            ("abcdefghijklmnopq://host", ""), ("/secret", ""), ("//host/secret", ""), ("https:host", ""),
            ("https://a b/secret", ""), ("https://é/", ""), ("https://secret@@host\\x", " to https://host"),
            ("https://\(String(repeating: "h", count: 255))", " to https://\(String(repeating: "h", count: 255))"),
            ("https://\(String(repeating: "h", count: 256))", ""), ("https://a\u{7F}/", ""),
        ])
    func `of a redirect shows scheme and host of the place alone`(location: String, place: String) {
        for status in [300, 302, 399] {
            let error = ResponseHead(status: status, fields: ["location": [location]]).upgradeError
            #expect(error?.code == .redirected && error?.status == status)
            #expect(error?.message == "the server redirects\(place) (status \(status)), which is not followed")
        }
    }

    @Test
    func `opens a stream with 101 and no body, and says why it does not`() {
        #expect(ResponseHead(status: 101).upgradeError == nil)
        for field in ["content-length", "transfer-encoding"] {
            let error = ResponseHead(status: 101, fields: [field: ["0"]]).upgradeError
            #expect(error?.code == .handshakeMalformed && error?.status == 101)
        }
        var head = ResponseHead(status: 404)
        #expect(head.refusal.message == "the server answered with status 404: there is nothing at this path")
        head.path = "/x"
        #expect(head.upgradeError?.message == "the server answered with status 404: there is nothing at /x")
        #expect(ResponseHead(status: 403).upgradeError?.message == "the server answered with status 403")
        let statuses = [99, 100, 200, 400, 999, 1_000].map { ResponseHead(status: $0).upgradeError?.code }
        #expect(statuses == [.handshakeMalformed, .refused, .refused, .refused, .refused, .handshakeMalformed])
    }
}

@Suite("Texts of requests")
struct RequestTextTests {
    @Test
    func `everything but unreserved characters is percent-encoded`() {
        #expect(PercentEncoding.escape("aZ09-._~") == "aZ09-._~")
        #expect(PercentEncoding.escape("\u{1}\u{F}\u{10} /%é") == "%01%0F%10%20%2F%25%C3%A9")
    }

    @Test
    func `addresses of two families take turns, beginning with that of the first`() {
        #expect(NumericAddress.interleaved(["1", "2", "::3", "::4", "::5"]) == ["1", "::3", "2", "::4", "::5"])
        #expect(NumericAddress.interleaved(["::1", "2", "3", "4"]) == ["::1", "2", "3", "4"])
        #expect(NumericAddress.interleaved(["::1", "::2"]) == ["::1", "::2"])
        #expect(NumericAddress.interleaved([]).isEmpty)
    }
}

@Suite("Defaults of the network")
struct NetworkDefaultTests {
    @Test
    func `are the documented ones`() {
        let (keepAlive, terms) = (WebSocketKeepAlive(), WebSocketTerms())
        #expect(keepAlive == WebSocketKeepAlive(interval: .seconds(15), timeout: .seconds(10)))
        #expect(keepAlive.interval == .seconds(15) && keepAlive.timeout == .seconds(10))
        #expect(terms.highWaterMark == 1 << 20 && terms.messageDeadline == .seconds(30))
        #expect(terms.keepAlive == nil && WebSocketTerms.messageProgress == 64 << 10)
        let request = StreamRequest(host: "a", port: 1, isSecure: false)
        #expect(request.target == "/" && request.deadline == .seconds(10) && request.lowWaterMark == 64 << 10)
        #expect(request.highWaterMark == .max && request.purpose == .upgrade && !request.keepsConnection)
        let limits = ServerConnection.Limits(messageBytes: 7)
        #expect(limits.messageBytes == 7 && limits.waitingBytes == 16 << 20 && limits.restTimeout == nil)
        #expect(limits.requestTimeout == .seconds(10) && KeptConnections().idleLimit == .seconds(1))
    }
}
