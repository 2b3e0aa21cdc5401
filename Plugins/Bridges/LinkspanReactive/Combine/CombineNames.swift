#if canImport(Combine) || OpenCombine
#if canImport(Combine)
internal import Combine

// Both the SDK and Combine have a `Subscription`. This one is a subscriber's end of a publisher.
typealias CombineSubscription = Combine.Subscription
#else
internal import OpenCombine

// Both the SDK and Combine have a `Subscription`. This one is a subscriber's end of a publisher.
typealias CombineSubscription = OpenCombine.Subscription
#endif
#endif
