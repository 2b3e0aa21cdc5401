import LinkspanRuntime

/// Values from many sources for one consumer, which takes all waiting ones at once.
public final class Inbox<Value: Sendable>: Sendable {
    /// Comes when there is something to take.
    public let arrivals: AsyncStream<Void>
    private let arrival: AsyncStream<Void>.Continuation
    private let values = Lock<[Value]>([])

    /// An empty inbox.
    public init() { (self.arrivals, self.arrival) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1)) }

    /// Adds a value.
    public func put(_ value: Value) {
        self.values.withLock { $0.append(value) }
        self.arrival.yield()
    }

    /// Takes all values.
    public func take() -> [Value] {
        self.values.withLock { values in
            defer { values = [] }
            return values
        }
    }
}
