internal import LinkspanNetwork
internal import LinkspanRuntime
internal import LinkspanWebSocketProtocol
internal import Testing

/// Servers that agree to the upgrade and answer in HTTP all the same.
@Suite
struct LateRefusalTests {
    /// A channel whose server sends these bytes behind its 101, in pieces of so many.
    private static func hear(_ bytes: [UInt8], inPiecesOf size: Int) throws -> ChannelRecorder {
        let recorder = ChannelRecorder()
        let loop = ScriptedLoop { request, stream in
            _ = try? stream.upgrade(request)
            for start in stride(from: 0, to: bytes.count, by: size) {
                stream.say(Array(bytes[start..<min(start + size, bytes.count)]))
            }
        }
        let upgrade = StreamRequest(host: "127.0.0.1", port: 80, isSecure: false)
        loop.enter { _ = WebSocketChannel(upgrade, on: loop, handler: recorder) }
        loop.run()
        return recorder
    }

    @Test(arguments: 1...13)
    func `a refusal is told by its status, wherever it is cut`(size: Int) throws {
        let recorder = try Self.hear(Array("HTTP/1.1 400 Bad Request\r\n\r\n".utf8), inPiecesOf: size)
        guard case .stream(let error)? = recorder.ends.first else {
            Issue.record("\(recorder.ends)")
            return
        }
        #expect(error.code == .refusedAfterUpgrade)
        #expect(error.status == 400)
        #expect(recorder.ends.count == 1)
    }

    @Test
    func `the text of a refusal is quoted in one line, when it comes with the status`() throws {
        let sentence = "the server answered with status 400 after it accepted the upgrade"
        let head = "HTTP/1.1 400 Bad Request\r\nContent-Length: 12\r\n\r\n"
        let cases: [(body: String, size: Int, text: String)] = [
            ("Bad\nrequest", 1_000, #": Bad\u{a}request"#), ("", 1_000, ""), ("\r\n", 1_000, ""),
            ("Bad request", 12, ""),
        ]
        for (body, size, text) in cases {
            let recorder = try Self.hear(Array((head + body).utf8), inPiecesOf: size)
            guard case .stream(let error)? = recorder.ends.first else {
                Issue.record("\(recorder.ends)")
                return
            }
            #expect(error.message == sentence + text)
        }
    }

    @Test(arguments: ["HTTP/1.0 400 ", "HTTP/1.1 4x0 ", "HELLO", "JTTP/1.1 400 "])
    func `bytes that are no refusal break the protocol`(text: String) throws {
        for size in [1, 100] {
            let recorder = try Self.hear(Array(text.utf8), inPiecesOf: size)
            guard case .closed(let event)? = recorder.ends.first else {
                Issue.record("\(recorder.ends)")
                return
            }
            #expect(event.violation != nil)
        }
    }

    @Test(arguments: [1, 2, 3, 100])
    func `frames are heard as they come`(size: Int) throws {
        let recorder = try Self.hear([0x81, 1, 0x48, 0x81, 1, 0x49], inPiecesOf: size)
        #expect(recorder.messages == [.text([0x48]), .text([0x49])])
        #expect(recorder.ends.isEmpty)
    }
}
