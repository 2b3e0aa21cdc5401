public import Linkspan
public import LinkspanNetwork

/// Packets in MessagePack, for servers with socket.io-msgpack-parser, or python-socketio with `serializer="msgpack"`.
///
/// Each packet is one binary message: a map with `type`, `nsp`, `data` and `id`, binary values in place. What JSON has no
/// word for reads as it would in JavaScript's: `undefined` and numbers that are not finite as null, a date as a text of ISO 8601.
public struct MessagePackCodec: SocketIOCodec {
    /// `msgpack`.
    public let name = "msgpack"

    /// Makes the codec.
    public init() {}

    /// Writes a packet as one binary message.
    ///
    /// - Returns: the message; nothing is thrown.
    public func encode(_ packet: SocketIOCodecPacket) throws(LinkspanError) -> [WebSocketMessage] {
        let values = packet.payload.values
        let isList = packet.kind == .event || packet.kind == .acknowledgement
        let hasData = isList || !values.isEmpty
        var writer = MessagePackWriter()
        writer.writeCount(2 + (hasData ? 1 : 0) + (packet.id == nil ? 0 : 1), .map)
        writer.write("type")
        writer.write(Int(packet.kind.rawValue))
        if hasData { writer.write("data") }
        if isList { writer.writeCount(values.count + (packet.kind == .event ? 1 : 0), .array) }
        if packet.kind == .event { writer.write(packet.event) }
        for value in isList ? values : Array(values.prefix(1)) { writer.write(value) }
        writer.write("nsp")
        writer.write(packet.namespace)
        if let id = packet.id {
            writer.write("id")
            writer.write(Int(clamping: id))
        }
        return [.binary(writer.bytes[...])]
    }

    /// Makes the reader of one connection, which keeps nothing.
    public func makeDecoder(maximumBytes: Int) -> any SocketIOCodecDecoder { Decoder() }

    /// Each message is a whole packet, so that nothing is kept.
    private struct Decoder: SocketIOCodecDecoder {
        func decode(_ message: WebSocketMessage) throws(LinkspanError) -> SocketIOCodecPacket? {
            guard case .binary(let bytes) = message else {
                throw LinkspanError(.protocolViolation, "a text came where MessagePack was expected")
            }
            let fields = try MessagePackReader.members(of: bytes)
            guard let kind = fields["type"]?[0]?.int.flatMap({ UInt8(exactly: $0) }),
                let kind = SocketIOCodecPacket.Kind(rawValue: kind), let namespace = fields["nsp"]?[0]?.string
            else { throw LinkspanError(.protocolViolation, "a MessagePack packet has no valid type and namespace") }
            var packet = SocketIOCodecPacket(kind, namespace: namespace)
            if let id = fields["id"]?[0], !id.isNull {
                guard let number = id.int.flatMap({ UInt64(exactly: $0) }) else {
                    throw LinkspanError(.protocolViolation, "the id of a MessagePack packet is no whole number")
                }
                packet.id = number
            }
            let (data, value) = (fields["data"], fields["data"]?[0])
            switch kind {
            case .connect, .connectError: if let data, value?.isNull == false { packet.payload = data }
            case .disconnect: ()
            case .event, .acknowledgement:
                let name = kind == .event ? value?.elements?.first?.string : ""
                guard let name, let data, let value, let elements = value.elements else {
                    throw LinkspanError(.protocolViolation, "a MessagePack packet has no valid arguments")
                }
                packet.event = name
                let end = value.text.endIndex - 1
                let start = elements.dropFirst(kind == .event ? 1 : 0).first?.text.startIndex ?? end
                packet.payload = Payload(trustedElements: value.text[start..<end], attachments: data.attachments)
            }
            return packet
        }
    }
}

/// Writes JSON values as MessagePack, each in its shortest form.
private struct MessagePackWriter {
    enum Container { case array, map }

    private(set) var bytes: [UInt8] = []

    mutating func write(_ value: PayloadValue) {
        if let blob = value.blob { return self.write(blob) }
        switch value.text.first {
        case UInt8(ascii: "{"):
            let members = value.members ?? []
            self.writeCount(members.count, .map)
            for (name, member) in members {
                self.write(name.string ?? "")
                self.write(member)
            }
        case UInt8(ascii: "["):
            let elements = value.elements ?? []
            self.writeCount(elements.count, .array)
            for element in elements { self.write(element) }
        case UInt8(ascii: "\""): self.write(value.string ?? "")
        case UInt8(ascii: "t"): self.bytes.append(0xC3)
        case UInt8(ascii: "f"): self.bytes.append(0xC2)
        default:
            if let int = value.int {
                self.write(int)
            } else if let double = value.double {
                self.write(0xCB, double.bitPattern)
            } else {
                self.bytes.append(0xC0)
            }
        }
    }

    mutating func write(_ text: String) {
        let utf8 = text.utf8
        switch utf8.count {
        case ..<32: self.bytes.append(0xA0 | UInt8(utf8.count))
        case ..<0x100: self.write(0xD9, UInt8(utf8.count))
        case ..<0x10000: self.write(0xDA, UInt16(utf8.count))
        default: self.write(0xDB, UInt32(clamping: utf8.count))
        }
        self.bytes.append(contentsOf: utf8)
    }

    mutating func write(_ int: Int) {
        if let small = Int8(exactly: int) {
            if small < -32 { self.bytes.append(0xD0) }
            self.bytes.append(UInt8(bitPattern: small))
        } else if let number = Int16(exactly: int) {
            self.write(0xD1, UInt16(bitPattern: number))
        } else if let number = Int32(exactly: int) {
            self.write(0xD2, UInt32(bitPattern: number))
        } else {
            self.write(0xD3, UInt64(bitPattern: Int64(int)))
        }
    }

    mutating func writeCount(_ count: Int, _ container: Container) {
        switch count {
        case ..<16: self.bytes.append((container == .map ? 0x80 : 0x90) | UInt8(count))
        case ..<0x10000: self.write(container == .map ? 0xDE : 0xDC, UInt16(count))
        default: self.write(container == .map ? 0xDF : 0xDD, UInt32(clamping: count))
        }
    }

    private mutating func write(_ blob: ArraySlice<UInt8>) {
        switch blob.count {
        case ..<0x100: self.write(0xC4, UInt8(blob.count))
        case ..<0x10000: self.write(0xC5, UInt16(blob.count))
        default: self.write(0xC6, UInt32(clamping: blob.count))
        }
        self.bytes.append(contentsOf: blob)
    }

    private mutating func write<Number: FixedWidthInteger>(_ type: UInt8, _ number: Number) {
        self.bytes.append(type)
        withUnsafeBytes(of: number.bigEndian) { self.bytes.append(contentsOf: $0) }
    }
}

/// Reads MessagePack (msgpack/spec) as JSON with attachments.
private struct MessagePackReader {
    private var rest: ArraySlice<UInt8>
    /// The JSON of the value that is being read, and its binary values.
    private var text: [UInt8] = []
    private var attachments: [ArraySlice<UInt8>] = []

    /// The members of a map that is all there is.
    static func members(of bytes: ArraySlice<UInt8>) throws(LinkspanError) -> [String: Payload] {
        var reader = Self(rest: bytes)
        let type = try reader.take(1)
        let count =
            switch type {
            case 0x80...0x8F: Int(type & 0x0F)
            case 0xDE, 0xDF: try reader.count(type == 0xDE ? 2 : 4)
            default: throw LinkspanError(.protocolViolation, "a MessagePack packet is no map")
            }
        var members: [String: Payload] = [:]
        for _ in 0..<count {
            guard let name = try reader.payload()[0]?.string else { throw Self.noName }
            members[name] = try reader.payload()
        }
        guard reader.rest.isEmpty else {
            throw LinkspanError(.protocolViolation, "\(reader.rest.count) bytes follow a MessagePack packet")
        }
        return members
    }

    private static let noName = LinkspanError(.protocolViolation, "a name in a MessagePack map is no text")

    private init(rest: ArraySlice<UInt8>) { self.rest = rest }

    /// The next value.
    private mutating func payload() throws(LinkspanError) -> Payload {
        (self.text, self.attachments) = ([], [])
        try self.readValue(depth: 0)
        do {
            return try Payload(checking: self.text[...], attachments: self.attachments)
        } catch {
            throw LinkspanError(.protocolViolation, "a MessagePack packet cannot be JSON", cause: error)
        }
    }

    private mutating func readValue(depth: Int) throws(LinkspanError) {
        guard depth < JSONScanner.maximumDepth else {
            throw LinkspanError(.protocolViolation, "MessagePack is nested deeper than \(depth)")
        }
        let type = UInt8(truncatingIfNeeded: try self.take(1))
        switch type {
        case 0x00...0x7F: self.append("\(type)")
        case 0x80...0x8F: try self.readMembers(Int(type & 0x0F), depth)
        case 0x90...0x9F: try self.readElements(Int(type & 0x0F), depth)
        case 0xA0...0xBF: try self.readText(Int(type & 0x1F))
        case 0xC0: self.append("null")
        case 0xC2: self.append("false")
        case 0xC3: self.append("true")
        case 0xC4...0xC6: try self.readBlob(try self.count(1 << Int(type - 0xC4)))
        case 0xC7...0xC9: try self.readExtension(try self.count(1 << Int(type - 0xC7)))
        case 0xCA: self.append(Double(Float(bitPattern: UInt32(truncatingIfNeeded: try self.take(4)))))
        case 0xCB: self.append(Double(bitPattern: try self.take(8)))
        case 0xCC...0xCF: self.append("\(try self.take(1 << Int(type - 0xCC)))")
        case 0xD0...0xD3: self.append("\(try self.signed(1 << Int(type - 0xD0)))")
        case 0xD4...0xD8: try self.readExtension(1 << Int(type - 0xD4))
        case 0xD9...0xDB: try self.readText(try self.count(1 << Int(type - 0xD9)))
        case 0xDC, 0xDD: try self.readElements(try self.count(type == 0xDC ? 2 : 4), depth)
        case 0xDE, 0xDF: try self.readMembers(try self.count(type == 0xDE ? 2 : 4), depth)
        case 0xE0...0xFF: self.append("\(Int8(bitPattern: type))")
        default: throw LinkspanError(.protocolViolation, "MessagePack has no type \(type)")
        }
    }

    private mutating func readElements(_ count: Int, _ depth: Int) throws(LinkspanError) {
        self.append("[")
        for index in 0..<count {
            if index > 0 { self.append(",") }
            try self.readValue(depth: depth + 1)
        }
        self.append("]")
    }

    private mutating func readMembers(_ count: Int, _ depth: Int) throws(LinkspanError) {
        self.append("{")
        for index in 0..<count {
            if index > 0 { self.append(",") }
            let start = self.text.count
            try self.readValue(depth: depth + 1)
            guard self.text[start] == UInt8(ascii: "\"") else { throw Self.noName }
            self.append(":")
            try self.readValue(depth: depth + 1)
        }
        self.append("}")
    }

    private mutating func readText(_ count: Int) throws(LinkspanError) {
        let bytes = try self.bytes(count)
        let text = String(decoding: bytes, as: UTF8.self)
        // What is not UTF-8 was replaced.
        guard text.utf8.elementsEqual(bytes) else {
            throw LinkspanError(.protocolViolation, "a text in MessagePack is not UTF-8")
        }
        self.text.append(contentsOf: try Payload(text).elements)
    }

    private mutating func readBlob(_ count: Int) throws(LinkspanError) {
        self.append("{\"_placeholder\":true,\"num\":\(self.attachments.count)}")
        self.attachments.append(try self.bytes(count))
    }

    /// `undefined` and dates, as notepack.io writes them: type 0, or the specification's timestamp, which is type -1.
    private mutating func readExtension(_ count: Int) throws(LinkspanError) {
        let type = Int8(truncatingIfNeeded: try self.take(1))
        switch (type, count) {
        case (0, 1):
            _ = try self.take(1)
            self.append("null")
        case (0, 8): self.appendDate(milliseconds: try self.signed(8))
        case (-1, 4): self.appendDate(milliseconds: Int64(try self.take(4)) * 1_000)
        case (-1, 8):
            let both = try self.take(8)
            self.appendDate(milliseconds: Int64(both & 0x3_FFFF_FFFF) * 1_000 + Int64(both >> 34) / 1_000_000)
        case (-1, 12):
            let nanoseconds = Int64(try self.take(4))
            let (whole, isBeyond) = try self.signed(8).multipliedReportingOverflow(by: 1_000)
            self.appendDate(milliseconds: isBeyond ? .max : whole &+ nanoseconds / 1_000_000)
        default:
            throw LinkspanError(
                .protocolViolation, "MessagePack has an unknown extension: type \(type), \(count) bytes")
        }
    }

    /// Writes an instant since 1970, and one that JavaScript has no form for as null.
    private mutating func appendDate(milliseconds: Int64) {
        self.append(DateText.write(Double(milliseconds) / 1_000).map { "\"\($0)\"" } ?? "null")
    }

    private mutating func append(_ json: String) { self.text.append(contentsOf: json.utf8) }

    private mutating func append(_ number: Double) { self.append(number.isFinite ? "\(number)" : "null") }

    /// The number of elements or bytes that are said to follow.
    private mutating func count(_ size: Int) throws(LinkspanError) -> Int { Int(clamping: try self.take(size)) }

    private mutating func signed(_ size: Int) throws(LinkspanError) -> Int64 {
        let shift = 64 - 8 * size
        return Int64(bitPattern: try self.take(size) << UInt64(shift)) >> Int64(shift)
    }

    /// A number of so many bytes.
    private mutating func take(_ size: Int) throws(LinkspanError) -> UInt64 {
        try self.bytes(size).reduce(0) { $0 << 8 | UInt64($1) }
    }

    private mutating func bytes(_ count: Int) throws(LinkspanError) -> ArraySlice<UInt8> {
        guard count <= self.rest.count else {
            throw LinkspanError(.protocolViolation, "a MessagePack packet is cut off")
        }
        defer { self.rest = self.rest.dropFirst(count) }
        return self.rest.prefix(count)
    }
}
