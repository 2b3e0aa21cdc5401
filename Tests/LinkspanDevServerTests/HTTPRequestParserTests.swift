internal import LinkspanNetwork
internal import LinkspanRuntime
internal import Testing

@Suite
struct HTTPRequestParserTests {
    private static let request =
        "POST /socket.io/?EIO=4&name=a%20b+c&flag HTTP/1.1\r\nHost: x\r\nX-Y:  two words \t\r\nContent-Length: 5\r\n\r\nhello"

    private func parser() -> HTTPRequestParser { HTTPRequestParser(limits: .init(bodyBytes: 100)) }

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
        #expect(!parser.isWithinRequest)
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
