#if canImport(Combine) || OpenCombine
internal import LinkspanRuntime

#if canImport(Combine)
internal import Combine
#else
internal import OpenCombine
#endif

/// A subscriber that asks for exactly what the test says, and notices calls that it must not get.
final class Reader<Input: Sendable>: Subscriber, Sendable {
    typealias Failure = Never

    private struct State: Sendable {
        // A test only asks or cancels by it, which any thread may do.
        nonisolated(unsafe) var subscription: (any Subscription)?
        var values: [Input] = []
        var completions = 0
        var violations: [String] = []
        var isInside = false
    }

    private let state = Lock(State())
    private let first: Subscribers.Demand
    private let onValue: @Sendable (Reader, Input) -> Subscribers.Demand

    /// Makes a reader that asks for `first` at once, and after each value for what `onValue` returns.
    init(
        _ first: Subscribers.Demand = .unlimited,
        onValue: @escaping @Sendable (Reader, Input) -> Subscribers.Demand = { _, _ in .none }
    ) {
        self.first = first
        self.onValue = onValue
    }

    var values: [Input] { self.state.withLock { $0.values } }
    var completions: Int { self.state.withLock { $0.completions } }
    var violations: [String] { self.state.withLock { $0.violations } }

    func receive(subscription: any Subscription) {
        self.state.withLock { $0.subscription = subscription }
        if self.first > 0 { subscription.request(self.first) }
    }

    func receive(_ input: Input) -> Subscribers.Demand {
        self.enter { $0.values.append(input) }
        defer { self.state.withLock { $0.isInside = false } }
        return self.onValue(self, input)
    }

    func receive(completion: Subscribers.Completion<Never>) {
        self.enter { $0.completions += 1 }
        self.state.withLock { $0.isInside = false }
    }

    func request(_ count: Int) { self.subscription?.request(.max(count)) }

    func cancel() { self.subscription?.cancel() }

    private var subscription: (any Subscription)? { self.state.withLock { $0.subscription } }

    private func enter(_ note: (inout State) -> Void) {
        self.state.withLock { state in
            if state.isInside { state.violations.append("two calls came at once") }
            if state.completions > 0 { state.violations.append("something came after the end") }
            state.isInside = true
            note(&state)
        }
    }
}
#endif
