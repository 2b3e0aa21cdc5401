/// What a peer did that RFC 6455 forbids, or that exceeds a limit.
///
/// There is no cause underneath: these errors are found by looking at bytes.
public struct WebSocketProtocolError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The rule that was broken.
    public let code: Code

    /// The same for a log line; it quotes nothing the peer said.
    public let message: String

    init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    static func tooBig(limit: Int) -> Self {
        Self(.messageTooBig, "a message is larger than the \(limit) bytes that are accepted here")
    }

    /// Whether the peer broke no rule of RFC 6455, but asked for more than this end gives.
    public var isLimit: Bool {
        switch self.code {
        case .messageTooBig, .tooManyFragments, .controlFlood, .messageOverdue: true
        default: false
        }
    }

    /// The code and the message.
    public var description: String { "\(self.code): \(self.message)" }

    /// The code of the Close frame that tells the peer: 1002, 1007, 1008 or 1009.
    ///
    /// A failed handshake has no Close frame: the stream is dropped, or a server answers with ``httpStatus``.
    public var closeCode: CloseCode {
        switch self.code {
        case .invalidUTF8, .invalidCompressedData: .invalidPayload
        case .messageTooBig, .tooManyFragments: .messageTooBig
        case .controlFlood, .messageOverdue: .policyViolation
        default: .protocolError
        }
    }

    /// The status with which a server refuses a request (RFC 6455 section 4.2.2).
    public var httpStatus: Int {
        switch self.code {
        case .methodNotAllowed: 405
        case .upgradeMissing, .versionUnsupported: 426
        default: 400
        }
    }
}

extension WebSocketProtocolError {
    /// A rule of the protocol; more may be added.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        private enum Value: Sendable {
            case reservedBits, reservedOpcode, fragmentedControl, oversizedControl
            case unexpectedContinuation, interruptedMessage, maskMissing, maskForbidden
            case lengthNotMinimal, lengthOutOfRange, closePayloadTooShort, closeCodeInvalid
            case invalidUTF8, invalidCompressedData, messageTooBig, tooManyFragments
            case controlFlood, messageOverdue
            case unexpectedStatus, upgradeMissing, connectionMissing, acceptMismatch
            case extensionNotOffered, extensionMalformed, extensionRepeated, extensionParameterInvalid
            case subprotocolNotOffered, subprotocolInvalid
            case methodNotAllowed, keyInvalid, versionUnsupported, hostMissing
        }

        private let value: Value

        private init(_ value: Value) {
            self.value = value
        }

        /// The rule's name.
        public var description: String { "\(self.value)" }

        // Frames, RFC 6455 section 5

        /// A reserved bit is set though no extension gave it a meaning.
        public static let reservedBits = Self(.reservedBits)

        /// The opcode has no meaning.
        public static let reservedOpcode = Self(.reservedOpcode)

        /// A control frame is not final.
        public static let fragmentedControl = Self(.fragmentedControl)

        /// A control frame has more than 125 bytes.
        public static let oversizedControl = Self(.oversizedControl)

        /// A continuation came without a message to continue.
        public static let unexpectedContinuation = Self(.unexpectedContinuation)

        /// A new message began before the last one ended.
        public static let interruptedMessage = Self(.interruptedMessage)

        /// A client sent an unmasked frame.
        public static let maskMissing = Self(.maskMissing)

        /// A server sent a masked frame.
        public static let maskForbidden = Self(.maskForbidden)

        /// A length was written with more bytes than it needs.
        public static let lengthNotMinimal = Self(.lengthNotMinimal)

        /// A length has its highest bit set.
        public static let lengthOutOfRange = Self(.lengthOutOfRange)

        /// A Close frame has one byte, half a code.
        public static let closePayloadTooShort = Self(.closePayloadTooShort)

        /// A Close frame has a code that must not be sent.
        public static let closeCodeInvalid = Self(.closeCodeInvalid)

        /// A text message or a close reason is not UTF-8.
        public static let invalidUTF8 = Self(.invalidUTF8)

        /// A compressed message is no DEFLATE data, or is cut off.
        public static let invalidCompressedData = Self(.invalidCompressedData)

        // Limits

        /// A message exceeds ``WebSocketLimits/maxMessageBytes``.
        public static let messageTooBig = Self(.messageTooBig)

        /// A message exceeds ``WebSocketLimits/maxFragments``.
        public static let tooManyFragments = Self(.tooManyFragments)

        /// More pings, pongs and Close frames in a second than are borne.
        public static let controlFlood = Self(.controlFlood)

        /// A message that has begun makes no progress.
        public static let messageOverdue = Self(.messageOverdue)

        // The opening handshake, RFC 6455 section 4

        /// The server's answer is not 101.
        public static let unexpectedStatus = Self(.unexpectedStatus)

        /// The Upgrade header doesn't name websocket.
        public static let upgradeMissing = Self(.upgradeMissing)

        /// The Connection header doesn't contain upgrade.
        public static let connectionMissing = Self(.connectionMissing)

        /// The server's accept value doesn't fit the key.
        public static let acceptMismatch = Self(.acceptMismatch)

        /// The server uses an extension that was not offered.
        public static let extensionNotOffered = Self(.extensionNotOffered)

        /// The Sec-WebSocket-Extensions header does not have the form of a list of extensions.
        public static let extensionMalformed = Self(.extensionMalformed)

        /// The server agreed to an extension more than once.
        public static let extensionRepeated = Self(.extensionRepeated)

        /// The server agreed to an extension with a parameter that is unknown, repeated, or has a value it must not
        /// have, or without one that was asked for.
        public static let extensionParameterInvalid = Self(.extensionParameterInvalid)

        /// The server chose a sub-protocol that was not offered.
        public static let subprotocolNotOffered = Self(.subprotocolNotOffered)

        /// The name of a sub-protocol is no HTTP token, or is given twice.
        public static let subprotocolInvalid = Self(.subprotocolInvalid)

        /// The request's method is not GET.
        public static let methodNotAllowed = Self(.methodNotAllowed)

        /// The client's key is not 16 bytes in base64.
        public static let keyInvalid = Self(.keyInvalid)

        /// The client speaks another version than 13.
        public static let versionUnsupported = Self(.versionUnsupported)

        /// The request names no host.
        public static let hostMissing = Self(.hostMissing)
    }
}
