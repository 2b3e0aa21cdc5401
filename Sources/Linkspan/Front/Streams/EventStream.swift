/// The messages of an event as an asynchronous sequence, in the order of the wire.
///
/// An element of ``Connection/events(_:capacity:bytes:overflow:)`` is a message and how many were dropped between the
/// former one and it; ``items`` yields the marks between messages as well, and
/// ``Connection/values(_:capacity:overflow:)`` decoded values:
///
/// ```swift
/// for await item in try connection.events("message").items {
///     switch item {
///     case .message(let message): try show(message)
///     case .continuity(.continuous): ()
///     case .continuity(.gap(let reason)): reload(because: reason)
///     }
/// }
/// ```
///
/// Elements wait in a queue that is bounded in count and in bytes; what happens when it is full is the caller's choice
/// (``StreamOverflow``). Unless it is ``StreamOverflow/pause``, a slow reader never slows the peer, which would hold up
/// replies, heartbeats and everybody else's messages too.
///
/// The stream ends when the connection is released, the listening ends, or the iterating task is cancelled. One
/// iterator at a time; what it has not returned waits for the next one, under the same bounds.
public struct EventStream<Element: Sendable>: AsyncSequence, Sendable {
    let queue: EventQueue
    let element: @Sendable (EventBacklog.Entry) -> Element
    /// Nil when marks are left out.
    var mark: (@Sendable (Continuity) -> Element)?

    /// The error of a stream that ended because it was full (``StreamOverflow/end``): code `bufferFull`.
    public var error: LinkspanError? { self.queue.error }

    /// Makes an iterator.
    public func makeAsyncIterator() -> Iterator { Iterator(stream: self) }

    /// Iterates over the elements, taking all that wait at once.
    public struct Iterator: AsyncIteratorProtocol {
        let stream: EventStream
        private let unread: UnreadEvents

        init(stream: EventStream) {
            self.stream = stream
            self.unread = UnreadEvents(of: stream.queue)
        }

        // Before macOS 15 and its siblings the standard library has no default for it.
        /// The next element, or nil at the end.
        public mutating func next() async -> Element? {
            await self.next(isolation: #isolation)
        }

        /// The next element, or nil at the end, without leaving the caller's isolation while elements wait.
        public mutating func next(isolation actor: isolated (any Actor)?) async -> Element? {
            if let element = self.popFirst() { return element }
            let withEnd = self.stream.mark != nil
            guard let batch = await self.stream.queue.take(withEnd: withEnd, isolation: actor) else { return nil }
            self.unread.batch = batch
            return self.popFirst()
        }

        private func popFirst() -> Element? {
            guard let mark = self.stream.mark else { return self.unread.batch.popFirst().map(self.stream.element) }
            switch self.unread.popItem() {
            case .mark(let continuity): return mark(continuity)
            case .entry(let entry): return self.stream.element(entry)
            case nil: return nil
            }
        }
    }
}

extension EventStream where Element == (message: Message, missed: Int) {
    init(queue: EventQueue) { self.init(queue: queue) { ($0.message, $0.hole.missed) } }

    /// The messages and the marks between them.
    ///
    /// Several marks at one place become one of each kind: how many messages were dropped, and what the worst of the
    /// reconnects was.
    public var items: EventStream<EventItem<Message>> {
        EventStream<EventItem<Message>>(
            queue: self.queue, element: { .message($0.message) }, mark: EventItem.continuity)
    }
}

extension EventStream {
    /// The values and the marks between them, as ``items`` has messages and marks.
    public func marked<Value>() -> EventStream<EventItem<Element>> where Element == Result<Value, LinkspanError> {
        let value = self.element
        return EventStream<EventItem<Element>>(
            queue: self.queue, element: { .message(value($0)) }, mark: EventItem.continuity)
    }
}
