/// Makes keys of what a terminal sends, however the bytes are split.
///
/// A lone ESC may be the key or the begin of a sequence. The decoder waits, and its caller calls ``flush()`` when
/// nothing has followed for a moment.
public struct KeyDecoder: Sendable {
    private static let escape: UInt8 = 0x1B
    private static let interrupt: UInt8 = 0x03
    private static let pasteStart = Array("\u{1B}[200~".utf8)
    private static let pasteEnd = Array("\u{1B}[201~".utf8)
    /// A longer sequence is none that we know.
    private static let sequenceLimit = 32
    /// More than a line may hold; the rest of a larger paste is dropped.
    private static let pasteLimit = 65_536

    /// The bytes of a key, or of a paste, that is not complete.
    private var pending: [UInt8] = []

    /// A decoder that has read nothing yet.
    public init() {}

    /// Whether the bytes so far have another meaning if nothing follows.
    public var isAmbiguous: Bool { self.pending.first == Self.escape && !self.isPasting }

    private var isPasting: Bool { self.pending.starts(with: Self.pasteStart) }

    /// Takes bytes that were read.
    public mutating func decode(_ bytes: some Sequence<UInt8>) -> [Key] {
        var keys: [Key] = []
        for byte in bytes {
            self.pending.append(byte)
            while let found = self.takeNext() { keys += found }
        }
        return keys
    }

    /// Nothing has followed: a lone ESC is the key, and a begun sequence is none.
    public mutating func flush() -> [Key] {
        guard self.isAmbiguous else { return [] }
        return self.take(self.pending.count, as: self.pending.count == 1 ? [.escape] : [])
    }

    /// Takes what the pending bytes begin with: a key, or what means nothing here; nil when it is not complete.
    private mutating func takeNext() -> [Key]? {
        guard let first = self.pending.first else { return nil }
        if self.isPasting { return self.takePaste() }
        switch first {
        case Self.escape: return self.takeSequence()
        case 0x0A, 0x0D: return self.take(1, as: [.enter])
        case 0x09: return self.take(1, as: [.tab])
        case 0x08, 0x7F: return self.take(1, as: [.backspace])
        case 0x01...0x1A: return self.take(1, as: [.control(Unicode.Scalar(first + 0x60))])
        case 0x00..<0x20: return self.take(1, as: [])
        default: return self.takeText(first)
        }
    }

    private mutating func take(_ count: Int, as keys: [Key]) -> [Key] {
        self.pending.removeFirst(count)
        return keys
    }

    /// Takes a scalar; invalid bytes become U+FFFD.
    private mutating func takeText(_ first: UInt8) -> [Key]? {
        // The first byte begins with as many ones as the scalar has bytes.
        let ones = (~first).leadingZeroBitCount
        let length = (2...4).contains(ones) ? ones : 1
        let bytes = [first] + self.pending[1...].prefix(length - 1).prefix { $0 & 0b1100_0000 == 0b1000_0000 }
        guard bytes.count == length || bytes.count < self.pending.count else { return nil }
        let scalars = String(decoding: bytes, as: UTF8.self).unicodeScalars
        let text = scalars.filter { $0.properties.generalCategory != .control }
        return self.take(bytes.count, as: text.map(Key.text))
    }

    private mutating func takeSequence() -> [Key]? {
        guard self.pending.count > 1 else { return nil }
        switch self.pending[1] {
        case UInt8(ascii: "["): return self.takeControlSequence()
        case UInt8(ascii: "O"): return self.takeLast(after: 2) { Self.key($0, modifier: 1) }
        case 0x7F: return self.take(2, as: [.control("w")])
        case 0x20..<0x7F: return self.take(2, as: [.alt(Unicode.Scalar(self.pending[1]))])
        // What follows is a key of its own.
        default: return self.take(1, as: [.escape])
        }
    }

    /// Takes a sequence of so many bytes and one more; a control character in its place breaks it off.
    private mutating func takeLast(after count: Int, _ keys: (Unicode.Scalar) -> [Key]) -> [Key]? {
        guard self.pending.count > count else { return nil }
        let last = self.pending[count]
        return last < 0x20 ? self.take(count, as: []) : self.take(count + 1, as: keys(Unicode.Scalar(last)))
    }

    /// Takes a sequence that begins with `ESC [`: parameters, and a byte that ends them.
    private mutating func takeControlSequence() -> [Key]? {
        let parameters = self.pending[2...].prefix { (0x20..<0x40).contains($0) }
        guard parameters.endIndex < self.pending.endIndex else {
            // One byte more than the limit marks it as too long.
            if parameters.count > Self.sequenceLimit + 1 { self.pending.removeLast() }
            return nil
        }
        let last = self.pending[parameters.endIndex]
        // So begin function keys of the Linux console.
        if parameters.isEmpty, last == UInt8(ascii: "[") { return self.takeLast(after: 3) { _ in [] } }
        guard (0x40..<0x7F).contains(last) else { return self.take(parameters.endIndex, as: []) }
        // What is pasted follows.
        guard !self.isPasting else { return nil }
        let isKnown = parameters.count <= Self.sequenceLimit
        return self.take(
            parameters.endIndex + 1, as: isKnown ? Self.keys(parameters, Unicode.Scalar(last)) : [])
    }

    private static func keys(_ parameters: ArraySlice<UInt8>, _ letter: Unicode.Scalar) -> [Key] {
        let isMouse = parameters.first == UInt8(ascii: "<")
        let numbers = parameters.dropFirst(isMouse ? 1 : 0)
            .split(separator: UInt8(ascii: ";"), omittingEmptySubsequences: false)
            .map { Int(String(decoding: $0, as: UTF8.self)) ?? 0 }
        let number = numbers.first ?? 0
        // Of the mouse only the wheel counts. Shift, Alt and Control are the bits 4, 8 and 16.
        if isMouse { return Self.wheel[number & ~0b1_1100].map { [$0] } ?? [] }
        if letter == "~" { return Self.numbered[number].map { [$0] } ?? [] }
        return Self.key(letter, modifier: numbers.dropFirst().first ?? 1)
    }

    private static let wheel: [Int: Key] = [64: .wheelUp, 65: .wheelDown]
    private static let numbered: [Int: Key] = [
        1: .home, 7: .home, 3: .delete, 4: .end, 8: .end, 5: .pageUp, 6: .pageDown,
    ]
    private static let lettered: [Unicode.Scalar: Key] = [
        "A": .up, "B": .down, "C": .right, "D": .left, "H": .home, "F": .end, "Z": .backTab,
    ]

    private static func key(_ letter: Unicode.Scalar, modifier: Int) -> [Key] {
        guard let key = Self.lettered[letter] else { return [] }
        guard modifier > 2 else { return [key] }
        return [key == .left ? .wordLeft : key == .right ? .wordRight : key]
    }

    /// Takes a paste once its end has come.
    private mutating func takePaste() -> [Key]? {
        let content = self.pending.dropFirst(Self.pasteStart.count)
        // The way out stays open even if the end of the paste is lost.
        if content.last == Self.interrupt { return self.take(self.pending.count, as: [.control("c")]) }
        if content.suffix(Self.pasteEnd.count) == Self.pasteEnd[...] {
            let kept = content.dropLast(Self.pasteEnd.count).prefix(Self.pasteLimit)
            let text = String(decoding: kept, as: UTF8.self).map { $0 == "\r" || $0 == "\r\n" ? "\n" : $0 }
            return self.take(self.pending.count, as: [.paste(String(text))])
        }
        if content.count > 2 * Self.pasteLimit {
            self.pending.removeSubrange(
                content.startIndex + Self.pasteLimit..<content.endIndex - Self.pasteEnd.count)
        }
        return nil
    }
}

/// What was pressed, whatever bytes the terminal sends for it.
public enum Key: Hashable, Sendable {
    /// A scalar of text; a character may come as several.
    case text(Unicode.Scalar)
    /// Text from the clipboard, whole, its line ends being `\n`.
    case paste(String)
    /// A small letter with Control.
    case control(Unicode.Scalar)
    /// A character with Alt.
    case alt(Unicode.Scalar)
    case enter
    case tab
    case backspace
    case delete
    case escape
    case up
    case down
    case left
    case right
    case wordLeft
    case wordRight
    case home
    case end
    case pageUp
    case pageDown
    /// Tab with Shift.
    case backTab
    case wheelUp
    case wheelDown
}
