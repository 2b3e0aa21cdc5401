#if canImport(Combine)
public import Combine
#else
public import OpenCombine
#endif
public import Linkspan

/// Publishes the messages of a channel, on the thread that received them.
///
/// Each subscriber listens for itself from the moment it subscribes, gets no more than it asks for, and is told
/// `finished` when the connection or its handler is released, behind what still waits for it. Messages that came before
/// anybody listened are handed over first. What a slow subscriber has not asked for yet waits in a queue; when that is
/// full, the oldest message goes and is counted.
///
/// A subscription keeps the channel. It ends by being cancelled, by the release of the connection, or by that of the
/// ``Linkspan/ConnectionHandler`` it was made from.
public struct MessagePublisher: Publisher, Sendable {
    /// A message of the server.
    public typealias Output = Message
    /// It never fails: a lost connection comes back, and says so by its state.
    public typealias Failure = Never

    private let channel: any Connection
    private let event: String?
    private let capacity: Int
    private let onOverflow: (@Sendable (Int) -> Void)?

    init(
        channel: any Connection, event: String?, capacity: Int, onOverflow: (@Sendable (Int) -> Void)?
    ) {
        self.channel = channel
        self.event = event
        self.capacity = capacity
        self.onOverflow = onOverflow
    }

    /// Lets a subscriber listen; a connection that has been released only tells it so.
    public func receive<Downstream: Subscriber>(
        subscriber: Downstream
    ) where Downstream.Input == Message, Downstream.Failure == Never {
        let subscription = ChannelSubscription(
            subscriber, channel: self.channel, capacity: self.capacity, onOverflow: self.onOverflow)
        subscriber.receive(subscription: subscription)
        do throws(LinkspanError) {
            let messages = try self.channel.subscribe(to: self.event, once: false, onMark: nil) {
                [weak subscription] message in
                subscription?.push(message.detached())
            }
            subscription.own(messages)
            subscription.own(self.channel.onEnd { [weak subscription] in subscription?.finish() })
        } catch {
            subscription.finish()
        }
    }
}
