/// A registration for messages, and for the marks between them if it wants to know of those.
///
/// A class, because each message takes the listeners of its event, and a copy of two functions costs more than a reference.
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
