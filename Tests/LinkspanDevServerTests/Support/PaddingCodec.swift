internal import Linkspan
internal import LinkspanSocketIO
internal import LinkspanWebSocket

/// The packets of Socket.IO as they are by default, without attachments, with as many spaces as an event has arguments.
struct PaddingCodec: SocketIOCodec {
    let name = "padding"

    func encode(_ packet: SocketIOCodecPacket) throws(LinkspanError) -> [WebSocketMessage] {
        var text = Array("\(packet.kind.rawValue)\(packet.id.map { "\($0)" } ?? "")".utf8)
        switch packet.kind {
        case .event:
            let arguments = packet.payload.elements
            text += Array(#"["\#(packet.event)""#.utf8) + (arguments.isEmpty ? [] : Array(",".utf8)) + arguments
            text += Array(repeating: UInt8(ascii: " "), count: arguments.count) + Array("]".utf8)
        case .acknowledgement: text += Array("[".utf8) + packet.payload.elements + Array("]".utf8)
        case .connect, .connectError, .disconnect: text += packet.payload.elements
        }
        return [.text(text[...])]
    }

    func makeDecoder(maximumBytes: Int) -> any SocketIOCodecDecoder { Decoder() }

    /// Reads what the development server says to a client without listeners.
    private struct Decoder: SocketIOCodecDecoder {
        mutating func decode(_ message: WebSocketMessage) throws(LinkspanError) -> SocketIOCodecPacket? {
            guard case .text(var text) = message, let digit = text.popFirst(),
                let kind = SocketIOCodecPacket.Kind(rawValue: digit - UInt8(ascii: "0"))
            else { throw LinkspanError(.protocolViolation, "a packet is not text") }
            let digits = text.prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
            text = text.dropFirst(digits.count)
            if kind == .acknowledgement { text = text.dropFirst().dropLast() }
            let payload = text.isEmpty ? Payload.empty : try Payload(checking: text)
            return SocketIOCodecPacket(kind, id: UInt64(String(decoding: digits, as: UTF8.self)), payload: payload)
        }
    }
}

/// The default envelope, with as many spaces as it has bytes.
struct PaddingEnvelopeCodec: EnvelopeCodec {
    let name = "padding"

    func encode(_ envelope: Envelope, to buffer: inout [UInt8]) throws(LinkspanError) -> EncodedKind {
        let kind = try JSONEnvelopeCodec().encode(envelope, to: &buffer)
        buffer += Array(repeating: UInt8(ascii: " "), count: buffer.count)
        return kind
    }

    func decode(text: ArraySlice<UInt8>) throws(LinkspanError) -> DecodedEnvelope {
        try JSONEnvelopeCodec().decode(text: text)
    }

    func decode(binary: ArraySlice<UInt8>) throws(LinkspanError) -> DecodedEnvelope {
        try JSONEnvelopeCodec().decode(binary: binary)
    }
}
