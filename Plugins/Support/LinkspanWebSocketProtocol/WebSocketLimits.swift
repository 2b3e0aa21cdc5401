/// Limits for the data of a peer, beyond which its connection fails.
package struct WebSocketLimits: Sendable, Hashable {
    /// The most bytes in a message, over all its fragments; above it the peer gets ``CloseCode/messageTooBig``.
    package var maxMessageBytes: Int = 16 * 1024 * 1024

    /// The most fragments in a message; above it the peer gets ``CloseCode/messageTooBig``.
    ///
    /// Without it a peer could keep an end busy for ever with empty fragments of one message.
    package var maxFragments: Int = 1024

    /// The most pings of one received chunk that are answered one by one; of the others only the newest is answered.
    ///
    /// RFC 6455 section 5.5.3 permits to answer the newest alone; a flood of pings must not become a flood of pongs.
    package var maxPongsPerChunk: Int = 32

    /// The default limits, changed by `configure`.
    package init(_ configure: (inout Self) -> Void = { _ in }) { configure(&self) }
}
