/// The keys of an object that is being written, so that a repeated one is noticed.
///
/// A bit for each as long as they are few: a bit that is set already may be another key's, and the text tells. Many are kept.
struct WrittenKeys {
    private var bits: (UInt64, UInt64) = (0, 0)
    private var names: Set<String>?

    init() {}

    init(_ names: [String]) { self.names = Set(names) }

    var areKept: Bool { self.names != nil }

    /// Whether the key may be there already.
    func mayHold(_ key: String) -> Bool {
        if let names = self.names { return names.contains(key) }
        let bit = Self.bit(of: key)
        return self.bits.0 & bit.0 != 0 || self.bits.1 & bit.1 != 0
    }

    /// Adds a key, and tells whether it may have been there before.
    @inline(__always)
    mutating func insert(_ key: String) -> Bool {
        if self.names != nil { return self.names?.insert(key).inserted == false }
        let bit = Self.bit(of: key)
        let mayRepeat = self.bits.0 & bit.0 != 0 || self.bits.1 & bit.1 != 0
        self.bits = (self.bits.0 | bit.0, self.bits.1 | bit.1)
        return mayRepeat
    }

    /// One bit of 128, by FNV-1a.
    private static func bit(of key: String) -> (UInt64, UInt64) {
        var key = key
        let hash = key.withUTF8 { bytes in
            var hash: UInt64 = 0xCBF2_9CE4_8422_2325
            for byte in bytes { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
            return hash ^ hash >> 32
        }
        let bit: UInt64 = 1 << (hash & 63)
        return hash & 64 == 0 ? (bit, 0) : (0, bit)
    }
}

/// The members or elements of a container that is still open, read back from the text.
struct JSONMembers {
    /// The start of each, its key included.
    private(set) var starts: [Int] = []
    private(set) var keys: [String] = []
    private(set) var values: [Range<Int>] = []

    /// Reads the text of a writer, which is well-formed.
    init(_ text: ArraySlice<UInt8>, from start: Int) {
        text.withUnsafeBufferPointer { bytes in
            let base = text.startIndex
            JSONScanner.members(bytes, from: start - base) { key, value in
                if let key { self.keys.append(JSONString.unescape(bytes[key])) }
                self.starts.append(base + (key.map { $0.lowerBound - 1 } ?? value.lowerBound))
                self.values.append(base + value.lowerBound..<base + value.upperBound)
                return true
            }
        }
    }

    /// Whether the key that is written at `key` stands in the object before it, too.
    static func hasKey(_ key: Range<Int>, in text: [UInt8], from start: Int, before end: Int) -> Bool {
        text.withUnsafeBufferPointer { bytes in
            let wanted = UnsafeBufferPointer(rebasing: bytes[key].dropFirst().dropLast())
            var isFound = false
            JSONScanner.members(UnsafeBufferPointer(rebasing: bytes[..<end]), from: start) { key, _ in
                if let key { isFound = UnsafeBufferPointer(rebasing: bytes[key]).isSame(as: wanted) }
                return !isFound
            }
            return isFound
        }
    }
}
