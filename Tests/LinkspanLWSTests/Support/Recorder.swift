import LinkspanLWS
import LinkspanRuntime

/// A handler that hands its events to a test, in order, and can act within them.
final class Recorder: ByteStreamHandler {
    enum Event: Sendable {
        case opened(ResponseHead)
        case received([UInt8])
        case readTurnEnded
        case drained
        case closed(ByteStreamError)
    }

    let events: AsyncStream<Event>
    private let continuation: AsyncStream<Event>.Continuation
    private let stream = Lock<ByteStream?>(nil)
    private let within: @Sendable (Event, ByteStream?) -> Void

    init(within: @escaping @Sendable (Event, ByteStream?) -> Void = { _, _ in }) {
        (self.events, self.continuation) = AsyncStream.makeStream(of: Event.self)
        self.within = within
    }

    /// Begins an attempt that this handler hears of.
    func connect(_ request: UpgradeRequest, on loop: EventLoop) -> ByteStream {
        let stream = loop.connect(request, handler: self)
        self.stream.withLock { $0 = stream }
        return stream
    }

    func opened(_ head: ResponseHead) { self.note(.opened(head)) }
    func received(_ bytes: [UInt8]) { self.note(.received(bytes)) }
    func readTurnEnded() { self.note(.readTurnEnded) }
    func drained() { self.note(.drained) }

    func closed(_ reason: ByteStreamError) {
        self.note(.closed(reason))
        self.stream.withLock { $0 = nil }
    }

    private func note(_ event: Event) {
        self.within(event, self.stream.withLock { $0 })
        self.continuation.yield(event)
    }
}

extension Recorder {
    /// Waits for the head of an opened stream, or the reason why there is none.
    func opening() async throws -> ResponseHead {
        for await event in self.events {
            switch event {
            case .opened(let head): return head
            case .closed(let reason): throw reason
            case .received, .readTurnEnded, .drained: ()
            }
        }
        throw ByteStreamError(.closedByUs, "the test was cancelled")
    }

    /// Waits for `count` bytes or the end.
    func bytes(_ count: Int) async throws -> [UInt8] {
        var bytes: [UInt8] = []
        guard count > 0 else { return bytes }
        for await event in self.events {
            switch event {
            case .received(let more): bytes += more
            case .closed(let reason): throw reason
            case .opened, .readTurnEnded, .drained: ()
            }
            if bytes.count >= count { break }
        }
        return bytes
    }

    /// Waits for the end.
    func ending() async -> ByteStreamError {
        for await event in self.events {
            if case .closed(let reason) = event { return reason }
        }
        return ByteStreamError(.closedByUs, "the test was cancelled")
    }
}
