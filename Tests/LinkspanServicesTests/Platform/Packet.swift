/// Messages as the kernel writes them, on a machine that puts the low byte first.
enum Packet {
    static let done = Packet.message(3, [0, 0, 0, 0])

    static func message(_ kind: UInt16, _ body: [UInt8]) -> [UInt8] {
        Self.bytes(UInt32(16 + body.count)) + Self.bytes(kind) + Array(repeating: 0, count: 10) + body
            + Array(repeating: 0, count: (4 - body.count % 4) % 4)
    }

    static func link(_ index: UInt32, flags: UInt32, _ name: String) -> [UInt8] {
        Self.message(16, Self.head(index, flags) + Self.attribute(3, Array(name.utf8) + [0]))
    }

    static func linkGone(_ index: UInt32) -> [UInt8] { Self.message(17, Self.head(index, 0)) }

    static func address(_ index: UInt32, _ address: [UInt8], scope: UInt8 = 0, isGone: Bool = false) -> [UInt8] {
        let head = [2, 24, 0, scope] + Self.bytes(index)
        return Self.message(isGone ? 21 : 20, head + Self.attribute(1, address) + Self.attribute(2, address))
    }

    private static func head(_ index: UInt32, _ flags: UInt32) -> [UInt8] {
        [0, 0, 1, 0] + Self.bytes(index) + Self.bytes(flags) + [0xff, 0xff, 0xff, 0xff]
    }

    private static func attribute(_ kind: UInt16, _ value: [UInt8]) -> [UInt8] {
        Self.bytes(UInt16(4 + value.count)) + Self.bytes(kind) + value
            + Array(repeating: 0, count: (4 - value.count % 4) % 4)
    }

    private static func bytes<Number: FixedWidthInteger>(_ number: Number) -> [UInt8] {
        withUnsafeBytes(of: number.littleEndian) { Array($0) }
    }
}
