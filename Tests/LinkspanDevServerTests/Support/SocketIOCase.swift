internal import Testing

/// The cases of the official test suite of the Socket.IO protocol, revision 5, by their titles.
///
/// It has those of ``EngineCase/ofSocketIO`` before them.
enum SocketIOCase: String, Sendable, CaseIterable, CustomTestStringConvertible {
    case main = "connect: should allow connection to the main namespace"
    case mainWithPayload = "connect: should allow connection to the main namespace with a payload"
    case custom = "connect: should allow connection to a custom namespace"
    case customWithPayload = "connect: should allow connection to a custom namespace with a payload"
    case unknown = "connect: should disallow connection to an unknown namespace"
    case brokenHandshake = "connect: should disallow connection with an invalid handshake"
    case noHandshake = "connect: should close the connection if no handshake is received"

    case leaveMain = "disconnect: should disconnect from the main namespace"
    case leaveCustom = "disconnect: should connect then disconnect from a custom namespace"

    case text = "message: should send a plain-text packet"
    case binary = "message: should send a packet with binary attachments"
    case textWithAck = "message: should send a plain-text packet with an ack"
    case binaryWithAck = "message: should send a packet with binary attachments and an ack"
    case unknownType = "message: should close the connection upon invalid format (unknown packet type)"
    case brokenPayload = "message: should close the connection upon invalid format (invalid payload format)"
    case brokenID = "message: should close the connection upon invalid format (invalid ack id)"

    var testDescription: String { self.rawValue }
}
