public import Linkspan
public import LinkspanWebSocketProtocol

extension WebSocketCompression {
    /// Makes what a client offers to follow a policy.
    public init(_ policy: CompressionPolicy) {
        self = .defaults { compression in
            compression.level = policy.level
            compression.threshold = policy.threshold
            compression.maximumRatio = policy.maximumRatio
            compression.clientMaxWindowBits = policy.sending.bits
            compression.clientNoContextTakeover = !policy.sending.isKept
            compression.serverMaxWindowBits = policy.receiving.bits
            compression.serverNoContextTakeover = !policy.receiving.isKept
        }
    }
}
