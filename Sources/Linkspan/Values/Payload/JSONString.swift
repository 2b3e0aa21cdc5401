/// Reads and writes JSON strings (RFC 8259 §7).
package enum JSONString {
    /// Resolves the escapes of a string's inside.
    ///
    /// A lone surrogate becomes U+FFFD.
    static func unescape(_ inside: some Sequence<UInt8>) -> String {
        var bytes: [UInt8] = []
        var iterator = inside.makeIterator()
        var highSurrogate: UInt16?
        while let byte = iterator.next() {
            guard byte == UInt8(ascii: "\\") else {
                Self.flush(&highSurrogate, into: &bytes)
                bytes.append(byte)
                continue
            }
            guard let escape = iterator.next() else { break }
            guard escape == UInt8(ascii: "u") else {
                Self.flush(&highSurrogate, into: &bytes)
                bytes.append(Self.character(of: escape))
                continue
            }
            var unit: UInt16 = 0
            for _ in 0..<4 { unit = unit << 4 | (iterator.next().flatMap(JSONScanner.hexValue) ?? 0) }
            Self.append(unit, after: &highSurrogate, into: &bytes)
        }
        Self.flush(&highSurrogate, into: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Whether a key as written, escapes and all, means the wanted name.
    static func matches(_ written: UnsafeBufferPointer<UInt8>, _ wanted: UnsafeBufferPointer<UInt8>) -> Bool {
        let isSame = written.isSame(as: wanted)
        guard isSame || written.count > wanted.count else { return false }
        guard written.contains(UInt8(ascii: "\\")) else { return isSame }
        return Self.unescape(written).utf8.elementsEqual(wanted)
    }

    /// Appends `text` as a JSON string with its quotes.
    package static func append(_ text: String, to output: inout [UInt8]) {
        var text = text
        text.withUTF8 { Self.append($0, to: &output) }
    }

    /// Appends the bytes of a text as a JSON string with its quotes.
    package static func append(_ bytes: UnsafeBufferPointer<UInt8>, to output: inout [UInt8]) {
        guard Self.isPlain(bytes) else { return Self.append(escaping: bytes, to: &output) }
        output.append(addingCapacity: bytes.count + 2) { room in
            room.withUnsafeMutableBufferPointer { room, count in
                room[0] = UInt8(ascii: "\"")
                _ = UnsafeMutableBufferPointer(rebasing: room[1...]).update(fromContentsOf: bytes)
                room[bytes.count + 1] = UInt8(ascii: "\"")
                count = bytes.count + 2
            }
        }
    }

    private static func append(escaping bytes: UnsafeBufferPointer<UInt8>, to output: inout [UInt8]) {
        output.append(UInt8(ascii: "\""))
        var start = 0
        while true {
            let end = JSONScanner.skipPlain(bytes, from: start)
            output.append(contentsOf: UnsafeBufferPointer(rebasing: bytes[start..<end]))
            guard end < bytes.count else { break }
            Self.appendEscaped(bytes[end], to: &output)
            start = end + 1
        }
        output.append(UInt8(ascii: "\""))
    }

    /// Whether the bytes of a text need no escape.
    package static func isPlain(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        JSONScanner.skipPlain(bytes, from: 0) == bytes.count
    }

    private static func appendEscaped(_ byte: UInt8, to output: inout [UInt8]) {
        output.append(UInt8(ascii: "\\"))
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"): output.append(byte)
        case 0x08: output.append(UInt8(ascii: "b"))
        case 0x09: output.append(UInt8(ascii: "t"))
        case 0x0A: output.append(UInt8(ascii: "n"))
        case 0x0C: output.append(UInt8(ascii: "f"))
        case 0x0D: output.append(UInt8(ascii: "r"))
        default:
            let digits = Array("0123456789abcdef".utf8)
            output.append(contentsOf: [UInt8(ascii: "u"), UInt8(ascii: "0"), UInt8(ascii: "0")])
            output.append(contentsOf: [digits[Int(byte >> 4)], digits[Int(byte & 15)]])
        }
    }

    private static func character(of escape: UInt8) -> UInt8 {
        switch escape {
        case UInt8(ascii: "b"): 0x08
        case UInt8(ascii: "f"): 0x0C
        case UInt8(ascii: "n"): 0x0A
        case UInt8(ascii: "r"): 0x0D
        case UInt8(ascii: "t"): 0x09
        default: escape
        }
    }

    private static func append(_ unit: UInt16, after highSurrogate: inout UInt16?, into bytes: inout [UInt8]) {
        if let high = highSurrogate, UTF16.isTrailSurrogate(unit) {
            highSurrogate = nil
            let scalar = 0x10000 + (UInt32(high) - 0xD800) << 10 + (UInt32(unit) - 0xDC00)
            Self.append(scalar, into: &bytes)
            return
        }
        Self.flush(&highSurrogate, into: &bytes)
        if UTF16.isLeadSurrogate(unit) {
            highSurrogate = unit
        } else {
            Self.append(UInt32(unit), into: &bytes)
        }
    }

    private static func flush(_ highSurrogate: inout UInt16?, into bytes: inout [UInt8]) {
        guard highSurrogate != nil else { return }
        highSurrogate = nil
        Self.append(0xFFFD, into: &bytes)
    }

    private static func append(_ scalar: UInt32, into bytes: inout [UInt8]) {
        bytes.append(contentsOf: String(Unicode.Scalar(scalar) ?? "\u{FFFD}").utf8)
    }
}

extension UnsafeBufferPointer<UInt8> {
    /// Whether the bytes are the same, compared eight at a time.
    @inline(__always)
    func isSame(as other: Self) -> Bool {
        guard self.count == other.count else { return false }
        guard let left = UnsafeRawPointer(self.baseAddress), let right = UnsafeRawPointer(other.baseAddress) else {
            return true
        }
        var offset = 0
        while offset &+ 8 <= self.count {
            let differs =
                left.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
                ^ right.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
            guard differs == 0 else { return false }
            offset &+= 8
        }
        while offset < self.count {
            guard self[offset] == other[offset] else { return false }
            offset &+= 1
        }
        return true
    }

    var isASCII: Bool { self.allSatisfy { $0 < 0x80 } }
}

extension String {
    /// Whether these are the bytes of the string, so that none had to be repaired.
    func isSame(as bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        var text = self
        return text.withUTF8 { $0.isSame(as: bytes) }
    }
}
