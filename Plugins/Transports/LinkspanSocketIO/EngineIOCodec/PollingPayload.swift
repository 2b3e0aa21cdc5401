package import LinkspanNetwork
internal import LinkspanWebSocketProtocol

/// The packets of one HTTP body, in the form of Engine.IO v4: one behind another with U+001E between them
/// (engine.io-protocol §"HTTP long-polling").
///
/// A packet is what a WebSocket would carry in a text frame, or `b` and base64 in place of a binary frame. The
/// separator needs no escape: JSON writes control characters as escapes.
package enum PollingPayload {
    static let separator: UInt8 = 0x1E
    static let binary = UInt8(ascii: "b")

    /// Takes a body apart.
    ///
    /// Linear in its length; the texts are slices of it.
    package static func decode(_ body: ArraySlice<UInt8>) throws(SocketIOProtocolError) -> [WebSocketMessage] {
        var (packets, rest): ([WebSocketMessage], ArraySlice<UInt8>?) = ([], body)
        while let packet = try Self.next(of: &rest) { packets.append(packet) }
        return packets
    }

    /// Takes the first packet off a body, whose rest is nil behind the last one; nil when none is left.
    package static func next(of rest: inout ArraySlice<UInt8>?) throws(SocketIOProtocolError) -> WebSocketMessage? {
        guard let body = rest else { return nil }
        let end = body.firstIndex(of: Self.separator)
        rest = end.map { body[($0 + 1)...] }
        return try Self.packet(body[..<(end ?? body.endIndex)])
    }

    /// The packet of a text without separators.
    static func packet(_ text: ArraySlice<UInt8>) throws(SocketIOProtocolError) -> WebSocketMessage {
        guard text.first == Self.binary else {
            // Each for itself, which is as good as the whole: a separator is in no character.
            guard UTF8Validator.isValid(text) else {
                throw SocketIOProtocolError(.badPolling, "the answer to a poll is not UTF-8")
            }
            return .text(text)
        }
        guard let bytes = Base64.decode(text.dropFirst()) else {
            throw SocketIOProtocolError(.badPolling, "a binary packet is not base64")
        }
        return .binary(bytes[...])
    }

    /// The bytes that a packet takes in a body, a separator included.
    package static func length(of packet: WebSocketMessage) -> Int {
        switch packet {
        case .text(let text): text.count + 1
        case .binary(let bytes): Self.length(ofBinary: bytes.count) + 1
        }
    }

    /// The bytes that so many bytes in binary take, without a separator.
    static func length(ofBinary count: Int) -> Int { Base64.length(of: count) + 1 }

    /// Appends packets to a body.
    package static func append(_ packets: some Sequence<WebSocketMessage>, to body: inout [UInt8]) {
        for packet in packets {
            if !body.isEmpty { body.append(Self.separator) }
            switch packet {
            case .text(let text): body.append(contentsOf: text)
            case .binary(let bytes):
                body.append(Self.binary)
                Base64.append(bytes, to: &body)
            }
        }
    }
}
