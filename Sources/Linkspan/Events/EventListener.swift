/// A registration for messages, and for the marks between them if it wants to know of those.
struct EventListener: Sendable {
    let id: UInt64
    /// Whether it takes one message and is then removed.
    var isOnce = false
    var onMark: (@Sendable (Continuity) -> Void)?
    let hear: @Sendable (Message) -> Void

    init(
        id: UInt64, isOnce: Bool = false, onMark: (@Sendable (Continuity) -> Void)? = nil,
        _ hear: @escaping @Sendable (Message) -> Void
    ) {
        self.id = id
        self.isOnce = isOnce
        self.onMark = onMark
        self.hear = hear
    }
}
