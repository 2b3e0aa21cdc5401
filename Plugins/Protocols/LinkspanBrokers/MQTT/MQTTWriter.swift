internal import Linkspan

/// A packet that is being written.
struct MQTTWriter {
    private(set) var body: [UInt8] = []
    /// True for MQTT 5; packets of 3.1.1 have no properties.
    let hasProperties: Bool

    init(isV5: Bool) { self.hasProperties = isV5 }

    mutating func byte(_ value: UInt8) { self.body.append(value) }
    mutating func number(_ value: UInt16) { self.body += [UInt8(value >> 8), UInt8(value & 0xFF)] }
    mutating func long(_ value: UInt32) {
        self.number(UInt16(value >> 16))
        self.number(UInt16(value & 0xFFFF))
    }
    mutating func bytes(_ bytes: some Sequence<UInt8>) { self.body += bytes }
    mutating func variable(_ value: Int) { self.body += Self.variable(value) }

    static func variable(_ value: Int) -> [UInt8] {
        var (rest, bytes) = (value, [UInt8]())
        repeat {
            bytes.append(UInt8(rest & 0x7F) | (rest > 0x7F ? 0x80 : 0))
            rest >>= 7
        } while rest > 0
        return bytes
    }

    mutating func data(_ data: some Collection<UInt8>) throws(LinkspanError) {
        guard let count = UInt16(exactly: data.count) else {
            throw LinkspanError(
                .encodingFailed, "a field of an MQTT packet has \(data.count) bytes; 65,535 are possible")
        }
        self.number(count)
        self.body += data
    }

    mutating func text(_ text: String) throws(LinkspanError) {
        guard !text.utf8.contains(0) else { throw LinkspanError(.encodingFailed, "a text for MQTT has a zero") }
        try self.data(text.utf8)
    }

    /// Writes properties, which are nothing before version 5.
    mutating func properties(_ write: (inout Self) throws(LinkspanError) -> Void = { _ in }) throws(LinkspanError) {
        guard self.hasProperties else { return }
        var inner = Self(isV5: true)
        try write(&inner)
        self.variable(inner.body.count)
        self.body += inner.body
    }

    mutating func userProperty(_ name: String, _ value: String) throws(LinkspanError) {
        self.byte(0x26)
        try self.text(name)
        try self.text(value)
    }

    /// The whole packet.
    func packet(_ kind: MQTTPacket.Kind, flags: UInt8 = 0) -> [UInt8] {
        [kind.rawValue << 4 | flags] + Self.variable(self.body.count) + self.body
    }
}
