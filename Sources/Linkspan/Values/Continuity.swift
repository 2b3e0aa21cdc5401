/// Whether anything may be missing at one place in a sequence of messages.
///
/// A mark stands in order with the messages: messages before it were received before, messages after it
/// after. There is one after each reconnect, and one wherever messages had to be dropped. The first connect has one if
/// there was a session before: that of an earlier process, which ``ConnectionBuilder/WithTransport/resuming(_:)`` or a
/// ``DeliveryStore`` tells of.
public enum Continuity: Sendable, Hashable {
    /// The connection is back, and the server has resumed the session: nothing is missing.
    case continuous
    /// Messages are missing here, or may be.
    case gap(Reason)

    /// The reason messages may be missing.
    public enum Reason: Sendable, Hashable {
        /// The connection is back with a new session: messages that the server sent meanwhile are lost.
        case reconnected
        /// So many messages were dropped on this side, because there was no room for them.
        case overflow(missed: Int)
    }
}

/// A message of a stream, or its value, or a mark between two; see ``EventStream/items`` and ``EventStream/marked()``.
public enum EventItem<Content: Sendable>: Sendable {
    /// A message, or its value.
    case message(Content)
    /// A mark: messages may be missing since the previous one, or none are.
    case continuity(Continuity)
}
