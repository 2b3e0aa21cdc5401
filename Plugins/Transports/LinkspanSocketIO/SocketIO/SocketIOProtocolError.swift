package import Linkspan

/// What a server did that Engine.IO v4 or Socket.IO v5 forbids, or that exceeds a limit.
public struct SocketIOProtocolError: Error, Sendable {
    /// The rule that was broken.
    public let code: Code
    /// The same for a log line; it quotes nothing the peer said.
    public let message: String
    /// Where the JSON is wrong, when it is.
    package let cause: JSONScanError?

    init(_ code: Code, _ message: String, cause: JSONScanError? = nil) {
        self.code = code
        self.message = message
        self.cause = cause
    }

    /// A rule of the protocols; more may be added.
    public struct Code: RawRepresentable, Sendable, Hashable {
        /// The rule's name, as it appears in logs.
        public var rawValue: String

        /// Makes a code.
        public init(rawValue: String) { self.rawValue = rawValue }
    }
}

extension SocketIOProtocolError.Code {
    // MARK: Engine.IO

    /// A text frame without even a packet type.
    public static let emptyPacket = Self(rawValue: "emptyPacket")
    /// A packet type that the protocol does not have.
    public static let unknownType = Self(rawValue: "unknownType")
    /// The open packet lacks something, or holds a value of a wrong type.
    public static let badHandshake = Self(rawValue: "badHandshake")
    /// A packet other than `open` came first.
    public static let notOpen = Self(rawValue: "notOpen")
    /// The body of an answer to a poll is not made of packets.
    public static let badPolling = Self(rawValue: "badPolling")
    /// More control packets in a second than the limit.
    public static let controlFlood = Self(rawValue: "controlFlood")

    // MARK: Socket.IO

    /// The payload is not JSON, too deep, or has too many values.
    public static let badJSON = Self(rawValue: "badJSON")
    /// The payload is JSON, but not of the shape that the packet's type wants.
    public static let badPayload = Self(rawValue: "badPayload")
    /// The event's name is kept for the protocol itself.
    public static let reservedEvent = Self(rawValue: "reservedEvent")
    /// The acknowledgement id does not fit 64 bits.
    public static let badAckID = Self(rawValue: "badAckID")
    /// The count of attachments is malformed or above the limit, or a placeholder refers to none of them.
    public static let badAttachments = Self(rawValue: "badAttachments")
    /// A text frame came while attachments were due, or a binary frame while none was.
    public static let outOfTurn = Self(rawValue: "outOfTurn")
    /// A packet and its attachments exceed the limit of bytes.
    public static let tooLarge = Self(rawValue: "tooLarge")
    /// The attachments of a packet did not come in time.
    public static let attachmentsOverdue = Self(rawValue: "attachmentsOverdue")
    /// More events before the answer to CONNECT than may be held.
    public static let tooManyEarlyEvents = Self(rawValue: "tooManyEarlyEvents")
}

extension SocketIOProtocolError: CustomStringConvertible {
    /// The code and the message, and where the JSON is wrong.
    public var description: String {
        "\(self.code.rawValue): \(self.message)" + (self.cause.map { " <- \($0)" } ?? "")
    }
}

extension LinkspanError {
    /// A link's end because of what the server sent.
    init(_ violation: SocketIOProtocolError) {
        self.init(.protocolViolation, violation.message, cause: violation)
    }
}
