@testable import Linkspan
internal import Dispatch
internal import LinkspanInMemory
internal import LinkspanRuntime
internal import LinkspanTesting
internal import Testing

/// A call from inside a callback takes effect behind the calls that other threads have made before it.
@Suite("Calls from inside a callback", .timeLimit(.minutes(1)))
struct InTurnTests {
    private let hub = InMemoryHub()
    private let manager = ConnectionManager()
    private let recorder = EventRecorder()

    /// A connection to a server that answers each question and notes what arrives.
    private func connected() async throws -> ConnectionHandler {
        let recorder = self.recorder
        self.hub.onConnect { peer in
            peer.onOther {
                recorder.note("arrived: \($0.event)")
                $0.reply($0.payload)
            }
        }
        return try await ConnectionBuilder("memory://server").transport(.inMemory(self.hub)).connect(by: self.manager)
            .connected(within: .seconds(30))
    }

    /// Does something on another thread, and waits until it is done.
    private static func elsewhere(_ body: @escaping @Sendable () -> Void) {
        let end = DispatchSemaphore(value: 0)
        DispatchQueue.global().async {
            body()
            end.signal()
        }
        end.wait()
    }

    @Test
    func `a request of another thread is cancelled, though it has not left the inbox`() async throws {
        let (handler, recorder) = (try await self.connected(), self.recorder)
        let request = Command(.request, event: "question", payload: .empty, completion: recorder.completion("question"))
        try handler.on("event") { _ in
            Self.elsewhere { try? handler.perform(request) }
            handler.cancel(request.id)
        }
        self.hub.emit("event", .empty)
        try await recorder.wait(for: "the outcome") { _ in !recorder.outcomes("question").isEmpty }
        #expect(recorder.failure("question")?.code == .cancelled)
        await self.manager.shutdown()
    }

    @Test
    func `a listener of another thread is taken off, though it has not left the inbox`() async throws {
        let (handler, recorder) = (try await self.connected(), self.recorder)
        let added = Lock<Subscription?>(nil)
        try handler.on("event") { _ in
            Self.elsewhere {
                let listener = try? handler.on("other") { _ in recorder.note("heard") }
                added.withLock { $0 = listener }
            }
            added.withLock { $0 }?.cancel()
            recorder.note("end")
        }
        try handler.on("last") { _ in recorder.note("last") }
        for event in ["event", "other", "last"] { self.hub.emit(event, .empty) }
        try await recorder.wait(for: "the last event") { _ in recorder.notes.contains("last") }
        #expect(added.withLock { $0 } != nil)
        #expect(recorder.notes == ["end", "last"])
        await self.manager.shutdown()
    }

    @Test
    func `a connection that another thread has had connect is disconnected`() async throws {
        let (handler, recorder) = (try await self.connected(), self.recorder)
        let first = Lock<Void?>(())
        handler.onStateChange { change in
            guard change.to == .disconnected, first.withLock({ $0.take() }) != nil else { return }
            Self.elsewhere { recorder.note((try? handler.connect()) == nil ? "not asked" : "asked") }
            try? handler.disconnect()
            recorder.note("end")
        }
        try handler.disconnect()
        try await recorder.wait(for: "the end") { _ in recorder.notes == ["asked", "end"] }
        // Told behind all that was there before.
        handler.onStatusChange { _ in recorder.note("told") }
        try await recorder.wait(for: "the state") { _ in recorder.notes.contains("told") }
        #expect(handler.state == .disconnected)
        await self.manager.shutdown()
    }
}
