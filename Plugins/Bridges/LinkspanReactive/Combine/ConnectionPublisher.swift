#if canImport(Combine) || OpenCombine
#if canImport(Combine)
public import Combine
#else
public import OpenCombine
#endif
internal import Linkspan

/// A publisher of a connection's messages or states.
///
/// A subscriber that subscribes on the main thread is called on the main actor, and one of a publisher that was made in
/// an actor's method on that actor, once for all waiting values, so closures may use the actor's state.
/// Any other is called on the connection's executor, which all connections of a loop share: return quickly there, or
/// put `receive(on:)` in between.
///
/// Each subscriber listens for itself from the moment it subscribes, gets no more than it asks for, and is notified
/// `finished` when the connection or its handler is released, behind what still waits for it. What a slow subscriber
/// has not asked for yet waits in a queue; when that is full, the oldest goes. It never fails: a lost connection comes
/// back, and says so by its state.
///
/// A subscription keeps the connection. It ends by being cancelled, by the release of the connection, or by that of the
/// `ConnectionHandler` it was made from.
public struct ConnectionPublisher<Output: Sendable>: Publisher, Sendable {
    /// The type of its failures: none.
    public typealias Failure = Never

    let channel: any Connection
    /// The actor in whose code the publisher was made.
    let isolation: (any Actor)?
    let capacity: Int
    let onOverflow: (@Sendable (Int) -> Void)?
    let listen: @Sendable (any Connection, ChannelSubscription<Output>) throws(LinkspanError) -> Void

    /// Attaches a subscriber; on a released connection it completes at once.
    public func receive(subscriber: some Subscriber<Output, Never>) {
        let subscription = ChannelSubscription(
            subscriber, channel: self.channel,
            isolation: self.isolation ?? (MainQueue.isCurrent ? MainActor.shared : nil), capacity: self.capacity,
            onOverflow: self.onOverflow)
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
#endif
