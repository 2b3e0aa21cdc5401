// swift-format-ignore-file
// Combine, macOS 10.15 and iOS 13.
public protocol CustomCombineIdentifierConvertible {}
public protocol Cancellable { func cancel() }
public protocol Subscription: Cancellable, CustomCombineIdentifierConvertible {
    func request(_ demand: Subscribers.Demand)
}
public enum Subscribers {
    public struct Demand: Equatable, Comparable, Hashable, Codable, Sendable {
        public static let unlimited = Demand()
        public static let none = Demand()
        public static func max(_ value: Int) -> Demand { Demand() }
        public static func += (left: inout Demand, right: Demand) {}
        public static func -= (left: inout Demand, right: Int) {}
        public static func < (left: Demand, right: Demand) -> Bool { false }
        public static func > (left: Demand, right: Int) -> Bool { false }
    }
    public enum Completion<Failure: Error> { case finished, failure(Failure) }
}
public protocol Subscriber<Input, Failure> {
    associatedtype Input
    associatedtype Failure: Error
    func receive(subscription: any Subscription)
    func receive(_ input: Input) -> Subscribers.Demand
    func receive(completion: Subscribers.Completion<Failure>)
}
public struct AnySubscriber<Input, Failure: Error>: Subscriber {
    public init<S: Subscriber>(_ subscriber: S) where S.Input == Input, S.Failure == Failure {}
    public func receive(subscription: any Subscription) {}
    public func receive(_ input: Input) -> Subscribers.Demand { .none }
    public func receive(completion: Subscribers.Completion<Failure>) {}
}
public protocol Publisher<Output, Failure> {
    associatedtype Output
    associatedtype Failure: Error
    func receive<S: Subscriber>(subscriber: S) where S.Input == Output, S.Failure == Failure
}
extension Publisher {
    public func map<T>(_ transform: @escaping (Output) -> T) -> Publishers.Map<Self, T> { fatalError() }
}
public enum Publishers {
    public struct Map<Upstream: Publisher, Output>: Publisher {
        public typealias Failure = Upstream.Failure
        public func receive<S: Subscriber>(subscriber: S) where S.Input == Output, S.Failure == Failure {}
    }
}
