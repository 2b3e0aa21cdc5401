/// A registration for messages, and for the marks between them if it wants to know of those.
struct EventListener: Sendable {
    let id: UInt64
    /// Whether it takes one message and is then removed.
    var isOnce = false
    var onMark: (@Sendable (Continuity) -> Void)?
    let hear: @Sendable (Message) -> Void
}
