/// How messages are compressed on their way, if the server takes part.
///
/// One value for every transport over WebSocket, where it means permessage-deflate (RFC 7692). Compression is off unless
/// a transport is given such a value. With the defaults it takes up to 300 KiB of memory for each connection.
///
/// Do not compress messages in which a secret stands next to what an attacker may choose: their length then tells of
/// the secret.
public struct CompressionPolicy: Sendable, Hashable {
    /// How much work goes into sending little, from 1 to 9.
    ///
    /// Default 6.
    public var level = 6 {
        didSet { Self.check(self.level, in: 1...9, "level") }
    }

    /// The number of bytes from which on a message is compressed.
    ///
    /// Default 256: below that there is little to save.
    public var threshold = 256 {
        didSet { Self.check(self.threshold, in: 0...Int.max, "threshold") }
    }

    /// How many times its size on the wire a received message may have; a connection with a larger one is failed.
    ///
    /// Default 100. It is judged from 64 KiB on.
    public var maximumRatio = 100 {
        didSet { Self.check(self.maximumRatio, in: 1...Int.max, "ratio") }
    }

    /// How what we send is compressed.
    ///
    /// Default: with all there is. The server may want less.
    public var sending = Window()

    /// How the server compresses what it sends.
    ///
    /// Default: as it likes. Less is insisted on: a server that cannot do with it does not compress, or is left.
    public var receiving = Window()

    /// The defaults named at the properties, changed by `configure`.
    public static func defaults(_ configure: (inout Self) -> Void = { _ in }) -> Self {
        var policy = Self()
        configure(&policy)
        return policy
    }

    private init() {}

    fileprivate static func check(_ value: Int, in range: ClosedRange<Int>, _ name: String) {
        precondition(range.contains(value), "a \(name) of \(value) is not between \(range)")
    }
}

extension CompressionPolicy {
    /// What one direction of compression remembers.
    public struct Window: Sendable, Hashable {
        /// The size of the window as a power of two, from 9 to 15.
        ///
        /// Default 15, which is 32 KiB. Compressing takes four times the window, and 128 KiB.
        public var bits = 15 {
            didSet { CompressionPolicy.check(self.bits, in: 9...15, "window's bits") }
        }

        /// Whether a message may refer to those before it.
        ///
        /// Default true. It is what makes many small messages of a kind much smaller.
        public var isKept = true
    }
}

extension CompressionPolicy: CustomStringConvertible {
    /// Everything in the policy, for comparing and explaining.
    public var description: String {
        "level \(self.level) from \(self.threshold) bytes, ratio up to \(self.maximumRatio), "
            + "sending \(self.sending), receiving \(self.receiving)"
    }
}

extension CompressionPolicy.Window: CustomStringConvertible {
    /// The size, and whether it is kept.
    public var description: String { "\(self.bits) bits\(self.isKept ? "" : " for each message")" }
}
