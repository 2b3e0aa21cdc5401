extension WebSocketChannel {
    /// The result of sending a message.
    public enum SendResult: Sendable, Hashable {
        /// Buffered.
        case sent
        /// Buffered above the mark: wait for ``WebSocketChannelHandler/drained()``.
        case full
        /// The channel is not open; nothing was taken.
        case notOpen
    }
}
