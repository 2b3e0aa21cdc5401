package import Linkspan

/// A server's violation of Engine.IO v4, Socket.IO v5 or a limit.
package struct SocketIOProtocolError: Error, Sendable {
    /// The rule that was broken.
    package let code: Code
    /// The same for a log line; it quotes nothing the peer said.
    package let message: String
    /// The error in the JSON, when it has one.
    package let cause: JSONScanError?

    init(_ code: Code, _ message: String, cause: JSONScanError? = nil) {
        self.code = code
        self.message = message
        self.cause = cause
    }

    /// A rule of the protocols; more may be added.
    @nonexhaustive
    package enum Code: Sendable, Hashable {
        // MARK: Engine.IO

        /// A text frame without even a packet type.
        case emptyPacket
        /// A packet type that the protocol does not have.
        case unknownType
        /// The open packet lacks something, or holds a value of a wrong type.
        case badHandshake
        /// A packet other than `open` came first.
        case notOpen
        /// The body of an answer to a poll is not made of packets.
        case badPolling
        /// More control packets in a second than the limit.
        case controlFlood

        // MARK: Socket.IO

        /// The payload is not JSON, too deep, or has too many values.
        case badJSON
        /// The payload is JSON, but not of the shape that the packet's type wants.
        case badPayload
        /// The event's name is kept for the protocol itself.
        case reservedEvent
        /// The acknowledgement id does not fit 64 bits.
        case badAckID
        /// The count of attachments is malformed or above the limit, or a placeholder refers to none of them.
        case badAttachments
        /// A text frame came while attachments were due, or a binary frame while none was.
        case outOfTurn
        /// A packet and its attachments exceed the limit of bytes.
        case tooLarge
        /// The attachments of a packet did not come in time.
        case attachmentsOverdue
        /// More events before the answer to CONNECT than may be held.
        case tooManyEarlyEvents
    }
}

extension SocketIOProtocolError: CustomStringConvertible {
    /// The code and the message, and where the JSON is wrong.
    package var description: String {
        "\(self.code): \(self.message)" + (self.cause.map { " <- \($0)" } ?? "")
    }
}

extension LinkspanError {
    /// A link's end because of what the server sent.
    init(_ violation: SocketIOProtocolError) {
        self.init(.protocolViolation, violation.message, cause: violation)
    }
}
