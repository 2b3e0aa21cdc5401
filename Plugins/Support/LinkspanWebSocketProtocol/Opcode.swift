/// The type of a frame (RFC 6455 section 5.2).
///
/// The other ten values of the four bits are reserved and refused, so this list is closed.
package enum Opcode: UInt8, Sendable, Hashable, CaseIterable {
    /// A further fragment of a message.
    case continuation = 0x0

    /// A text message, or its first fragment.
    case text = 0x1

    /// A binary message, or its first fragment.
    case binary = 0x2

    /// The start of, or the answer to, the closing handshake.
    case close = 0x8

    /// A question whether the peer is there.
    case ping = 0x9

    /// The answer to a ping, or an unasked sign of life.
    case pong = 0xA

    /// Whether frames of this kind may stand between the fragments of a message and are limited to 125 bytes.
    package var isControl: Bool { self.rawValue & 0x8 != 0 }
}
