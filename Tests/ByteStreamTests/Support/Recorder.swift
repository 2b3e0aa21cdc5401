import Dispatch
import Linkspan
import LinkspanNetwork
import LinkspanRuntime

/// A handler that hands its events to a test, in order, and can act within them.
final class Recorder: ByteStreamHandler, Sendable {
    enum Event: Sendable {
        case opened(ResponseHead)
        case received([UInt8])
        case writable
        case closed(ByteStreamError)
    }

    let events: AsyncStream<Event>
    private let continuation: AsyncStream<Event>.Continuation
    private let stream = Lock<TestStream?>(nil)
    private let within: @Sendable (Event, TestStream?) -> Void

    init(within: @escaping @Sendable (Event, TestStream?) -> Void = { _, _ in }) {
        (self.events, self.continuation) = AsyncStream.makeStream(of: Event.self)
        self.within = within
    }

    /// Begins an attempt that this handler hears of.
    func connect(_ request: StreamRequest, on loop: any NetworkLoop) -> TestStream {
        loop.sync {
            let stream = loop.connect(request, self)
            self.stream.withLock { $0 = stream }
            return stream
        }
    }

    func opened(_ head: ResponseHead) { self.note(.opened(head)) }
    func received(_ bytes: [UInt8]) { self.note(.received(bytes)) }
    func writable() { self.note(.writable) }

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
            case .received, .writable: ()
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
            case .opened, .writable: ()
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

/// A stream for tests, which run on any thread: each call waits for the loop to make it.
final class TestStream: Sendable {
    let loop: any NetworkLoop
    private let stream: Confined<any ByteStream>

    init(_ stream: any ByteStream, on loop: any NetworkLoop) {
        self.loop = loop
        self.stream = Confined(stream, to: loop)
    }

    @discardableResult
    func write(_ fill: @escaping @Sendable (inout [UInt8]) -> Void) -> SendAcceptance {
        self.loop.sync { self.stream.value.write(fill) }
    }

    /// Writes; returns how many bytes wait then, nil when nothing was taken.
    func pendingBytes(afterWriting fill: @escaping @Sendable (inout [UInt8]) -> Void) -> Int? {
        self.loop.sync {
            if case .refused = self.stream.value.write(fill) { nil } else { self.stream.value.pendingBytes }
        }
    }

    var pendingBytes: Int { self.loop.sync { self.stream.value.pendingBytes } }

    func finish(readingAtMost limit: Int = .max) { self.loop.sync { self.stream.value.finish(readingAtMost: limit) } }
    func abort() { self.loop.sync { self.stream.value.abort() } }
    func setReadingPaused(_ isPaused: Bool) { self.loop.sync { self.stream.value.setReadingPaused(isPaused) } }

    /// Has `body` see the stream itself.
    func withStream(_ body: @escaping @Sendable (any ByteStream) -> Void) {
        self.loop.sync { body(self.stream.value) }
    }
}

extension NetworkLoop {
    /// Begins an attempt, from any thread.
    func connect(_ request: StreamRequest, _ handler: some ByteStreamHandler & Sendable) -> TestStream {
        self.sync { TestStream(self.connect(request, handler: handler), on: self) }
    }

    /// Does something on the loop, and waits for it.
    func sync<Result: Sendable>(_ body: @escaping @Sendable () -> Result) -> Result {
        guard !self.isCurrent else { return body() }
        let done = DispatchSemaphore(value: 0)
        let result = Lock<Result?>(nil)
        self.execute {
            let given = body()
            result.withLock { $0 = given }
            done.signal()
        }
        while true {
            done.wait()
            if let result = result.withLock({ $0 }) { return result }
        }
    }

    /// Listens; the listener is for tests as well.
    func listen(
        address: String = "127.0.0.1", port: Int = 0, path: String? = nil,
        accept: @escaping @Sendable (any ByteStream) -> (any ByteStreamHandler)?
    ) async throws(ByteStreamError) -> TestListener {
        let result = await self.perform { () -> Result<TestListener, ByteStreamError> in
            Result { () throws(ByteStreamError) in
                let request = ListenRequest(address: address, port: port, path: path)
                return TestListener(try self.listen(request, accept: accept), on: self)
            }
        }
        return try result.get()
    }
}

final class TestListener: Sendable {
    let port: Int
    private let loop: any NetworkLoop
    private let listener: Confined<any ByteListener>

    init(_ listener: any ByteListener, on loop: any NetworkLoop) {
        self.port = listener.port
        self.loop = loop
        self.listener = Confined(listener, to: loop)
    }

    func close() async {
        await withCheckedContinuation { continuation in
            self.loop.execute { self.listener.value.close { continuation.resume() } }
        }
    }
}
