#if canImport(Combine)
public import Combine
#else
public import OpenCombine
#endif
public import Linkspan

/// Publishes the state of a channel: the present one first, then every change once, in order.
///
/// A subscriber is told `finished` after `released`, or when the handler it was made from is released. It gets no more
/// than it asks for. One that has left ``capacity`` states unread loses the oldest of them, never the latest.
public struct StatePublisher: Publisher, Sendable {
    /// A state.
    public typealias Output = ConnectionState
    /// It never fails.
    public typealias Failure = Never

    /// How many states wait for a slow subscriber: 1,024.
    public static let capacity = 1_024

    private let channel: any Connection

    init(channel: any Connection) { self.channel = channel }

    /// Lets a subscriber hear the state, on whichever thread changes it.
    public func receive<Downstream: Subscriber>(
        subscriber: Downstream
    ) where Downstream.Input == ConnectionState, Downstream.Failure == Never {
        let subscription = ChannelSubscription(subscriber, channel: self.channel, capacity: Self.capacity)
        subscriber.receive(subscription: subscription)
        subscription.own(self.channel.onStateChange { [weak subscription] in subscription?.push($0.to) })
        // Behind the states, so that `released` comes first.
        subscription.own(self.channel.onEnd { [weak subscription] in subscription?.finish() })
        // The channel tells the latest change by itself; there is none as long as it has only been created. Should the
        // first one come at this very moment, that is the present state, and this one is left out.
        if self.channel.state == .created { subscription.begin(with: .created) }
    }
}
