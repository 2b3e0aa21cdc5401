/// The rule for a message that arrives at a full stream.
///
/// Whatever is dropped shows as a gap at its place: in the number of missed messages, and among ``EventStream/items``.
public enum StreamOverflow: Sendable, Hashable, CaseIterable {
    /// Drops the oldest waiting message: for messages that are soon out of date.
    case dropOldest
    /// Drops the next message: for messages that must be read from the first one on.
    case dropNewest
    /// Drops nothing: the connection reads no further until the stream has been read, so that the server is slowed
    /// down. For a bulk transfer over a connection of its own.
    ///
    /// Everything that the server sends over this connection waits as well: replies, heartbeats and the messages of
    /// all other listeners, of Socket.IO those of all namespaces that share the socket. So a `request` that is awaited
    /// between two elements may end with `timedOut`. If the pause outlives the heartbeat, the link ends with code
    /// `slowConsumer` and the connection reconnects.
    ///
    /// What had been read before the pause still comes, so the bounds are exceeded by what one read brings. Over a
    /// transport that cannot pause, the oldest messages go when the stream is 65,536 messages or 16 MiB beyond them.
    case pause
    /// Ends the stream after the waiting messages, with ``EventStream/error``: for readers that cannot continue after a
    /// gap.
    case end
}
