/// A peer's violation of RFC 6455 or of a limit.
///
/// There is no cause underneath: these errors are found by looking at bytes.
package struct WebSocketProtocolError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The rule that was broken.
    package let code: Code

    /// The same for a log line; it quotes nothing the peer said.
    package let message: String

    init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    static func tooBig(limit: Int) -> Self {
        Self(.messageTooBig, "a message is larger than the \(limit) bytes that are accepted here")
    }

    /// Whether the peer broke no rule of RFC 6455, but asked for more than this end gives.
    package var isLimit: Bool {
        switch self.code {
        case .messageTooBig, .tooManyFragments, .controlFlood, .messageOverdue: true
        default: false
        }
    }

    /// The code and the message.
    package var description: String { "\(self.code): \(self.message)" }

    /// The code of the Close frame that tells the peer: 1002, 1007, 1008 or 1009.
    ///
    /// A failed handshake has no Close frame: the stream is dropped, or a server answers with ``httpStatus``.
    package var closeCode: CloseCode {
        switch self.code {
        case .invalidUTF8, .invalidCompressedData: .invalidPayload
        case .messageTooBig, .tooManyFragments: .messageTooBig
        case .controlFlood, .messageOverdue: .policyViolation
        default: .protocolError
        }
    }

    /// The status with which a server refuses a request (RFC 6455 section 4.2.2).
    package var httpStatus: Int {
        switch self.code {
        case .methodNotAllowed: 405
        case .upgradeMissing, .versionUnsupported: 426
        default: 400
        }
    }
}

extension WebSocketProtocolError {
    /// A rule of the protocol; more may be added.
    @nonexhaustive
    package enum Code: Sendable, Hashable {
        // Frames, RFC 6455 section 5

        /// A reserved bit is set though no extension gave it a meaning.
        case reservedBits

        /// The opcode has no meaning.
        case reservedOpcode

        /// A control frame is not final.
        case fragmentedControl

        /// A control frame has more than 125 bytes.
        case oversizedControl

        /// A continuation came without a message to continue.
        case unexpectedContinuation

        /// A new message began before the last one ended.
        case interruptedMessage

        /// A client sent an unmasked frame.
        case maskMissing

        /// A server sent a masked frame.
        case maskForbidden

        /// A length was written with more bytes than it needs.
        case lengthNotMinimal

        /// A length has its highest bit set.
        case lengthOutOfRange

        /// A Close frame has one byte, half a code.
        case closePayloadTooShort

        /// A Close frame has a code that must not be sent.
        case closeCodeInvalid

        /// A text message or a close reason is not UTF-8.
        case invalidUTF8

        /// A compressed message is no DEFLATE data, or is cut off.
        case invalidCompressedData

        // Limits

        /// A message exceeds ``WebSocketLimits/maxMessageBytes``.
        case messageTooBig

        /// A message exceeds ``WebSocketLimits/maxFragments``.
        case tooManyFragments

        /// More pings, pongs and Close frames in a second than are borne.
        case controlFlood

        /// A message that has begun makes no progress.
        case messageOverdue

        // The opening handshake, RFC 6455 section 4

        /// The server's answer is not 101.
        case unexpectedStatus

        /// The Upgrade header doesn't name websocket.
        case upgradeMissing

        /// The Connection header doesn't contain upgrade.
        case connectionMissing

        /// The server's accept value doesn't fit the key.
        case acceptMismatch

        /// The server uses an extension that was not offered.
        case extensionNotOffered

        /// The Sec-WebSocket-Extensions header does not have the form of a list of extensions.
        case extensionMalformed

        /// The server agreed to an extension more than once.
        case extensionRepeated

        /// The server agreed to an extension with a parameter that is unknown, repeated, or has a value it must not
        /// have, or without one that was asked for.
        case extensionParameterInvalid

        /// The server chose a sub-protocol that was not offered.
        case subprotocolNotOffered

        /// The name of a sub-protocol is no HTTP token, or is given twice.
        case subprotocolInvalid

        /// The request's method is not GET.
        case methodNotAllowed

        /// The client's key is not 16 bytes in base64.
        case keyInvalid

        /// The client speaks another version than 13.
        case versionUnsupported

        /// The request names no host.
        case hostMissing
    }
}
