internal import LinkspanNetwork
internal import LinkspanWebSocketProtocol

/// The packets of one HTTP body, in the two forms of Engine.IO v3: as text, each behind its length, or as bytes.
///
/// In text a packet is `<length>:<packet>`, where the length counts UTF-16 units, as JavaScript does, and a binary
/// packet is `b4` and base64. In bytes it is 0 for text or 1 for binary, the length in bytes as one byte for each
/// decimal digit, 255, and the packet, where a binary one begins with its type as a number.
enum LegacyPollingPayload {
    /// The most digits of a length; with one more it might not fit into 32 bits.
    private static let mostDigits = 9
    private static let messageType: UInt8 = 4

    /// Takes a body apart, whichever form it has.
    static func decode(_ body: ArraySlice<UInt8>) throws(SocketIOProtocolError) -> [WebSocketMessage] {
        guard let first = body.first else { throw SocketIOProtocolError(.badPolling, "the answer to a poll is empty") }
        return first <= 1 ? try Self.decodeBytes(body) : try Self.decodeText(body)
    }

    /// Whether a body looks like the first answer of a server that speaks this version: `97:0{…`.
    static func isHandshake(_ body: ArraySlice<UInt8>) -> Bool {
        let rest = body.drop { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
        let isText = (1...Self.mostDigits).contains(body.count - rest.count) && rest.starts(with: ":0{".utf8)
        return isText || body.first == 0
    }

    /// The bytes that a packet takes in a body, at most.
    static func length(of packet: WebSocketMessage) -> Int {
        switch packet {
        case .text(let text): Self.length(ofText: text.count)
        case .binary(let bytes): Self.length(ofBinary: bytes.count)
        }
    }

    /// The bytes that a text of so many bytes takes; one more than it takes, at times, when not all of it is ASCII.
    static func length(ofText count: Int) -> Int { UInt64(count).decimalDigits + 1 + count }

    /// The bytes that so many bytes in binary take.
    static func length(ofBinary count: Int) -> Int { Self.length(ofText: Base64.length(of: count) + 2) }

    /// Appends packets to a body, as text.
    static func append(_ packets: some Sequence<WebSocketMessage>, to body: inout [UInt8]) {
        for packet in packets {
            switch packet {
            case .text(let text):
                body.append(contentsOf: "\(String(decoding: text, as: UTF8.self).utf16.count):".utf8)
                body.append(contentsOf: text)
            case .binary(let bytes):
                body.append(contentsOf: "\(Base64.length(of: bytes.count) + 2):b4".utf8)
                Base64.append(bytes, to: &body)
            }
        }
    }
}

extension LegacyPollingPayload {
    private static func decodeText(_ body: ArraySlice<UInt8>) throws(SocketIOProtocolError) -> [WebSocketMessage] {
        guard UTF8Validator.isValid(body) else {
            throw SocketIOProtocolError(.badPolling, "the answer to a poll is not UTF-8")
        }
        var packets: [WebSocketMessage] = []
        let whole = String(decoding: body, as: UTF8.self)
        var rest = whole[...]
        while !rest.isEmpty {
            let digits = rest.utf8.prefix(while: \.isDigit)
            let text = rest.utf8[digits.endIndex...].dropFirst()
            guard digits.count <= Self.mostDigits, let length = Int(Substring(digits)),
                rest.utf8[digits.endIndex...].first == UInt8(ascii: ":"),
                let end = rest.utf16.index(text.startIndex, offsetBy: length, limitedBy: rest.endIndex),
                end.samePosition(in: whole.unicodeScalars) != nil
            else { throw Self.badLength }
            packets.append(try Self.packet(Array(rest[text.startIndex..<end].utf8)[...]))
            rest = rest[end...]
        }
        return packets
    }

    private static func packet(_ text: ArraySlice<UInt8>) throws(SocketIOProtocolError) -> WebSocketMessage {
        guard text.first == UInt8(ascii: "b") else { return .text(text) }
        guard text.dropFirst().first == UInt8(ascii: "4"), let bytes = Base64.decode(text.dropFirst(2)) else {
            throw SocketIOProtocolError(.badPolling, "a binary packet is not base64")
        }
        return .binary(bytes[...])
    }

    private static func decodeBytes(_ body: ArraySlice<UInt8>) throws(SocketIOProtocolError) -> [WebSocketMessage] {
        var packets: [WebSocketMessage] = []
        var rest = body
        while let kind = rest.popFirst() {
            guard kind <= 1 else { throw Self.badLength }
            var length = 0
            var digits = 0
            while let digit = rest.popFirst(), digit != 255 {
                digits += 1
                guard digit < 10, digits <= Self.mostDigits else { throw Self.badLength }
                length = length * 10 + Int(digit)
            }
            guard digits > 0, length <= rest.count else { throw Self.badLength }
            let packet = rest.prefix(length)
            rest = rest.dropFirst(length)
            if kind == 0 {
                guard UTF8Validator.isValid(packet) else {
                    throw SocketIOProtocolError(.badPolling, "a packet of a poll is not UTF-8")
                }
                packets.append(.text(Array(packet)[...]))
            } else {
                guard packet.first == Self.messageType else {
                    throw SocketIOProtocolError(.badPolling, "a binary packet is no message")
                }
                packets.append(.binary(Array(packet.dropFirst())[...]))
            }
        }
        return packets
    }

    private static var badLength: SocketIOProtocolError {
        SocketIOProtocolError(.badPolling, "the length of a packet in a poll is wrong")
    }
}
