internal import Linkspan

/// Checks that each placeholder in a text refers to an attachment that is announced.
///
/// One pass without recursion over text that a ``JSONScanner`` has accepted, made only for packets with attachments. It
/// runs before the attachments come, so that a bad packet is refused without keeping anything.
struct PlaceholderCheck {
    private let attachments: Int
    private var depth = 0
    // One bit a level: the scanner allows no more levels than a word has bits.
    private var objects: UInt64 = 0
    private var placeholders: UInt64 = 0
    private var goodIndexes: UInt64 = 0
    private var badIndexes: UInt64 = 0

    private init(attachments: Int) { self.attachments = attachments }

    /// Whether all placeholders of the value that starts at `start` are in range.
    static func passes(_ text: UnsafeBufferPointer<UInt8>, from start: Int, attachments: Int) -> Bool {
        var check = Self(attachments: attachments)
        return check.run(text, from: start)
    }

    private mutating func run(_ text: UnsafeBufferPointer<UInt8>, from start: Int) -> Bool {
        var position = start
        while position < text.count {
            switch text[position] {
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                self.enter(isObject: text[position] == UInt8(ascii: "{"))
                position &+= 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                guard self.leave() else { return false }
                position &+= 1
            case UInt8(ascii: "\""):
                guard let end = try? JSONScanner.skipString(text, from: position) else { return false }
                let colon = JSONScanner.skipSpace(text, from: end)
                let isKey = colon < text.count && text[colon] == UInt8(ascii: ":")
                if isKey {
                    self.note(
                        key: UnsafeBufferPointer(rebasing: text[position &+ 1..<end &- 1]),
                        value: JSONScanner.skipSpace(text, from: colon &+ 1), in: text)
                }
                position = end
            default:
                position &+= 1
            }
        }
        return true
    }

    private var bit: UInt64 { 1 << UInt64(self.depth & 63) }

    private mutating func enter(isObject: Bool) {
        let bit = self.bit
        self.objects = isObject ? self.objects | bit : self.objects & ~bit
        self.placeholders &= ~bit
        self.goodIndexes &= ~bit
        self.badIndexes &= ~bit
        self.depth &+= 1
    }

    /// Judges the object that ends.
    ///
    /// Of repeated keys each has to be good, because readers differ in which they take.
    private mutating func leave() -> Bool {
        self.depth = max(self.depth &- 1, 0)
        let bit = self.bit
        guard self.objects & self.placeholders & bit != 0 else { return true }
        return self.goodIndexes & bit != 0 && self.badIndexes & bit == 0
    }

    private mutating func note(
        key: UnsafeBufferPointer<UInt8>, value start: Int, in text: UnsafeBufferPointer<UInt8>
    ) {
        // The level of the object is the one below the next to be entered.
        let bit: UInt64 = 1 << UInt64(max(self.depth &- 1, 0) & 63)
        if Self.matches(key, "_placeholder") {
            if start < text.count, text[start] == UInt8(ascii: "t") { self.placeholders |= bit }
        } else if Self.matches(key, "num") {
            if self.isIndex(text, from: start) { self.goodIndexes |= bit } else { self.badIndexes |= bit }
        }
    }

    private func isIndex(_ text: UnsafeBufferPointer<UInt8>, from start: Int) -> Bool {
        var value = 0
        var position = start
        while position < text.count, text[position] &- UInt8(ascii: "0") < 10 {
            value = value &* 10 &+ Int(text[position] &- UInt8(ascii: "0"))
            position &+= 1
            guard value < self.attachments else { return false }
        }
        guard position > start, position < text.count else { return false }
        // A fraction or an exponent makes it no integer.
        return text[position] != UInt8(ascii: ".") && text[position] | 0x20 != UInt8(ascii: "e")
    }

    private static func matches(_ key: UnsafeBufferPointer<UInt8>, _ wanted: String) -> Bool {
        guard key.count >= wanted.utf8.count else { return false }
        if key.count == wanted.utf8.count { return key.elementsEqual(wanted.utf8) }
        // Longer and the same only when it is written with escapes.
        guard key.contains(UInt8(ascii: "\\")) else { return false }
        let quoted = [UInt8(ascii: "\"")] + key + [UInt8(ascii: "\"")]
        return Payload(trustedElements: quoted[...])[0]?.string == wanted
    }
}
