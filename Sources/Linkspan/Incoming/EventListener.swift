/// A registration for messages, and for the marks between them if it wants to know of those.
struct EventListener: Sendable {
    let id: UInt64
    /// Whether it takes one message and is then removed.
    var isOnce = false
    var onMark: (@Sendable (Continuity) -> Void)?
    let hear: @Sendable (Message) -> Void
}

/// The only listener that hears an event.
///
/// A reference, because to copy the name and the function would cost each message more.
final class OnlyListener {
    let event: String
    let hear: @Sendable (Message) -> Void

    init(_ event: String, _ hear: @escaping @Sendable (Message) -> Void) { (self.event, self.hear) = (event, hear) }
}
