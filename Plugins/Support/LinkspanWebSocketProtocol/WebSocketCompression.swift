/// Settings of permessage-deflate (RFC 7692), offered to the peer.
///
/// Compression is off unless a connection is given such a value. It costs memory for as long as the connection lives:
/// with the defaults about 256 KiB for sending, once the first message was compressed, and 44 KiB for receiving, once
/// the first compressed message has come. Without context takeover, or with fewer window bits, both are much less.
///
/// Do not compress messages in which a secret stands next to what an attacker may choose: their length then tells of
/// the secret (RFC 7692 section 8).
public struct WebSocketCompression: Sendable, Hashable {
    /// Whether the client compresses each message without knowledge of those before.
    ///
    /// Default false. A server's wish is granted whatever stands here.
    public var clientNoContextTakeover = false

    /// Whether the server compresses each message without knowledge of those before.
    ///
    /// Default false. A client with true insists on it.
    public var serverNoContextTakeover = false

    /// The size of the client's window as a power of two, from 9 to 15.
    ///
    /// Default 15, which is 32 KiB. The peer may ask for less. 8 is not available: zlib compresses with no less than 9.
    public var clientMaxWindowBits = 15 {
        didSet { Self.check(self.clientMaxWindowBits, in: 9...15, "bits of the client's window") }
    }

    /// The size of the server's window as a power of two, from 8 to 15.
    ///
    /// Default 15, which is 32 KiB. A client with less insists on it. A server never goes below 9.
    public var serverMaxWindowBits = 15 {
        didSet { Self.check(self.serverMaxWindowBits, in: 8...15, "bits of the server's window") }
    }

    /// The number of bytes from which on a message is compressed.
    ///
    /// Default 256: below that there is little to save. Empty messages never are.
    public var threshold = 256 {
        didSet { Self.check(self.threshold, in: 0...Int.max, "threshold") }
    }

    /// The defaults named at the properties, changed by `configure`.
    public init(_ configure: (inout Self) -> Void = { _ in }) { configure(&self) }

    private static func check(_ value: Int, in range: ClosedRange<Int>, _ name: String) {
        precondition(range.contains(value), "a \(name) of \(value) is not between \(range)")
    }
}

extension WebSocketCompression: CustomStringConvertible {
    /// Everything in it, for comparing and explaining.
    public var description: String {
        func window(_ bits: Int, _ isFresh: Bool) -> String { "\(bits) bits\(isFresh ? " for each message" : "")" }
        return "from \(self.threshold) bytes, "
            + "client \(window(self.clientMaxWindowBits, self.clientNoContextTakeover)), "
            + "server \(window(self.serverMaxWindowBits, self.serverNoContextTakeover))"
    }
}
