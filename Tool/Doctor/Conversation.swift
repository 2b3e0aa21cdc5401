import Foundation
import Linkspan
import LinkspanNetwork
import LinkspanRuntime
import LinkspanWebSocketProtocol

/// A WebSocket whose events are waited for one by one; pings of Engine.IO are answered as they arrive.
final class Conversation: WebSocketChannelHandler, Sendable {
    /// An event of the WebSocket, or the end of a wait.
    enum Event: Sendable {
        case opened
        case text(String)
        case binary
        /// A ping of Engine.IO.
        case ping
        /// The answer to ``ping()``.
        case pong
        case ended(WebSocketEnd)
        case timeUp(UUID)
    }

    private let loop: any NetworkLoop
    private let channel: Confined<WebSocketChannel?>
    private let events: AsyncStream<Event>
    private let event: AsyncStream<Event>.Continuation
    private let answered = Lock(false)
    private let activity = Lock(ContinuousClock.now)
    private let patience: Duration

    init(
        _ request: StreamRequest, subprotocols: [String], on loop: any NetworkLoop, within patience: Duration
    ) {
        (self.loop, self.patience) = (loop, patience)
        self.channel = Confined(nil, to: loop)
        (self.events, self.event) = AsyncStream.makeStream()
        loop.execute {
            self.channel.value = WebSocketChannel(request, subprotocols: subprotocols, on: loop, handler: self)
        }
    }

    /// Whether the server has sent a pong since the connection was opened.
    var hasPong: Bool { self.answered.withLock { $0 } }

    /// When a message was last sent or received.
    var lastActivity: ContinuousClock.Instant { self.activity.withLock { $0 } }

    /// The next event; nil when none comes in time, which is that of a step unless given.
    func next(within limit: Duration? = nil) async -> Event? {
        let (wait, event) = (UUID(), self.event)
        // No parent is left to own it when an event comes in time; then nobody looks at what it says.
        let alarm = Task {
            try? await Task.sleep(for: limit ?? self.patience)
            event.yield(.timeUp(wait))
        }
        defer { alarm.cancel() }
        var iterator = self.events.makeAsyncIterator()
        while let event = await iterator.next() {
            guard case .timeUp(let number) = event else { return event }
            if number == wait { return nil }
        }
        return nil
    }

    /// The next message or end, whatever else comes before; nil when there is none in time.
    func nextMessage(within limit: Duration? = nil) async -> Event? {
        let end = ContinuousClock.now + (limit ?? self.patience)
        while let event = await self.next(within: ContinuousClock.now.duration(to: end)) {
            switch event {
            case .text, .binary, .ended: return event
            default: ()
            }
        }
        return nil
    }

    /// Sends a text.
    func send(_ text: String) {
        let bytes = Array(text.utf8)
        self.withChannel { channel in
            _ = channel.send(.text, length: bytes.count) { $0.append(contentsOf: bytes) }
        }
    }

    /// Sends a ping of the WebSocket protocol.
    func ping() { self.withChannel { _ = $0.ping() } }

    /// Closes the WebSocket.
    func close() { self.withChannel { $0.close() } }

    private func withChannel(_ body: @escaping @Sendable (WebSocketChannel) -> Void) {
        self.loop.execute {
            if let channel = self.channel.value { body(channel) }
            self.activity.withLock { $0 = .now }
        }
    }

    func opened(_ head: ResponseHead, subprotocol: String?) {
        self.activity.withLock { $0 = .now }
        self.event.yield(.opened)
    }

    func received(_ next: () -> WebSocketMessage?) {
        self.activity.withLock { $0 = .now }
        while let message = next() {
            switch message {
            case .text(let bytes) where bytes.elementsEqual("2".utf8):
                self.send("3")
                self.event.yield(.ping)
            case .text(let bytes): self.event.yield(.text(String(decoding: bytes, as: UTF8.self)))
            case .binary: self.event.yield(.binary)
            }
        }
    }

    func answeredPing(after roundTrip: Duration) {
        self.answered.withLock { $0 = true }
        self.event.yield(.pong)
    }

    func writable() {}

    func closed(_ end: WebSocketEnd) {
        self.channel.value = nil
        // An upgrade without an answer is found by the wait for it, whose time is up at the same moment.
        if case .stream(let error) = end, error.stage == .upgrade { return }
        self.event.yield(.ended(end))
    }
}
