/// The reason a connection is closed, as a code (RFC 6455 section 7.4 and its IANA registry).
public struct CloseCode: RawRepresentable, Sendable, Hashable {
    /// The number in a Close frame.
    public var rawValue: UInt16

    /// Makes the code of a number, whether or not it may be sent.
    public init(rawValue: UInt16) {
        self.rawValue = rawValue
    }

    /// The purpose of the connection is fulfilled.
    public static let normal = Self(rawValue: 1000)

    /// The end is going away: a server stops, a user leaves.
    public static let goingAway = Self(rawValue: 1001)

    /// The peer broke the protocol.
    public static let protocolError = Self(rawValue: 1002)

    /// The peer sent a kind of data that can't be accepted.
    public static let unsupportedData = Self(rawValue: 1003)

    /// The Close frame had no code; never on the wire.
    public static let noStatus = Self(rawValue: 1005)

    /// The stream ended without a closing handshake; never on the wire.
    public static let abnormal = Self(rawValue: 1006)

    /// The data doesn't fit its type, such as text that is no UTF-8.
    public static let invalidPayload = Self(rawValue: 1007)

    /// A message breaks the receiver's policy.
    public static let policyViolation = Self(rawValue: 1008)

    /// A message is too big to be processed.
    public static let messageTooBig = Self(rawValue: 1009)

    /// The server did not agree to an extension that the client needs.
    public static let mandatoryExtension = Self(rawValue: 1010)

    /// Something unexpected kept the end from going on.
    public static let internalError = Self(rawValue: 1011)

    /// The service is restarting.
    public static let serviceRestart = Self(rawValue: 1012)

    /// The service is overloaded.
    public static let tryAgainLater = Self(rawValue: 1013)

    /// A gateway got an invalid answer from the server behind it.
    public static let badGateway = Self(rawValue: 1014)

    /// Whether the code may stand in a Close frame: 1000 to 1003, 1007 to 1014, and 3000 to 4999.
    public var canBeSent: Bool {
        switch self.rawValue {
        case 1000...1003, 1007...1014, 3000...4999: true
        default: false
        }
    }
}
