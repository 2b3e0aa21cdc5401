#if LWS
import LinkspanLWS
import LinkspanNetwork
import Testing

@Suite("The log of libwebsockets", .timeLimit(.minutes(1)))
struct LibraryLogTests {
    @Test
    func `is not written to standard error`() async {
        let result = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
            try await withLoop(EventLoop(name: "test")) { loop in
                let recorder = Recorder()
                _ = recorder.connect(StreamRequest(host: "127.0.0.1", port: 1, isSecure: true), on: loop)
                _ = await recorder.ending()
            }
        }
        #expect(result?.standardErrorContent.isEmpty == true)
    }
}
#endif
