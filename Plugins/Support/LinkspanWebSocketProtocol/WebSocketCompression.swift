/// Compression of messages by permessage-deflate (RFC 7692), offered to the server.
///
/// Compression is off unless a connection is given such a value. It costs memory for as long as the connection lives:
/// about 256 KiB for sending, once the first message was compressed, and 44 KiB for receiving, once the first compressed
/// message has come. A server can ask for smaller windows, and for none that are shared between messages.
///
/// Do not compress messages in which a secret stands next to what an attacker may choose: their length then tells of
/// the secret (RFC 7692 section 8).
public struct WebSocketCompression: Sendable, Hashable {
    /// The number of bytes from which on a message is compressed.
    ///
    /// Default 256: below that there is little to save. Empty messages never are.
    public var threshold = 256

    /// The defaults named at the properties, changed by `configure`.
    public init(_ configure: (inout Self) -> Void = { _ in }) { configure(&self) }
}

extension WebSocketCompression: CustomStringConvertible {
    /// Everything in it, for comparing and explaining.
    public var description: String { "from \(self.threshold) bytes" }
}
