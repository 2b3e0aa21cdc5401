#if canImport(Combine) || OpenCombine
#if canImport(Combine)
public import Combine
#else
public import OpenCombine
#endif
public import Linkspan

extension Connection {
    /// Publishes the messages of one event, or of every event when `event` is nil.
    ///
    /// Messages that were held for a first listener are delivered first.
    ///
    /// ```swift
    /// let lines = connection.publisher(for: "message")
    ///     .compactMap { try? $0.decode(Line.self) }
    ///     .sink { show($0) }
    /// ```
    ///
    /// - Parameters:
    ///   - event: the name of the event.
    ///   - capacity: the number of messages that may wait for a subscriber without demand, or whose actor is busy;
    ///     together they may have 16 MiB.
    ///   - isolation: the actor that subscribers are called on; nil for the main actor when they subscribe on the main
    ///     thread, and for the connection's executor otherwise.
    ///   - onOverflow: gets the count of messages that were dropped, the oldest first, because the queue was full;
    ///     called just before the message after the gap.
    /// - Returns: a publisher that listens once for each of its subscribers.
    public func publisher(
        for event: String?, capacity: Int = 1_024, isolation: (any Actor)? = #isolation,
        onOverflow: (@Sendable (Int) -> Void)? = nil
    ) -> ConnectionPublisher<Message> {
        ConnectionPublisher(channel: self, isolation: isolation, capacity: capacity, onOverflow: onOverflow) {
            channel, subscription throws(LinkspanError) in
            subscription.own(
                try channel.subscribe(to: event, once: false, onMark: nil) { [weak subscription] message in
                    subscription?.push(message.detached(), bytes: message.payload.byteCount)
                })
        }
    }

    /// Publishes the values of an event, a message of another shape as an error in its place.
    ///
    /// A value is decoded when the subscriber has asked for it; the publisher of messages by name follows the same
    /// rules.
    ///
    /// - Parameters:
    ///   - event: the event.
    ///   - capacity: the number of messages that may wait for a subscriber without demand, or whose actor is busy.
    ///   - isolation: the actor that subscribers are called on; nil for the main actor when they subscribe on the main
    ///     thread, and for the connection's executor otherwise.
    ///   - onOverflow: gets the count of messages that were dropped, just before the message after the gap.
    /// - Returns: a publisher that listens once for each of its subscribers.
    public func publisher<Value: Decodable, Reply>(
        for event: Event<Value, Reply>, capacity: Int = 1_024, isolation: (any Actor)? = #isolation,
        onOverflow: (@Sendable (Int) -> Void)? = nil
    ) -> Publishers.Map<ConnectionPublisher<Message>, Result<Value, LinkspanError>> {
        self.publisher(for: event.name, capacity: capacity, isolation: isolation, onOverflow: onOverflow)
            .map { message in Result { () throws(LinkspanError) in try message.decode(Value.self, coder: event.coder) }
            }
    }

    /// Publishes the present state, then every change of it once, in order.
    ///
    /// A subscriber that has left 1,024 states unread loses the oldest of them, never the latest.
    public var statePublisher: ConnectionPublisher<ConnectionState> {
        ConnectionPublisher(channel: self, isolation: nil, capacity: 1_024, onOverflow: nil) { channel, subscription in
            subscription.own(channel.onStateChange { [weak subscription] in subscription?.push($0.to) })
            // The channel delivers the latest change; a new connection has none. If the first change comes at this moment,
            // it is the present state, and this one is dropped.
            if channel.state == .created { subscription.begin(with: .created) }
        }
    }
}
#else
public import Linkspan

extension Connection {
    /// Publishes messages, which is not built in.
    @available(*, unavailable, message: "not built in: switch the trait OpenCombine of the package linkspan on")
    public func publisher(for event: String?) {}

    /// Publishes states, which is not built in.
    @available(*, unavailable, message: "not built in: switch the trait OpenCombine of the package linkspan on")
    public var statePublisher: Never { fatalError("not built in") }
}
#endif
