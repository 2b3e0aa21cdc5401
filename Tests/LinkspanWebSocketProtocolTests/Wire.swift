/// Frames written byte by byte, on purpose without the encoder under test.
enum Wire {
    static func frame(_ first: UInt8, _ payload: [UInt8] = [], mask: [UInt8]? = nil) -> [UInt8] {
        let flag: UInt8 = mask == nil ? 0 : 0x80
        var bytes = [first]
        switch payload.count {
        case ...125: bytes.append(flag | UInt8(payload.count))
        case ...65535: bytes += [flag | 126] + Self.number(payload.count, bytes: 2)
        default: bytes += [flag | 127] + Self.number(payload.count, bytes: 8)
        }
        guard let mask else { return bytes + payload }
        return bytes + mask + payload.enumerated().map { $1 ^ mask[$0 % 4] }
    }

    static func number(_ value: Int, bytes: Int) -> [UInt8] {
        (0..<bytes).reversed().map { UInt8(truncatingIfNeeded: value >> (8 * $0)) }
    }

    static func bytes(_ hex: String) -> [UInt8] {
        hex.split(separator: " ").compactMap { UInt8($0, radix: 16) }
    }
}
