internal import LinkspanDevServer
internal import TestSupport
internal import Testing

/// The pages that the server gives to browsers.
@Suite(.timeLimit(.minutes(2)))
struct PageTests {
    private static let configuration = DevServerConfiguration {
        $0.pages = ["/": DevServerConfiguration.Page(html: "<p>hello</p>")]
    }

    private func head(_ bench: Bench, _ target: String, _ fields: String = "") throws -> String {
        let client = try RawClient(port: bench.server.port)
        client.write(
            "GET \(target) HTTP/1.1\r\nHost: 127.0.0.1:\(bench.server.port)\r\n\(fields)Connection: close\r\n\r\n")
        return String(decoding: try #require(client.readToEnd()), as: UTF8.self)
    }

    @Test
    func `a page is given out at its path, with its policy`() async throws {
        try await Bench.run(configuration: Self.configuration) { bench in
            let answer = try self.head(bench, "/")
            #expect(answer.hasPrefix("HTTP/1.1 200 OK\r\n"))
            #expect(answer.contains("Content-Type: text/html; charset=utf-8\r\n"))
            #expect(answer.contains("Content-Security-Policy: default-src 'self'"))
            #expect(answer.hasSuffix("<p>hello</p>"))
            #expect(try self.head(bench, "/other").hasPrefix("HTTP/1.1 404 "))
        }
    }

    @Test(arguments: ["/nope/", "/"])
    func `a request of Engine.IO at another path is answered with 404 at once`(path: String) async throws {
        try await Bench.run(configuration: Self.configuration) { bench in
            let upgrade =
                "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n"
            for (carrier, fields) in [("websocket", upgrade), ("polling", "")] {
                let target = "\(path)?EIO=4&transport=\(carrier)"
                let head = try self.head(bench, target, fields)
                #expect(head.hasPrefix("HTTP/1.1 404 "))
            }
        }
    }

    @Test
    func `a HEAD is answered like a GET without the body, and the next answer is whole`() async throws {
        try await Bench.run(configuration: Self.configuration) { bench in
            let client = try RawClient(port: bench.server.port)
            let host = "Host: 127.0.0.1:\(bench.server.port)\r\n"
            client.write("HEAD / HTTP/1.1\r\n\(host)\r\nHEAD /other HTTP/1.1\r\n\(host)\r\n")
            client.write("GET / HTTP/1.1\r\n\(host)Connection: close\r\n\r\n")
            let answers = String(decoding: try #require(client.readToEnd()), as: UTF8.self)
            let parts = answers.split(separator: "\r\n\r\n")
            #expect(parts.map { $0.prefix(12) } == ["HTTP/1.1 200", "HTTP/1.1 404", "HTTP/1.1 200", "<p>hello</p>"])
            #expect(parts[0].contains("Content-Length: 12"))
        }
    }

    @Test
    func `a page is refused to other origins and under other names`() async throws {
        try await Bench.run(configuration: Self.configuration) { bench in
            #expect(try self.head(bench, "/", "Origin: https://evil.example\r\n").hasPrefix("HTTP/1.1 403 "))
            #expect(try self.head(bench, "/", "Sec-Fetch-Site: cross-site\r\n").hasPrefix("HTTP/1.1 403 "))
            let client = try RawClient(port: bench.server.port)
            client.write("GET / HTTP/1.1\r\nHost: rebound.example\r\nConnection: close\r\n\r\n")
            #expect(String(decoding: try #require(client.readToEnd()), as: UTF8.self).hasPrefix("HTTP/1.1 403 "))
        }
    }

    @Test
    func `a WebSocket at the path of a page is a WebSocket`() async throws {
        try await Bench.run(configuration: Self.configuration) { bench in
            let socket = try RawWebSocket(port: bench.server.port, "/")
            #expect(socket.isOpen)
        }
    }
}
