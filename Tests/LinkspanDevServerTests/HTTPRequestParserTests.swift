internal import LinkspanNetwork
internal import LinkspanRuntime
internal import Testing

@Suite
struct HTTPRequestParserTests {
    private static let request =
        "POST /socket.io/?EIO=4&name=a%20b+c&flag HTTP/1.1\r\nHost: x\r\nX-Y:  two words \t\r\nContent-Length: 5\r\n\r\nhello"

    private func parser() -> HTTPRequestParser { HTTPRequestParser(bodyBytes: 100) }

    @Test(arguments: 1...200)
    func `a request is the same, however it is cut to pieces`(_ size: Int) throws {
        var parser = self.parser()
        let bytes = Array((Self.request + Self.request).utf8)
        var requests: [HTTPRequest] = []
        for start in stride(from: 0, to: bytes.count, by: size) {
            parser.receive(Array(bytes[start..<min(start + size, bytes.count)]))
            while let request = try parser.next() { requests.append(request) }
        }
        #expect(requests.count == 2)
        for request in requests {
            #expect(request.method == "POST" && request.path == "/socket.io/" && request.isPersistent)
            #expect(request.parameter("name") == "a b c" && request.parameter("flag") == "")
            #expect(request.values("x-y") == ["two words"])
            #expect(request.body == Array("hello".utf8))
        }
        #expect(parser.rest.isEmpty)
        parser.receive(Array(Self.request.utf8))
        #expect(try parser.next() != nil)
    }

    @Test
    func `a client that speaks TLS is refused at its first byte`() throws {
        var parser = self.parser()
        parser.receive([0x16, 0x03, 0x01])
        let error = #expect(throws: HTTPRequestError.self) { try parser.next() }
        #expect(error?.status == 400 && error?.message.contains("TLS") == true)
    }

    @Test
    func `whatever bytes come, there is a request, an error, or nothing yet`() {
        var generator = SystemRandomNumberGenerator()
        let bytes = Array(Self.request.utf8)
        for _ in 0..<5_000 {
            var mutated = bytes
            for _ in 0..<Int.random(in: 1...4, using: &generator) {
                mutated[Int.random(in: mutated.indices, using: &generator)] = .random(
                    in: .min ... .max, using: &generator)
            }
            var parser = self.parser()
            parser.receive(mutated)
            do throws(HTTPRequestError) {
                while let request = try parser.next() { #expect(request.body.count <= 100) }
            } catch {
                #expect((400...505).contains(error.status))
                // It stays an error.
                #expect(throws: HTTPRequestError.self) { try parser.next() }
            }
        }
    }

    @Test(arguments: [
        ("http://127.0.0.1:3998/path?a=b", "/path", "127.0.0.1:3998"), ("HTTP://localhost", "/", "localhost"),
        ("https://app.example?a=b", "/", "app.example"), ("http://[::1]:80//x", "//x", "[::1]:80"),
    ])
    func `the authority of a target in absolute form replaces the host`(
        _ target: String, _ path: String, _ host: String
    ) throws {
        var parser = self.parser()
        parser.receive(Array("GET \(target) HTTP/1.1\r\nHost: other\r\nX-Y: z\r\n\r\n".utf8))
        let request = try #require(try parser.next())
        #expect(request.path == path)
        #expect(request.values("host") == [host])
        #expect(request.parameter("a") == (target.contains("?") ? "b" : nil))
    }

    @Test(
        arguments: [
            ("GET /\u{7E}", nil), ("get /", 400), ("GET  /", 400), (" /", 400), ("GET /\u{7F}", 400), ("GET /é", 400),
            ("GET / x", 400), ("@ /", 400), ("[ /", 400), ("G\t /", 400),
        ] as [(String, Int?)])
    func `a request line has a method in capitals and a target in ASCII`(line: String, status: Int?) {
        #expect(self.status("\(line) HTTP/1.1\r\n\r\n") == status)
    }

    @Test(
        arguments: [
            ("Content-Length: 100", nil), ("Content-Length: 101", 413), ("Content-Length: 000000000000000001", nil),
            ("Content-Length: 0000000000000000001", 400), ("Content-Length: ", 400), ("Content-Length: +1", 400),
            ("Content-Length: 1\r\nContent-Length: 1", 400), ("Transfer-Encoding: ", 501), (": x", 400),
            ("A b: x", 400),
            ("A: \u{9}\u{80}", nil), ("A: \u{1}", 400), ("A: \u{7F}", 400), ("A: \u{1F}", 400), ("A\u{7F}: x", 400),
        ] as [(String, Int?)])
    func `fields that are malformed, or about a body that is not read, are refused`(fields: String, status: Int?) {
        #expect(self.status("POST / HTTP/1.1\r\n\(fields)\r\n\r\n\(String(repeating: "x", count: 100))") == status)
    }

    @Test
    func `a head has 100 fields and 16 KiB at most`() {
        func head(_ fields: Int) -> String { "GET / HTTP/1.1\r\n\(String(repeating: "A: b\r\n", count: fields))\r\n" }
        #expect(self.status(head(100)) == nil && self.status(head(101)) == 431)
        for (size, status) in [(16 << 10, nil), (16 << 10 + 1, 431)] as [(Int, Int?)] {
            let head = "GET / HTTP/1.1\r\nA: "
            let rest = String(repeating: "x", count: size - head.utf8.count - 4)
            #expect(self.status("\(head)\(rest)\r\n\r\n") == status, "\(size)")
        }
    }

    @Test(
        arguments: [
            ("1.1", "", true), ("1.0", "", false), ("1.1", "Connection: Close\r\n", false),
            ("1.1", "Connection: keep-alive\r\n", true), ("1.1", "Connection: a, close\r\n", false),
            ("1.0", "Connection: keep-alive\r\n", false),
        ])
    func `a client of HTTP 1.1 sends more requests unless it says that it does not`(
        version: String, fields: String, isPersistent: Bool
    ) throws {
        for (expectation, isExpected) in [("100-Continue", true), ("other", false)] {
            var parser = self.parser()
            parser.receive(Array("GET / HTTP/\(version)\r\n\(fields)Expect: \(expectation)\r\n\r\n".utf8))
            let request = try #require(try parser.next())
            #expect(request.isPersistent == isPersistent)
            #expect(request.expectsContinue == (isExpected && version == "1.1"))
        }
    }

    @Test
    func `a query is decoded, and what is malformed in it stays`() throws {
        var parser = self.parser()
        parser.receive(Array("GET /p?a=%41%c3%A9+%2b&b=%4&c=%zz=%&&d=%2&=e HTTP/1.1\r\n\r\n".utf8))
        let request = try #require(try parser.next())
        #expect(request.query.map(\.name) == ["a", "b", "c", "d", ""])
        #expect(request.query.map(\.value) == ["Aé +", "%4", "%zz=%", "%2", "e"])
    }

    /// The status with which a request is refused; nil when it is served.
    private func status(_ request: String) -> Int? {
        var parser = self.parser()
        parser.receive(Array(request.utf8))
        do throws(HTTPRequestError) {
            let request = try parser.next()
            #expect(request != nil)
            return nil
        } catch {
            return error.status
        }
    }

    @Test(arguments: ["", "Host:\r\n", "Host: a:b\r\n", "Host: a\r\nHost: b\r\n"])
    func `a host that is missing, invalid or repeated is not replaced`(_ fields: String) throws {
        var parser = self.parser()
        parser.receive(Array("GET http://localhost/ HTTP/1.1\r\n\(fields)\r\n".utf8))
        let request = try #require(try parser.next())
        #expect(!request.values("host").contains("localhost"))
    }

    @Test(arguments: [
        "ftp://localhost/", "http:/localhost/", "http:///", "http://", "http://user@localhost/",
        "http://localhost:99999/", "http://[::1/", "localhost:80", "*",
    ])
    func `a target that is neither a path nor a URL of HTTP is malformed`(_ target: String) {
        var parser = self.parser()
        parser.receive(Array("GET \(target) HTTP/1.1\r\nHost: localhost\r\n\r\n".utf8))
        let error = #expect(throws: HTTPRequestError.self) { try parser.next() }
        #expect(error?.status == 400)
    }

    @Test(arguments: 1...20)
    func `empty lines before a request are skipped, however they are cut to pieces`(_ size: Int) throws {
        var parser = self.parser()
        let bytes = Array("\r\n\r\n\r\n\(Self.request)\r\n\(Self.request)\r\n".utf8)
        var bodies: [String] = []
        for start in stride(from: 0, to: bytes.count, by: size) {
            parser.receive(Array(bytes[start..<min(start + size, bytes.count)]))
            while let request = try parser.next() { bodies.append(String(decoding: request.body, as: UTF8.self)) }
        }
        #expect(bodies == ["hello", "hello"])
        #expect(parser.rest.isEmpty)
        parser.receive(Array(Self.request.utf8))
        #expect(try parser.next() != nil)
    }

    @Test
    func `empty lines without end are larger than a head may be`() {
        var parser = self.parser()
        var status: Int?
        for _ in 0..<100 where status == nil {
            parser.receive(Array(String(repeating: "\r\n", count: 100).utf8))
            do throws(HTTPRequestError) { _ = try parser.next() } catch { status = error.status }
            #expect(parser.rest.isEmpty)
        }
        #expect(status == 431)
    }

    @Test
    func `bytes after a request are available unchanged`() throws {
        var parser = self.parser()
        parser.receive(Array("GET / HTTP/1.1\r\n\r\n\u{81}x".utf8))
        _ = try parser.next()
        let rest = parser.takeRest()
        #expect(rest == Array("\u{81}x".utf8))
    }

    @Test
    func `what is left of a read moves once, however many requests it has`() throws {
        let bytes = Array(String(repeating: "GET / HTTP/1.1\r\nContent-Length: 1\r\n\r\nx", count: 10_000).utf8)
        let (moves, size) = (Lock(0), 1 << 14)
        var parser = self.parser()
        var count = 0
        try Growth.$onStep.withValue({ moves.withLock { $0 += 1 } }) {
            for start in stride(from: 0, to: bytes.count, by: size) {
                parser.receive(Array(bytes[start..<min(start + size, bytes.count)]))
                while try parser.next() != nil { count += 1 }
            }
        }
        #expect(count == 10_000)
        #expect(moves.withLock { $0 } <= bytes.count / size)
    }
}
