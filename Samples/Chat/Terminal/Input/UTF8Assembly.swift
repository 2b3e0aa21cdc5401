/// Decodes UTF-8 byte by byte; invalid bytes become U+FFFD.
struct UTF8Assembly: Sendable {
    private static let replacement: Unicode.Scalar = "\u{FFFD}"

    private var pending: [UInt8] = []

    /// Takes the next byte and returns the scalars that it completes.
    mutating func add(_ byte: UInt8) -> [Unicode.Scalar] {
        guard let first = self.pending.first else { return self.begin(byte) }
        guard self.continues(first, byte) else {
            self.pending = []
            return [Self.replacement] + self.begin(byte)
        }
        self.pending.append(byte)
        guard self.pending.count == Self.length(first) else { return [] }
        defer { self.pending = [] }
        return Array(String(decoding: self.pending, as: UTF8.self).unicodeScalars)
    }

    /// Ends an incomplete scalar, because a key that is no text was read.
    mutating func interrupt() -> [Unicode.Scalar] {
        guard !self.pending.isEmpty else { return [] }
        self.pending = []
        return [Self.replacement]
    }

    private mutating func begin(_ byte: UInt8) -> [Unicode.Scalar] {
        switch byte {
        case 0..<0x80: return [Unicode.Scalar(byte)]
        case 0xC2...0xF4:
            self.pending = [byte]
            return []
        default: return [Self.replacement]
        }
    }

    /// Whether a byte may follow; the second one excludes overlong forms, surrogates and values beyond Unicode.
    private func continues(_ first: UInt8, _ byte: UInt8) -> Bool {
        guard self.pending.count == 1 else { return (0x80...0xBF).contains(byte) }
        return switch first {
        case 0xE0: (0xA0...0xBF).contains(byte)
        case 0xED: (0x80...0x9F).contains(byte)
        case 0xF0: (0x90...0xBF).contains(byte)
        case 0xF4: (0x80...0x8F).contains(byte)
        default: (0x80...0xBF).contains(byte)
        }
    }

    private static func length(_ first: UInt8) -> Int {
        switch first {
        case 0xC2...0xDF: 2
        case 0xE0...0xEF: 3
        default: 4
        }
    }
}
