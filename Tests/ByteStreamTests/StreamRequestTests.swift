import LinkspanNetwork
import Testing

@Suite("An upgrade request")
struct StreamRequestTests {
    private func request(_ change: (inout StreamRequest) -> Void) -> StreamRequest {
        var request = StreamRequest(host: "example.com", port: 80, isSecure: false)
        change(&request)
        return request
    }

    private func code(_ change: (inout StreamRequest) -> Void) -> ByteStreamError.Code? {
        do throws(ByteStreamError) {
            try self.request(change).validated()
            return nil
        } catch {
            #expect(!error.description.contains("secret"))
            return error.code
        }
    }

    @Test(arguments: ["example.com", "a_b-c.example", "127.0.0.1", "::1", "[fe80::1]"])
    func `is valid with ordinary parts`(host: String) {
        let code = self.code {
            $0.host = host
            $0.target = "/path/%20?query=a&b=c"
            $0.headers = [("X-Header", "value with spaces"), ("Cookie", "a=b; c=d"), ("Origin", "https://a.example")]
        }
        #expect(code == nil)
    }

    @Test(arguments: [
        "\r", "\n", "\0", "\t", "\u{7F}", "é", "\u{1B}",
    ])
    func `is refused with a character that would break the request, in any part`(character: String) {
        let text = "a\(character)secret"
        #expect(self.code { $0.host = text } == .invalidRequest)
        #expect(self.code { $0.target = "/" + text } == .invalidRequest)
        #expect(self.code { $0.headers = [(text, "value")] } == .invalidRequest)
        #expect(self.code { $0.headers = [("X-Header", text)] } == .invalidRequest)
    }

    @Test(arguments: [
        "", "a b", "a/b", "a:80", "user@host", "[::1", "::1]", "a?b", "a#b", "[]",
    ])
    func `is refused with parts that mean something else than they say`(host: String) {
        #expect(self.code { $0.host = host } == .invalidRequest)
    }

    @Test(arguments: [
        "", "path", "http://other/", "/a b", "/a#b", "*",
    ])
    func `is refused with a target that does not start with a slash, has spaces or a fragment`(target: String) {
        #expect(self.code { $0.target = target } == .invalidRequest)
    }

    @Test(arguments: [
        "Host", "hOST", "Content-Length", "Transfer-Encoding", "", "a b", "a:", "(",
    ])
    func `is refused with headers that frame the request`(name: String) {
        #expect(self.code { $0.headers = [(name, "1")] } == .invalidRequest)
    }

    @Test(arguments: [-1, 0, 65_536])
    func `an invalid port is rejected`(port: Int) {
        #expect(self.code { $0.port = port } == .invalidRequest)
    }

    @Test
    func `takes a request line of 2,000 bytes and no more`() {
        let room = 2_000 - "GET  HTTP/1.1".utf8.count
        #expect(self.code { $0.target = "/" + String(repeating: "a", count: room - 1) } == nil)
        #expect(self.code { $0.target = "/" + String(repeating: "a", count: room) } == .requestTooLong)
    }

    @Test
    func `takes a host with port of 100 bytes and no more`() {
        #expect(self.code { $0.host = String(repeating: "a", count: 100) } == nil)
        #expect(self.code { $0.host = String(repeating: "a", count: 101) } == .requestTooLong)
        let withPort = self.code {
            $0.host = String(repeating: "a", count: 96)
            $0.port = 8080
        }
        #expect(withPort == .requestTooLong)
    }

    @Test
    func `takes 3.5 KiB in all and no more, and says where a token belongs`() {
        #expect(self.code { $0.headers = [("Authorization", String(repeating: "a", count: 3_400))] } == nil)
        #expect(self.code { $0.headers = [("Authorization", String(repeating: "a", count: 3_500))] } == .requestTooLong)
        for (count, code) in [(1_500, nil), (1_700, .requestTooLong)] as [(Int, ByteStreamError.Code?)] {
            let whole = self.code {
                $0.target = "/" + String(repeating: "a", count: 1_900)
                $0.headers = [("Authorization", String(repeating: "a", count: count))]
            }
            #expect(whole == code)
        }
        let request = self.request { $0.target = "/?token=" + String(repeating: "a", count: 2_000) }
        let error = #expect(throws: ByteStreamError.self) { try request.validated() }
        #expect(error?.message.contains("token") == true)
    }

    @Test(arguments: [
        ("example.com", 80, false, "example.com"), ("example.com", 443, true, "example.com"),
        ("example.com", 443, false, "example.com:443"), ("::1", 443, true, "[::1]"), ("[::1]", 8, true, "[::1]:8"),
        ("10.0.0.1", 80, false, "10.0.0.1"), ("10.0.0.1", 8, true, "10.0.0.1:8"),
    ])
    func `names the port in its host unless it is the scheme's`(host: String, port: Int, isSecure: Bool, header: String)
    {
        #expect(StreamRequest(host: host, port: port, isSecure: isSecure).hostHeader == header)
    }

    @Test
    func `arrives whole at its longest`() async throws {
        let (heads, found) = AsyncStream.makeStream(of: String.self)
        try await withServer({ peer in found.yield(peer.upgrade()) }) { server in
            try await withLoop { loop in
                var request = server.request("/" + String(repeating: "a", count: 1_980))
                request.headers = [("Authorization", String(repeating: "c", count: 1_410)), ("X-Last", "end")]
                try request.validated()
                let recorder = Recorder()
                _ = recorder.connect(request, on: loop)
                let head = try #require(await heads.first { _ in true })
                #expect(head.hasPrefix("GET \(request.target) HTTP/1.1\r\n"))
                #expect(head.contains("\r\nAuthorization: \(request.headers[0].value)\r\nX-Last: end\r\n"))
                #expect(head.hasSuffix("\r\n\r\n"))
                #expect(head.utf8.count <= 3_584)
                #expect(!head.utf8.contains(0))
            }
        }
    }
}
