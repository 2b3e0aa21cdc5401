/// A packet of Engine.IO v4 (engine.io-protocol §"Protocol").
///
/// On a WebSocket one frame is one packet: a text frame is a type digit and the data, a binary frame is a message
/// without any type. The data are slices of the frame, never copies.
package enum EngineIOPacket: Sendable, Hashable {
    /// The server's handshake, as JSON.
    case open(ArraySlice<UInt8>)
    /// The end of the session.
    case close
    /// The server's heartbeat; the data is `probe` while a transport is tried.
    case ping(ArraySlice<UInt8>)
    /// The answer to a ping.
    case pong(ArraySlice<UInt8>)
    /// A message in text.
    case message(ArraySlice<UInt8>)
    /// A message in binary.
    case binary(ArraySlice<UInt8>)
    /// The client's decision for the probed transport.
    case upgrade
    /// Nothing: it ends a poll.
    case noop

    /// Reads a text frame.
    ///
    /// Whatever follows the digit of `close`, `upgrade` and `noop` is dropped, as the reference does.
    package init(text: ArraySlice<UInt8>) throws(SocketIOProtocolError) {
        guard let type = text.first else { throw SocketIOProtocolError(.emptyPacket, "an Engine.IO packet is empty") }
        let data = text.dropFirst()
        switch type {
        case UInt8(ascii: "4"): self = .message(data)
        case UInt8(ascii: "2"): self = .ping(data)
        case UInt8(ascii: "3"): self = .pong(data)
        case UInt8(ascii: "0"): self = .open(data)
        case UInt8(ascii: "1"): self = .close
        case UInt8(ascii: "5"): self = .upgrade
        case UInt8(ascii: "6"): self = .noop
        default: throw SocketIOProtocolError(.unknownType, "an Engine.IO packet has an unknown type")
        }
    }

    /// Reads a binary frame: it is a message, an empty one too.
    package init(binary: ArraySlice<UInt8>) { self = .binary(binary) }
}

extension UInt64 {
    /// The number of digits in decimal form.
    var decimalDigits: Int {
        var (count, rest) = (1, self / 10)
        while rest > 0 { (count, rest) = (count + 1, rest / 10) }
        return count
    }
}
