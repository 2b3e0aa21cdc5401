/// A registration for messages, and for the marks between them if it wants to know of those.
///
/// A reference, because each message looks at it, and to copy its functions would cost more than to call one.
final class EventListener: Sendable {
    let id: UInt64
    /// Whether it takes one message and is then removed.
    let isOnce: Bool
    let onMark: (@Sendable (Continuity) -> Void)?
    let hear: @Sendable (Message) -> Void

    init(
        id: UInt64, isOnce: Bool = false, onMark: (@Sendable (Continuity) -> Void)? = nil,
        hear: @escaping @Sendable (Message) -> Void
    ) {
        (self.id, self.isOnce, self.onMark, self.hear) = (id, isOnce, onMark, hear)
    }
}
