internal import LinkspanRuntime

/// The right to answer one message.
final class Replier: Sendable {
    private let answer: @Sendable (Payload) -> Void

    /// Answers by a closure that takes care that only the first answer counts.
    init(_ answer: @escaping @Sendable (Payload) -> Void) { self.answer = answer }

    /// Answers through a third party's connection, at most once.
    convenience init(once answer: @escaping @Sendable (Payload) -> Void) {
        let isOpen = Lock(true)
        self.init { payload in
            let isFirst = isOpen.withLock { isOpen in
                defer { isOpen = false }
                return isOpen
            }
            if isFirst { answer(payload) }
        }
    }

    func reply(_ payload: Payload) { self.answer(payload) }
}
