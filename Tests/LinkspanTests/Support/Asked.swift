@testable import Linkspan
internal import LinkspanRuntime

/// What a retry policy was asked, in order.
final class Asked: Sendable {
    private let state = Lock<[RetryQuestion]>([])

    var questions: [RetryQuestion] { self.state.withLock { $0 } }

    func record(_ question: RetryQuestion) { self.state.withLock { $0.append(question) } }
}
