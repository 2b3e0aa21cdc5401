#if LWS
import LinkspanLWS
import LinkspanNetwork
import LinkspanRuntime
import Testing

@Suite("The log of libwebsockets", .timeLimit(.minutes(1)))
struct LibraryLogTests {
    @Test
    func `gives the library's lines to the loop's log, and none to standard error`() async {
        let result = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
            let lines = Lock<[String]>([])
            try await withLoop(EventLoop(name: "test")) { loop in
                let recorder = Recorder()
                _ = recorder.connect(UpgradeRequest(host: "127.0.0.1", port: 1, isSecure: true), on: loop)
                _ = await recorder.ending()
            }
            let loop = EventLoop(name: "test") { _, line in lines.withLock { $0.append(line) } }
            await hop(loop)
            loop.shutdown()
            try #require(lines.withLock { $0.contains { $0.contains("LWS") } })
        }
        #expect(result?.standardErrorContent.isEmpty == true)
    }
}
#endif
