internal import Linkspan
internal import LinkspanRuntime

/// State that any thread may read, behind the one lock of this module, and the subscriptions that change it.
final class Guarded<State: Sendable>: Sendable {
    private struct Content: Sendable {
        var state: State
        var subscriptions: [Subscription] = []
        var isEnded = false
    }

    // Guards the state of a helper: the connection's executor contends with the app's threads.
    private let content: Lock<Content>

    init(_ state: State) { self.content = Lock(Content(state: state)) }

    deinit { self.end() }

    func withLock<Result>(_ body: (inout State) -> Result) -> Result { self.content.withLock { body(&$0.state) } }

    /// The result of `body`, or nil after the end.
    func beforeEnd<Result>(_ body: (inout State) -> Result) -> Result? {
        self.content.withLock { $0.isEnded ? nil : body(&$0.state) }
    }

    func own(_ subscription: Subscription) { self.content.withLock { $0.subscriptions.append(subscription) } }

    /// Cancels the subscriptions.
    func end() {
        let subscriptions = self.content.withLock { content in
            content.isEnded = true
            defer { content.subscriptions = [] }
            return content.subscriptions
        }
        for subscription in subscriptions { subscription.cancel() }
    }
}
