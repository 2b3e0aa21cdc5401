internal import Linkspan

/// A control packet of MQTT 5.0 or 3.1.1 (OASIS standards), which is read or written field by field.
struct MQTTPacket: Sendable {
    /// The type of a packet (section 2.1.2).
    enum Kind: UInt8 {
        case connect = 1, connack, publish, puback, pubrec, pubrel, pubcomp, subscribe, suback, unsubscribe, unsuback
        case pingreq, pingresp, disconnect, auth
    }

    let kind: Kind
    /// The lower half of the first byte.
    let flags: UInt8
    /// True for MQTT 5; packets of 3.1.1 have no properties.
    let isV5: Bool
    /// The fields that are still to be read, or that have been written.
    private(set) var body: ArraySlice<UInt8> = []

    /// The most bytes of a packet, which `CONNECT` says.
    static let largest = 16 << 20

    /// An empty packet, to be written.
    init(_ kind: Kind, flags: UInt8 = 0, isV5: Bool) { (self.kind, self.flags, self.isV5) = (kind, flags, isV5) }

    static func violation(_ sentence: String) -> LinkspanError {
        LinkspanError(.protocolViolation, "MQTT: \(sentence)")
    }

    /// Takes the next packet out of the received bytes; nil when it is not complete.
    static func next(_ feed: inout ByteFeed, isV5: Bool) throws(LinkspanError) -> Self? {
        guard let first = feed.rest.first, let (length, count) = try Self.variable(feed.rest.dropFirst()) else {
            return nil
        }
        guard length <= Self.largest else {
            throw Self.violation("a packet has \(length) bytes, more than the \(Self.largest) that are accepted here")
        }
        guard feed.rest.count > count + Int(length) else { return nil }
        guard let kind = Kind(rawValue: first >> 4) else { throw Self.violation("a packet of type 0") }
        var packet = Self(kind, flags: first & 0x0F, isV5: isV5)
        _ = feed.take(1 + count)
        packet.body = feed.take(Int(length))
        return packet
    }

    /// Reads a number of one to four bytes (section 1.5.5), and counts them; nil when it is cut off.
    private static func variable(_ bytes: ArraySlice<UInt8>) throws(LinkspanError) -> (value: UInt32, count: Int)? {
        var value: UInt32 = 0
        for (index, byte) in bytes.prefix(4).enumerated() {
            value |= UInt32(byte & 0x7F) << (7 * UInt32(index))
            if byte & 0x80 == 0 { return (value, index + 1) }
        }
        guard bytes.count < 4 else { throw Self.violation("a number is malformed") }
        return nil
    }
}

// MARK: - Reading

extension MQTTPacket {
    var isAtEnd: Bool { self.body.isEmpty }

    private mutating func bytes(_ count: Int) throws(LinkspanError) -> ArraySlice<UInt8> {
        guard count <= self.body.count else { throw Self.violation("a packet is too short") }
        defer { self.body = self.body.dropFirst(count) }
        return self.body.prefix(count)
    }

    /// A number of so many bytes, the highest first.
    mutating func number(_ count: Int) throws(LinkspanError) -> UInt32 {
        try self.bytes(count).reduce(0) { $0 << 8 | UInt32($1) }
    }

    mutating func byte() throws(LinkspanError) -> UInt8 { UInt8(truncatingIfNeeded: try self.number(1)) }

    mutating func variable() throws(LinkspanError) -> UInt32 {
        guard let (value, count) = try Self.variable(self.body) else { throw Self.violation("a packet is too short") }
        self.body = self.body.dropFirst(count)
        return value
    }

    mutating func data() throws(LinkspanError) -> ArraySlice<UInt8> {
        try self.bytes(Int(try self.number(2)))
    }

    mutating func text() throws(LinkspanError) -> String {
        guard let text = String(utf8: try self.data()), !text.utf8.contains(0) else {
            throw Self.violation("a text is not UTF-8, or has a zero")
        }
        return text
    }

    /// A packet of the next bytes alone.
    mutating func part(_ count: Int) throws(LinkspanError) -> Self {
        var part = self
        part.body = try self.bytes(count)
        return part
    }
}

// MARK: - Writing

extension MQTTPacket {
    /// The whole packet.
    var whole: ArraySlice<UInt8> {
        var whole = Self(self.kind, isV5: self.isV5)
        whole.append(UInt32(self.kind.rawValue << 4 | self.flags), bytes: 1)
        whole.append(part: self)
        return whole.body
    }

    /// Writes a number in one to four bytes (section 1.5.5).
    mutating func append(variable number: UInt32) {
        var rest = number
        while rest > 0x7F {
            self.append(rest & 0x7F | 0x80, bytes: 1)
            rest >>= 7
        }
        self.append(rest, bytes: 1)
    }

    /// Writes the fields of a part behind their length.
    mutating func append(part: Self) {
        self.append(variable: UInt32(part.body.count))
        self.body += part.body
    }

    /// Writes a number of so many bytes, the highest first.
    mutating func append(_ number: UInt32, bytes count: Int) {
        for place in (0..<count).reversed() { self.body.append(UInt8(truncatingIfNeeded: number >> (8 * place))) }
    }

    /// Writes the content behind everything else.
    mutating func append(content: ArraySlice<UInt8>) { self.body += content }

    mutating func append(_ data: some Collection<UInt8>) throws(LinkspanError) {
        guard data.count <= UInt16.max else {
            throw LinkspanError(
                .encodingFailed, "a field of an MQTT packet has \(data.count) bytes; 65,535 are possible")
        }
        self.append(UInt32(data.count), bytes: 2)
        self.body += data
    }

    mutating func append(_ text: String) throws(LinkspanError) {
        guard text.isMQTTText else {
            throw LinkspanError(.encodingFailed, "a text for MQTT has a control character: '\(ForeignText.line(text))'")
        }
        try self.append(text.utf8)
    }
}

extension String {
    /// True without control characters and noncharacters, because of which brokers end the session (section 1.5.4).
    var isMQTTText: Bool {
        !self.unicodeScalars.contains {
            $0.value < 0x20 || (0x7F...0x9F).contains($0.value)
                || !$0.isASCII && $0.properties.isNoncharacterCodePoint
        }
    }
}
