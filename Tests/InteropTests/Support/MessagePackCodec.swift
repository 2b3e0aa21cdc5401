internal import Foundation
internal import Linkspan
internal import LinkspanNetwork
internal import LinkspanSocketIO

/// Socket.IO packets in MessagePack, as socket.io-msgpack-parser and python-socketio write them: one binary message for
/// each, a map with `type`, `data`, `nsp` and `id`.
///
/// It shows what a codec of an app's own looks like, and proves that servers understand it.
struct MessagePackCodec: SocketIOCodec {
    let name = "msgpack"

    func encode(_ packet: SocketIOCodecPacket) throws(LinkspanError) -> [WebSocketMessage] {
        var members: [(String, Any)] = [("type", Int(packet.kind.rawValue)), ("nsp", packet.namespace)]
        let elements = try Self.values(packet.payload)
        switch packet.kind {
        case .event: members.append(("data", [packet.event] + elements))
        case .acknowledgement: members.append(("data", elements))
        case .connect, .connectError: if let first = elements.first { members.append(("data", first)) }
        case .disconnect: ()
        }
        if let id = packet.id { members.append(("id", Int(id))) }
        var bytes: [UInt8] = [0x80 | UInt8(members.count)]
        for (key, value) in members {
            MessagePack.append(key, to: &bytes)
            MessagePack.append(value, to: &bytes)
        }
        return [.binary(bytes[...])]
    }

    func makeDecoder(maximumBytes: Int) -> any SocketIOCodecDecoder { Decoder() }

    /// Each message is a whole packet, so nothing is kept.
    struct Decoder: SocketIOCodecDecoder {
        mutating func decode(_ message: WebSocketMessage) throws(LinkspanError) -> SocketIOCodecPacket? {
            var reader = MessagePack.Reader(rest: message.bytes)
            guard case .binary = message, let packet = reader.value(depth: 0) as? [String: Any],
                let kind = (packet["type"] as? Int).flatMap({ SocketIOCodecPacket.Kind(rawValue: UInt8($0)) }),
                let namespace = packet["nsp"] as? String
            else { throw LinkspanError(.protocolViolation, "a packet is not MessagePack") }
            var elements = packet["data"].map { $0 as? [Any] ?? [$0] } ?? []
            var event = ""
            if kind == .event {
                guard let name = elements.first as? String else {
                    throw LinkspanError(.protocolViolation, "an event has no name")
                }
                event = name
                elements.removeFirst()
            }
            return SocketIOCodecPacket(
                kind, namespace: namespace, id: (packet["id"] as? Int).map { UInt64($0) }, event: event,
                payload: try MessagePackCodec.payload(elements))
        }
    }

    /// The arguments, binary ones as `Data`.
    private static func values(_ payload: Payload) throws(LinkspanError) -> [Any] {
        let json = [UInt8(ascii: "[")] + payload.elements + [UInt8(ascii: "]")]
        guard let values = try? JSONSerialization.jsonObject(with: Data(json)) as? [Any] else {
            throw LinkspanError(.encodingFailed, "a payload is no JSON")
        }
        return values.map { Self.filled($0, payload.attachments) }
    }

    private static func filled(_ value: Any, _ attachments: [ArraySlice<UInt8>]) -> Any {
        switch value {
        case let members as [String: Any]:
            if members["_placeholder"] as? Bool == true, let number = members["num"] as? Int,
                attachments.indices.contains(number)
            {
                return Data(attachments[number])
            }
            return members.mapValues { Self.filled($0, attachments) }
        case let elements as [Any]: return elements.map { Self.filled($0, attachments) }
        default: return value
        }
    }

    /// JSON with the binary values as attachments.
    private static func payload(_ elements: [Any]) throws(LinkspanError) -> Payload {
        var attachments: [ArraySlice<UInt8>] = []
        let emptied = elements.map { Self.emptied($0, &attachments) }
        guard let json = try? JSONSerialization.data(withJSONObject: emptied),
            let payload = try? Payload(checking: Array(json.dropFirst().dropLast())[...], attachments: attachments)
        else { throw LinkspanError(.protocolViolation, "a packet cannot be JSON") }
        return payload
    }

    private static func emptied(_ value: Any, _ attachments: inout [ArraySlice<UInt8>]) -> Any {
        switch value {
        case let data as Data:
            attachments.append(Array(data)[...])
            return ["_placeholder": true, "num": attachments.count - 1] as [String: Any]
        case let members as [String: Any]: return members.mapValues { Self.emptied($0, &attachments) }
        case let elements as [Any]: return elements.map { Self.emptied($0, &attachments) }
        default: return value
        }
    }
}

extension WebSocketMessage {
    fileprivate var bytes: ArraySlice<UInt8> {
        switch self {
        case .text(let bytes), .binary(let bytes): bytes
        }
    }
}

/// As much of MessagePack (msgpack/spec) as JSON and binary values need.
private enum MessagePack {
    static func append(_ value: Any, to bytes: inout [UInt8]) {
        switch value {
        case let text as String: Self.append(Array(text.utf8), 0xD9, 0xDA, 0xDB, to: &bytes)
        case let data as Data: Self.append(Array(data), 0xC4, 0xC5, 0xC6, to: &bytes)
        case let number as NSNumber: Self.append(number, to: &bytes)
        case let elements as [Any]:
            Self.append(count: elements.count, 0xDD, to: &bytes)
            for element in elements { Self.append(element, to: &bytes) }
        case let members as [String: Any]:
            Self.append(count: members.count, 0xDF, to: &bytes)
            for (key, member) in members {
                Self.append(key, to: &bytes)
                Self.append(member, to: &bytes)
            }
        default: bytes.append(0xC0)
        }
    }

    private static func append(_ number: NSNumber, to bytes: inout [UInt8]) {
        switch String(cString: number.objCType) {
        case "c", "B": bytes.append(number.boolValue ? 0xC3 : 0xC2)
        case "d", "f": Self.append(0xCB, number.doubleValue.bitPattern, of: 8, to: &bytes)
        default: Self.append(0xD3, UInt64(bitPattern: number.int64Value), of: 8, to: &bytes)
        }
    }

    private static func append(
        _ content: [UInt8], _ short: UInt8, _ middle: UInt8, _ long: UInt8, to bytes: inout [UInt8]
    ) {
        switch content.count {
        case ..<0x100: Self.append(short, UInt64(content.count), of: 1, to: &bytes)
        case ..<0x10000: Self.append(middle, UInt64(content.count), of: 2, to: &bytes)
        default: Self.append(long, UInt64(content.count), of: 4, to: &bytes)
        }
        bytes += content
    }

    private static func append(count: Int, _ type: UInt8, to bytes: inout [UInt8]) {
        Self.append(type, UInt64(count), of: 4, to: &bytes)
    }

    private static func append(_ type: UInt8, _ number: UInt64, of size: Int, to bytes: inout [UInt8]) {
        bytes.append(type)
        for shift in stride(from: 8 * (size - 1), through: 0, by: -8) {
            bytes.append(UInt8(truncatingIfNeeded: number >> UInt64(shift)))
        }
    }

    /// Reads one value after the other; nil for what it does not know, or what is cut off.
    struct Reader {
        var rest: ArraySlice<UInt8>

        mutating func value(depth: Int) -> Any? {
            guard depth < 64, let type = self.rest.popFirst() else { return nil }
            switch type {
            case 0x00...0x7F: return Int(type)
            case 0xE0...0xFF: return Int(Int8(bitPattern: type))
            case 0xC0: return NSNull()
            case 0xC2: return false
            case 0xC3: return true
            case 0xA0...0xBF: return self.text(Int(type & 0x1F))
            case 0xD9, 0xDA, 0xDB: return self.number(1 << Int(type - 0xD9)).flatMap { self.text(Int($0)) }
            case 0xC4, 0xC5, 0xC6:
                return self.number(1 << Int(type - 0xC4)).flatMap { self.bytes(Int($0)).map { Data($0) } }
            case 0xCC...0xCF: return self.number(1 << Int(type - 0xCC)).flatMap { Int(exactly: $0) }
            case 0xD0: return self.number(1).map { Int(Int8(truncatingIfNeeded: $0)) }
            case 0xD1: return self.number(2).map { Int(Int16(truncatingIfNeeded: $0)) }
            case 0xD2: return self.number(4).map { Int(Int32(truncatingIfNeeded: $0)) }
            case 0xD3: return self.number(8).map { Int(Int64(bitPattern: $0)) }
            case 0xCB: return self.number(8).map { Double(bitPattern: $0) }
            case 0x90...0x9F: return self.elements(Int(type & 0x0F), depth)
            case 0xDC, 0xDD: return self.number(type == 0xDC ? 2 : 4).flatMap { self.elements(Int($0), depth) }
            case 0x80...0x8F: return self.members(Int(type & 0x0F), depth)
            case 0xDE, 0xDF: return self.number(type == 0xDE ? 2 : 4).flatMap { self.members(Int($0), depth) }
            default: return nil
            }
        }

        private mutating func number(_ size: Int) -> UInt64? {
            self.bytes(size).map { $0.reduce(0) { $0 << 8 | UInt64($1) } }
        }

        private mutating func bytes(_ count: Int) -> ArraySlice<UInt8>? {
            guard count <= self.rest.count else { return nil }
            defer { self.rest = self.rest.dropFirst(count) }
            return self.rest.prefix(count)
        }

        private mutating func text(_ count: Int) -> String? {
            self.bytes(count).map { String(decoding: $0, as: UTF8.self) }
        }

        private mutating func elements(_ count: Int, _ depth: Int) -> [Any]? {
            var elements: [Any] = []
            while elements.count < count {
                guard let element = self.value(depth: depth + 1) else { return nil }
                elements.append(element)
            }
            return elements
        }

        private mutating func members(_ count: Int, _ depth: Int) -> [String: Any]? {
            var members: [String: Any] = [:]
            for _ in 0..<count {
                guard let key = self.value(depth: depth + 1) as? String, let value = self.value(depth: depth + 1) else {
                    return nil
                }
                members[key] = value
            }
            return members
        }
    }
}
