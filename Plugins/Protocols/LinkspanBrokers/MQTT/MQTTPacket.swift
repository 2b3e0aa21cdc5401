internal import Linkspan

/// A control packet of MQTT 5.0 or 3.1.1 (OASIS standards), as a server sends it.
struct MQTTPacket: Sendable {
    /// The type of a packet (section 2.1.2).
    enum Kind: UInt8 {
        case connect = 1, connack, publish, puback, pubrec, pubrel, pubcomp, subscribe, suback, unsubscribe, unsuback
        case pingreq, pingresp, disconnect, auth
    }

    let kind: Kind
    /// The lower half of the first byte.
    let flags: UInt8
    private var body: ArraySlice<UInt8>

    /// The most bytes of a packet, which `CONNECT` says.
    static let largest = 16 << 20

    /// Takes the next packet out of the received bytes; nil when it is not complete.
    static func next(_ feed: inout ByteFeed) throws(LinkspanError) -> Self? {
        let rest = feed.rest
        guard let first = rest.first else { return nil }
        var (length, index, shift) = (0, rest.startIndex + 1, 0)
        while true {
            guard index < rest.endIndex else { return nil }
            length |= Int(rest[index] & 0x7F) << shift
            index += 1
            if rest[index - 1] & 0x80 == 0 { break }
            shift += 7
            guard shift < 28 else { throw Self.violation("a packet has a malformed length") }
        }
        guard length <= Self.largest else {
            throw Self.violation("a packet has \(length) bytes, more than the \(Self.largest) that are accepted here")
        }
        guard rest.endIndex - index >= length else { return nil }
        guard let kind = Kind(rawValue: first >> 4) else { throw Self.violation("a packet of type 0") }
        _ = feed.take(index - rest.startIndex)
        return Self(kind: kind, flags: first & 0x0F, body: feed.take(length))
    }

    static func violation(_ sentence: String) -> LinkspanError {
        LinkspanError(.protocolViolation, "MQTT: \(sentence)")
    }

    // MARK: Fields

    var isAtEnd: Bool { self.body.isEmpty }

    mutating func byte() throws(LinkspanError) -> UInt8 {
        guard let byte = self.body.popFirst() else { throw Self.violation("a packet is too short") }
        return byte
    }

    mutating func number() throws(LinkspanError) -> UInt16 { UInt16(try self.byte()) << 8 | UInt16(try self.byte()) }

    mutating func long() throws(LinkspanError) -> UInt32 { UInt32(try self.number()) << 16 | UInt32(try self.number()) }

    /// A number of one to four bytes (section 1.5.5).
    mutating func variable() throws(LinkspanError) -> UInt32 {
        var value: UInt32 = 0
        for shift in stride(from: UInt32(0), to: 28, by: 7) {
            let byte = try self.byte()
            value |= UInt32(byte & 0x7F) << shift
            if byte & 0x80 == 0 { return value }
        }
        throw Self.violation("a number is malformed")
    }

    mutating func bytes(_ count: Int) throws(LinkspanError) -> ArraySlice<UInt8> {
        guard count <= self.body.count else { throw Self.violation("a packet is too short") }
        defer { self.body = self.body.dropFirst(count) }
        return self.body.prefix(count)
    }

    mutating func data() throws(LinkspanError) -> ArraySlice<UInt8> { try self.bytes(Int(try self.number())) }

    mutating func text() throws(LinkspanError) -> String {
        guard let text = String(utf8: try self.data()), !text.utf8.contains(0) else {
            throw Self.violation("a text is not UTF-8, or has a zero")
        }
        return text
    }

    mutating func rest() -> ArraySlice<UInt8> {
        defer { self.body = [] }
        return self.body
    }

    /// The properties (section 2.2.2.2) of which something depends here.
    mutating func properties() throws(LinkspanError) -> MQTTProperties {
        var inner = Self(kind: self.kind, flags: 0, body: try self.bytes(Int(try self.variable())))
        var properties = MQTTProperties()
        while !inner.isAtEnd { try properties.take(&inner) }
        return properties
    }
}

extension MQTTPacket {
    /// Reads a reason code and properties, which both may be absent, as an error; nil for success.
    mutating func failure(of what: String) throws(LinkspanError) -> LinkspanError? {
        guard !self.isAtEnd else { return nil }
        let reason = try self.byte()
        let properties = self.isAtEnd ? MQTTProperties() : try self.properties()
        return MQTTReason.error(reason, isV5: true, of: what, properties.reason)
    }
}

/// The properties of a packet.
struct MQTTProperties: Sendable {
    var receiveMaximum: UInt16?
    var largestPacket: UInt32?
    var topicAliasMaximum: UInt16?
    var serverKeepAlive: UInt16?
    var sessionExpiry: UInt32?
    var assignedClientID: String?
    var reason: String?
    var responseTopic: String?
    var correlation: ArraySlice<UInt8>?
    var topicAlias: UInt16?
    var subscriptions: [UInt32] = []
    /// True with the user property `arguments`: the content is a JSON array of arguments.
    var isList = false

    fileprivate mutating func take(_ packet: inout MQTTPacket) throws(LinkspanError) {
        switch try packet.byte() {
        case 0x21: self.receiveMaximum = try packet.number()
        case 0x27: self.largestPacket = try packet.long()
        case 0x22: self.topicAliasMaximum = try packet.number()
        case 0x13: self.serverKeepAlive = try packet.number()
        case 0x11: self.sessionExpiry = try packet.long()
        case 0x12: self.assignedClientID = try packet.text()
        case 0x1F: self.reason = try packet.text()
        case 0x08: self.responseTopic = try packet.text()
        case 0x09: self.correlation = try packet.data()
        case 0x23: self.topicAlias = try packet.number()
        case 0x0B where self.subscriptions.count == 1_024: throw MQTTPacket.violation("a message has too many marks")
        case 0x0B: self.subscriptions.append(try packet.variable())
        case 0x26:
            if try packet.text() == "arguments" { self.isList = true }
            _ = try packet.text()
        // Payload format, maximum QoS, retain, wildcards, identifiers, shared subscriptions, problem information.
        case 0x01, 0x24, 0x25, 0x28, 0x29, 0x2A, 0x17, 0x19: _ = try packet.byte()
        case 0x02, 0x18: _ = try packet.long()
        // Content type, authentication method and data, response information, server reference.
        case 0x03, 0x15, 0x16, 0x1A, 0x1C: _ = try packet.data()
        case let unknown: throw MQTTPacket.violation("property \(unknown) is not known")
        }
    }
}
