import LinkspanLWS
import LinkspanLock
import Testing

@Suite("A plain stream", .timeLimit(.minutes(1)))
struct EchoTests {
    @Test("carries bytes both ways after the upgrade")
    func echo() async throws {
        try await withServer({ peer in
            peer.upgrade()
            peer.echo()
        }) { server in
            try await withLoop { loop in
                let recorder = Recorder()
                let stream = recorder.connect(server.request(), on: loop)
                let head = try await recorder.opening()
                #expect(head.status == 101)
                #expect(head.upgrade == "websocket")
                #expect(head.accept == nil)
                stream.write { $0 += "hello".utf8 }
                #expect(try await recorder.bytes(5) == Array("hello".utf8))
                stream.abort()
                #expect(await recorder.ending().code == .closedByUs)
            }
        }
    }
}
