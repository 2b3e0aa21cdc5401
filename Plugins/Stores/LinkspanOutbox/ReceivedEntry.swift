#if OUTBOX
public import Linkspan

/// Something that was recorded as it was received, and waits to be confirmed.
public struct ReceivedEntry: Sendable {
    /// A message, which cannot be replied to any more, or the mark of a gap.
    public var item: EventItem<Message>
    /// The account whose connection received it.
    public var account: String?
    /// Its place among the entries.
    var number: Int64
}
#endif
