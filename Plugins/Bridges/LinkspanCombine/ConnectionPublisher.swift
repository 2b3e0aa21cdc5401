#if canImport(Combine)
public import Combine
#else
public import OpenCombine
#endif
internal import Linkspan

/// Publishes what a channel tells, on the thread that tells it.
///
/// Each subscriber listens for itself from the moment it subscribes, gets no more than it asks for, and is told
/// `finished` when the connection or its handler is released, behind what still waits for it. What a slow subscriber has
/// not asked for yet waits in a queue; when that is full, the oldest goes. It never fails: a lost connection comes back,
/// and says so by its state.
///
/// A subscription keeps the channel. It ends by being cancelled, by the release of the connection, or by that of the
/// ``Linkspan/ConnectionHandler`` it was made from.
public struct ConnectionPublisher<Output: Sendable>: Publisher, Sendable {
    /// It never fails.
    public typealias Failure = Never

    let channel: any Connection
    let capacity: Int
    let onOverflow: (@Sendable (Int) -> Void)?
    let listen: @Sendable (any Connection, ChannelSubscription<Output>) throws(LinkspanError) -> Void

    /// Lets a subscriber listen; a connection that has been released only tells it so.
    public func receive(subscriber: some Subscriber<Output, Never>) {
        let subscription = ChannelSubscription(
            subscriber, channel: self.channel, capacity: self.capacity, onOverflow: self.onOverflow)
        subscriber.receive(subscription: subscription)
        do throws(LinkspanError) {
            try self.listen(self.channel, subscription)
            // Behind the states, so that `released` comes first.
            subscription.own(self.channel.onEnd { [weak subscription] in subscription?.finish() })
        } catch {
            subscription.finish()
        }
    }
}
