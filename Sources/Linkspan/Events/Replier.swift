internal import LinkspanRuntime

/// The right to answer one message once.
final class Replier: Sendable {
    private let answer: Lock<(@Sendable (Payload) -> Void)?>

    init(_ answer: @escaping @Sendable (Payload) -> Void) { self.answer = Lock(answer) }

    func reply(_ payload: Payload) {
        let answer = self.answer.withLock { answer in
            defer { answer = nil }
            return answer
        }
        answer?(payload)
    }
}
