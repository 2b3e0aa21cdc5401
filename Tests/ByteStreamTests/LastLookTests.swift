import LinkspanNetwork
import LinkspanRuntime
import TestedBackEnds
import Testing

/// Timers that judge whether a peer is silent, on a loop that is busy.
@Suite("Two timers with a long job between them", .timeLimit(.minutes(1)), .overEachBackEnd)
struct LastLookTests {
    @Test
    func `have what arrived before the job read before the second fires`() async throws {
        // SwiftNIO cannot be asked for a look at its sockets.
        guard NetworkBackEnd.current != .nio else { return }
        let isInTime = try await withLoop { loop in try await Self.isHeardInTime(on: loop) }
        #expect(isInTime)
    }

    /// Whether bytes that arrive while the first timer fires are read before the second does.
    private static func isHeardInTime(on loop: any NetworkLoop) async throws -> Bool {
        let (asks, ask) = Gate.make()
        let (answers, answer) = Gate.make()
        return try await withServer({ peer in
            peer.upgrade()
            asks.wait()
            peer.write([1])
            answer.open()
            _ = peer.readAll()
        }) { server in
            let isHeard = Lock(false)
            let recorder = Recorder { event, _ in
                if case .received = event { isHeard.withLock { $0 = true } }
            }
            let stream = recorder.connect(server.request(), on: loop)
            _ = try await recorder.opening()
            let isInTime = await withCheckedContinuation { (continuation: CheckedContinuation<Bool, Never>) in
                loop.schedule(at: .now + .milliseconds(1)) {
                    ask.open()
                    answers.wait()
                    let due = ContinuousClock.now + .milliseconds(10)
                    loop.schedule(at: due) { continuation.resume(returning: isHeard.withLock { $0 }) }
                    // In the next turn, at whose end the second timer is due.
                    loop.execute { while ContinuousClock.now < due {} }
                    loop.execute {}
                }
            }
            stream.abort()
            _ = await recorder.ending()
            return isInTime
        }
    }
}
