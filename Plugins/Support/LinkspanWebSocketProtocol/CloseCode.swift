/// The reason a connection is closed, as a code (RFC 6455 section 7.4 and its IANA registry).
package struct CloseCode: RawRepresentable, Sendable, Hashable {
    /// The number in a Close frame.
    package var rawValue: UInt16

    /// Makes the code of a number, whether or not it may be sent.
    package init(rawValue: UInt16) {
        self.rawValue = rawValue
    }

    /// The purpose of the connection is fulfilled.
    package static let normal = Self(rawValue: 1000)

    /// The end is going away: a server stops, a user leaves.
    package static let goingAway = Self(rawValue: 1001)

    /// The peer broke the protocol.
    package static let protocolError = Self(rawValue: 1002)

    /// The Close frame had no code; never on the wire.
    package static let noStatus = Self(rawValue: 1005)

    /// The data doesn't fit its type, such as text that is no UTF-8.
    package static let invalidPayload = Self(rawValue: 1007)

    /// A message breaks the receiver's policy.
    package static let policyViolation = Self(rawValue: 1008)

    /// A message is too big to be processed.
    package static let messageTooBig = Self(rawValue: 1009)

    /// Something unexpected kept the end from going on.
    package static let internalError = Self(rawValue: 1011)

    /// The service is overloaded.
    package static let tryAgainLater = Self(rawValue: 1013)

    /// Whether the code may stand in a Close frame: 1000 to 1003, 1007 to 1014, and 3000 to 4999.
    package var canBeSent: Bool {
        switch self.rawValue {
        case 1000...1003, 1007...1014, 3000...4999: true
        default: false
        }
    }
}
