import LinkspanNetwork
import LinkspanRuntime
import TestedBackEnds
import Testing

/// Bytes that a peer sent before it broke the connection.
@Suite("A broken connection", .timeLimit(.minutes(1)), .overEachBackEnd)
struct BrokenPeerTests {
    /// Small enough for the system to take it at once.
    private static let farewell = pattern(32 << 10)

    /// The owner pauses once, or again after each piece.
    @Test(arguments: [false, true])
    func `gives what came before, though reading is paused, and then its end`(_ pausesAgain: Bool) async throws {
        try await withServer({ peer in
            peer.upgrade()
            _ = peer.read(2)
            peer.write(Self.farewell)
            peer.reset()
        }) { server in
            try await withLoop { loop in
                let recorder = Recorder { event, stream in
                    if pausesAgain, case .received = event { stream?.setReadingPaused(true) }
                }
                let stream = recorder.connect(server.request(), on: loop)
                _ = try await recorder.opening()
                stream.setReadingPaused(true)
                stream.write { $0 += [1, 2] }
                let bytes = try await recorder.bytes(Self.farewell.count)
                #expect(bytes == Self.farewell)
                #expect(await recorder.ending().code == .closedByPeer)
            }
        }
    }

    @Test
    func `gives what came before, though a write fails first`() async throws {
        let (waits, begin) = Gate.make()
        let (holds, hold) = Gate.make()
        try await withServer({ peer in
            peer.upgrade()
            peer.write([0])
            waits.wait()
            peer.write(Self.farewell)
            peer.reset()
            hold.open()
        }) { server in
            try await withLoop { loop in
                let isFirst = Lock(true)
                let recorder = Recorder { event, stream in
                    guard case .received = event, isFirst.withLock({ $0.take() }) else { return }
                    // The loop comes to the write before it looks at the socket again.
                    begin.open()
                    holds.wait()
                    stream?.write { $0 += [1] }
                }
                _ = recorder.connect(server.request(), on: loop)
                let bytes = try await recorder.bytes(1 + Self.farewell.count)
                #expect(bytes == [0] + Self.farewell)
                #expect(await recorder.ending().code == .closedByPeer)
            }
        }
    }
}

extension Bool {
    /// The value, which is false from now on.
    fileprivate mutating func take() -> Bool {
        defer { self = false }
        return self
    }
}
