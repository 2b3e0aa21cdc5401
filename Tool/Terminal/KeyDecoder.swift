/// Makes keys of what a terminal sends, however the bytes are split.
///
/// A lone ESC may be the key or the begin of a sequence. The decoder waits, and its caller calls ``flush()`` when
/// nothing has followed for a moment.
public struct KeyDecoder: Sendable {
    private enum State {
        case ground
        case escape
        /// After `ESC [`, with the parameters read so far.
        case sequence([UInt8])
        /// Before the last byte of a sequence: of a key after `ESC O`, or of none that we know after `ESC [ [`, which is how
        /// the Linux console begins function keys.
        case last(isKey: Bool)
        case paste
    }

    private static let escape: UInt8 = 0x1B
    private static let interrupt: UInt8 = 0x03
    private static let pasteEnd = Array("\u{1B}[201~".utf8)
    /// A longer sequence is none that we know.
    private static let sequenceLimit = 32
    /// More than a line may hold; the rest of a larger paste is dropped.
    private static let pasteLimit = 65_536

    private var state = State.ground
    private var utf8 = UTF8Assembly()
    private var pasted: [UInt8] = []

    /// A decoder that has read nothing yet.
    public init() {}

    /// Whether the bytes so far have another meaning if nothing follows.
    public var isAmbiguous: Bool {
        switch self.state {
        case .escape, .sequence, .last: true
        case .ground, .paste: false
        }
    }

    /// Takes bytes that were read.
    public mutating func decode(_ bytes: some Sequence<UInt8>) -> [Key] {
        var keys: [Key] = []
        for byte in bytes { self.take(byte, &keys) }
        return keys
    }

    /// Nothing has followed: a lone ESC is the key, and a begun sequence is none.
    public mutating func flush() -> [Key] {
        guard self.isAmbiguous else { return [] }
        defer { self.state = .ground }
        if case .escape = self.state { return [.escape] }
        return []
    }

    private mutating func take(_ byte: UInt8, _ keys: inout [Key]) {
        switch self.state {
        case .ground: self.ground(byte, &keys)
        case .escape: self.afterEscape(byte, &keys)
        case .sequence(let parameters): self.sequence(parameters, byte, &keys)
        case .last(let isKey):
            self.state = .ground
            if byte < 0x20 {
                self.ground(byte, &keys)
            } else if isKey {
                keys += Self.key(Unicode.Scalar(byte), modifier: 1)
            }
        case .paste: self.paste(byte, &keys)
        }
    }

    private mutating func ground(_ byte: UInt8, _ keys: inout [Key]) {
        guard byte < 0x20 || byte == 0x7F else {
            keys += self.utf8.add(byte).filter(Self.isText).map(Key.text)
            return
        }
        keys += self.utf8.interrupt().map(Key.text)
        switch byte {
        case Self.escape: self.state = .escape
        case 0x0A, 0x0D: keys.append(.enter)
        case 0x09: keys.append(.tab)
        case 0x08, 0x7F: keys.append(.backspace)
        case 0x01...0x1A: keys.append(.control(Unicode.Scalar(byte + 0x60)))
        default: ()
        }
    }

    private mutating func afterEscape(_ byte: UInt8, _ keys: inout [Key]) {
        switch byte {
        case UInt8(ascii: "["): self.state = .sequence([])
        case UInt8(ascii: "O"): self.state = .last(isKey: true)
        case Self.escape: keys.append(.escape)
        case 0x7F:
            self.state = .ground
            keys.append(.control("w"))
        case 0x20..<0x7F:
            self.state = .ground
            keys.append(.alt(Unicode.Scalar(byte)))
        default:
            self.state = .ground
            keys.append(.escape)
            self.ground(byte, &keys)
        }
    }

    private mutating func sequence(_ parameters: [UInt8], _ byte: UInt8, _ keys: inout [Key]) {
        switch byte {
        case 0x20..<0x40:
            // One byte more than the limit marks it as too long.
            self.state = .sequence(parameters.count > Self.sequenceLimit ? parameters : parameters + [byte])
        case UInt8(ascii: "[") where parameters.isEmpty: self.state = .last(isKey: false)
        case 0x40..<0x7F:
            self.state = .ground
            if parameters.count <= Self.sequenceLimit { self.end(parameters, byte, &keys) }
        default:
            self.state = .ground
            self.ground(byte, &keys)
        }
    }

    private mutating func end(_ parameters: [UInt8], _ final: UInt8, _ keys: inout [Key]) {
        let (isMouse, letter) = (parameters.first == UInt8(ascii: "<"), Unicode.Scalar(final))
        let numbers = Self.numbers(parameters.dropFirst(isMouse ? 1 : 0))
        let number = numbers.first ?? 0
        if isMouse {
            // Of the mouse only the wheel counts. Shift, Alt and Control are the bits 4, 8 and 16.
            if let key = Self.wheel[number & ~0b1_1100] { keys.append(key) }
        } else if letter != "~" {
            keys += Self.key(letter, modifier: numbers.dropFirst().first ?? 1)
        } else if number == 200 {
            self.state = .paste
        } else if let key = Self.numbered[number] {
            keys.append(key)
        }
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

    private static func numbers(_ parameters: ArraySlice<UInt8>) -> [Int] {
        parameters.split(separator: UInt8(ascii: ";"), omittingEmptySubsequences: false)
            .map { Int(String(decoding: $0, as: UTF8.self)) ?? 0 }
    }

    private mutating func paste(_ byte: UInt8, _ keys: inout [Key]) {
        // The way out stays open even if the end of the paste is lost.
        guard byte != Self.interrupt else { return self.endPaste(.control("c"), &keys) }
        self.pasted.append(byte)
        if byte == Self.pasteEnd.last, self.pasted.suffix(Self.pasteEnd.count) == Self.pasteEnd[...] {
            let content = self.pasted.dropLast(Self.pasteEnd.count).prefix(Self.pasteLimit)
            self.endPaste(.paste(Self.text(content)), &keys)
        } else if self.pasted.count > 2 * Self.pasteLimit {
            self.pasted.removeSubrange(Self.pasteLimit..<(self.pasted.count - Self.pasteEnd.count))
        }
    }

    private mutating func endPaste(_ key: Key, _ keys: inout [Key]) {
        self.pasted = []
        self.state = .ground
        keys.append(key)
    }

    private static func text(_ bytes: some Collection<UInt8>) -> String {
        var text = String.UnicodeScalarView()
        var previous: Unicode.Scalar?
        for scalar in String(decoding: bytes, as: UTF8.self).unicodeScalars {
            if scalar != "\n" || previous != "\r" { text.append(scalar == "\r" ? "\n" : scalar) }
            previous = scalar
        }
        return String(text)
    }

    private static func isText(_ scalar: Unicode.Scalar) -> Bool { scalar.properties.generalCategory != .control }
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

/// Decodes UTF-8 byte by byte; invalid bytes become U+FFFD.
struct UTF8Assembly: Sendable {
    /// The bytes of a scalar that is not complete.
    private var pending: [UInt8] = []

    /// Takes the next byte and returns the scalars that it completes, or ends because it is no part of them.
    mutating func add(_ byte: UInt8) -> [Unicode.Scalar] {
        let broken = byte & 0b1100_0000 == 0b1000_0000 ? [] : self.interrupt()
        self.pending.append(byte)
        // The first byte begins with as many ones as the scalar has bytes.
        let ones = (~self.pending[0]).leadingZeroBitCount
        guard !(2...4).contains(ones) || self.pending.count == ones else { return broken }
        return broken + self.interrupt()
    }

    /// Ends an incomplete scalar, because a key that is no text was read.
    mutating func interrupt() -> [Unicode.Scalar] {
        defer { self.pending = [] }
        return Array(String(decoding: self.pending, as: UTF8.self).unicodeScalars)
    }
}
