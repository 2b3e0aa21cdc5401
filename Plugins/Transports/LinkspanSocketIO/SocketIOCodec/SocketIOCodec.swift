public import Linkspan
public import LinkspanNetwork

/// Turns packets of Socket.IO into messages of Engine.IO and back, in place of JSON with attachments.
///
/// Both sides have to use the same: servers call it a parser or serializer, such as socket.io-msgpack-parser. Payloads
/// stay what they are for the app: JSON text with binary values as attachments, which the codec reads and makes.
///
/// ```swift
/// SocketIOConfiguration { $0.codec = MessagePackCodec() }
/// ```
///
/// Compared by content, so that holders of one connection see that they agree: a structure needs to do nothing for
/// that.
public protocol SocketIOCodec: Sendable, Hashable {
    /// The name, for people.
    var name: String { get }

    /// Writes a packet.
    ///
    /// - Returns: one message and the binary ones that belong behind it, with nothing between.
    /// - Throws: ``/Linkspan/LinkspanError`` with code `encodingFailed` when the packet cannot be written.
    func encode(_ packet: SocketIOCodecPacket) throws(LinkspanError) -> [WebSocketMessage]

    /// Makes the reader of one connection.
    ///
    /// - Parameter maximumBytes: the most bytes that it may keep of an unfinished packet.
    /// - Returns: the reader.
    func makeDecoder(maximumBytes: Int) -> any SocketIOCodecDecoder
}

/// Reads the messages of one connection.
public protocol SocketIOCodecDecoder: Sendable {
    /// Takes the next message.
    ///
    /// It must end for any bytes: with a packet, with nil when more messages belong to it, or with an error, which ends
    /// the connection. What is kept must not grow without bound.
    ///
    /// - Throws: ``/Linkspan/LinkspanError`` with code `protocolViolation`.
    mutating func decode(_ message: WebSocketMessage) throws(LinkspanError) -> SocketIOCodecPacket?
}

/// A packet of Socket.IO (socket.io-protocol §"Packet types").
public struct SocketIOCodecPacket: Sendable {
    /// The types, with the protocol's numbers; binary ones are the codec's matter.
    public enum Kind: UInt8, Sendable, Hashable {
        /// Enter a namespace; from the server, its consent. The payload is an object or nothing.
        case connect = 0
        /// Leave a namespace. No payload.
        case disconnect = 1
        /// An event with its arguments.
        case event = 2
        /// The answer to an event, with its arguments.
        case acknowledgement = 3
        /// The server refuses a namespace. The payload has the reason.
        case connectError = 4
    }

    /// The type.
    public var kind: Kind
    /// The namespace, `/` for the main one.
    public var namespace: String
    /// The number of an acknowledgement, or of an event that wants one.
    public var id: UInt64?
    /// The name of an event, empty for others.
    public var event: String
    /// The arguments behind the name.
    public var payload: Payload

    /// Makes a packet.
    public init(
        _ kind: Kind, namespace: String = "/", id: UInt64? = nil, event: String = "", payload: Payload = .empty
    ) {
        self.kind = kind
        self.namespace = namespace
        self.id = id
        self.event = event
        self.payload = payload
    }
}
