import LinkspanNetwork
import LinkspanRuntime
import TestedBackEnds
import Testing

/// Answers with 1xx ahead of the one that counts (RFC 9110 section 15.2).
@Suite(.timeLimit(.minutes(1)), .overEachBackEnd)
struct InterimAnswerTests {
    static let interim = [
        "HTTP/1.1 100 Continue\r\n\r\n", "HTTP/1.1 103 Early Hints\r\nLink: </style.css>\r\n\r\n",
        "HTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n",
    ]

    /// Whether what the server writes arrives at once, or byte by byte in packets of its own.
    static let pieces = [65_536, 1]

    private func write(_ text: String, to peer: Peer, piece: Int) {
        let bytes = Array(text.utf8)
        for start in stride(from: 0, to: bytes.count, by: piece) {
            guard peer.write(bytes[start..<min(start + piece, bytes.count)]) else { return }
        }
    }

    /// Expects an upgrade whose answer has `behind` behind it, and an echo over the stream.
    static func expectUpgrade(_ request: StreamRequest, on loop: any NetworkLoop) async throws {
        let recorder = Recorder()
        let stream = recorder.connect(request, on: loop)
        let head = try await recorder.opening()
        #expect(head.status == 101)
        let behind = try await recorder.bytes(6)
        #expect(behind == Array("behind".utf8))
        stream.write { $0 += Array("hello".utf8) }
        let echo = try await recorder.bytes(5)
        #expect(echo == Array("hello".utf8))
        stream.abort()
        _ = await recorder.ending()
    }

    /// Expects one of the ``framed`` answers to a GET.
    static func expectAnswer(_ request: StreamRequest, on loop: any NetworkLoop) async throws {
        var request = request
        request.purpose = .get
        let recorder = Recorder()
        _ = recorder.connect(request, on: loop)
        let head = try await recorder.opening()
        #expect(head.status == 200 && head.values("set-cookie") == ["a=b"])
        let body = try await recorder.bytes(7)
        #expect(body == Array("one two".utf8))
        #expect(await recorder.ending().code == .completed)
    }

    @Test(arguments: interim, pieces)
    func `are skipped before an upgrade, and the stream carries what follows`(_ interim: String, _ piece: Int)
        async throws
    {
        try await withServer({ peer in
            _ = peer.readHead()
            self.write(interim + Peer.upgraded + "behind", to: peer, piece: piece)
            peer.echo()
        }) { server in
            try await withLoop { loop in
                let request = StreamRequest(host: "127.0.0.1", port: server.port, isSecure: false)
                try await Self.expectUpgrade(request, on: loop)
            }
        }
    }

    @Test(arguments: interim)
    func `are skipped before a refusal, which keeps its status`(_ interim: String) async throws {
        try await withServer({ peer in
            _ = peer.readHead()
            peer.write(interim + "HTTP/1.1 503 Busy\r\nRetry-After: 7\r\nContent-Length: 0\r\n\r\n")
            _ = peer.readAll()
        }) { server in
            try await withLoop { loop in
                let recorder = Recorder()
                _ = recorder.connect(StreamRequest(host: "127.0.0.1", port: server.port, isSecure: false), on: loop)
                let error = await recorder.ending()
                #expect(error.code == .refused && error.status == 503 && error.retryAfter == .seconds(7))
            }
        }
    }

    /// The ways in which a body is framed, and the text of an answer with the body `one two`.
    static let framed = [
        "HTTP/1.1 200 OK\r\nSet-Cookie: a=b\r\nContent-Length: 7\r\n\r\none two",
        "HTTP/1.1 200 OK\r\nSet-Cookie: a=b\r\nTransfer-Encoding: chunked\r\n\r\n4\r\none \r\n3;x=y\r\ntwo\r\n0\r\nT: x\r\n\r\n",
    ]

    @Test(arguments: interim, framed)
    func `are skipped before the answer of an exchange, whose body is complete`(_ interim: String, _ answer: String)
        async throws
    {
        for piece in Self.pieces {
            try await withServer({ peer in
                _ = peer.readHead()
                self.write(interim + answer, to: peer, piece: piece)
                // The end of the connection is not what completes the body.
                _ = peer.readAll()
            }) { server in
                try await withLoop { loop in
                    let request = StreamRequest(host: "127.0.0.1", port: server.port, isSecure: false)
                    try await Self.expectAnswer(request, on: loop)
                }
            }
        }
    }

    @Test(arguments: framed)
    func `a body that the connection's end cuts off is not complete`(_ answer: String) async throws {
        try await withServer({ peer in
            _ = peer.readHead()
            peer.write(Self.interim[0] + answer.prefix(answer.count - (answer.hasSuffix("two") ? 1 : 12)))
        }) { server in
            try await withLoop { loop in
                let recorder = Recorder()
                var request = StreamRequest(host: "127.0.0.1", port: server.port, isSecure: false)
                request.purpose = .get
                _ = recorder.connect(request, on: loop)
                #expect(await recorder.ending().code == .closedByPeer)
            }
        }
    }

    @Test(arguments: [true, false])
    func `without end, or followed by nothing that is HTTP, are refused`(_ isEndless: Bool) async throws {
        try await withServer({ peer in
            _ = peer.readHead()
            if isEndless {
                while peer.write(Self.interim[0]) {}
            } else {
                peer.write(Self.interim[0] + "garbage\r\n\r\n")
                _ = peer.readAll()
            }
        }) { server in
            try await withLoop { loop in
                let recorder = Recorder()
                _ = recorder.connect(StreamRequest(host: "127.0.0.1", port: server.port, isSecure: false), on: loop)
                let error = await recorder.ending()
                #expect(error.code == (isEndless ? .answerHeadTooLong : .handshakeMalformed), "\(error)")
            }
        }
    }
}
