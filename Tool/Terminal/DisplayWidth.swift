/// How many columns of a terminal text takes.
///
/// Follows Unicode Standard Annex #11 for wide characters. A grapheme cluster is as wide as its base, and two columns
/// as soon as it is shown as an emoji.
public enum DisplayWidth {
    /// The columns of a text that has no control characters.
    public static func columns(of text: some StringProtocol) -> Int { text.reduce(0) { $0 + self.columns(of: $1) } }

    /// The columns of one grapheme cluster: 0, 1 or 2.
    public static func columns(of character: Character) -> Int {
        if let ascii = character.asciiValue { return ascii < 0x20 || ascii == 0x7F ? 0 : 1 }
        let scalars = character.unicodeScalars
        guard let base = scalars.first(where: { self.columns(of: $0) > 0 }) else { return 0 }
        let isPair = scalars.count > 1
        if isPair, scalars.contains("\u{FE0F}") || self.isFlag(base) { return 2 }
        if isPair, scalars.contains("\u{FE0E}"), base.properties.isEmoji { return 1 }
        return self.columns(of: base)
    }

    private static func columns(of scalar: Unicode.Scalar) -> Int {
        let properties = scalar.properties
        switch properties.generalCategory {
        case .control, .nonspacingMark, .enclosingMark: return 0
        case .format: return scalar == "\u{AD}" ? 1 : 0
        default: ()
        }
        if self.isJoined(scalar) || properties.isDefaultIgnorableCodePoint { return 0 }
        if self.isFlag(scalar) { return 1 }
        return properties.isEmojiPresentation || self.isWide(scalar.value) ? 2 : 1
    }

    private static func isFlag(_ scalar: Unicode.Scalar) -> Bool { (0x1F1E6...0x1F1FF).contains(scalar.value) }

    /// The vowels and final consonants that Hangul syllables are composed of.
    private static func isJoined(_ scalar: Unicode.Scalar) -> Bool {
        (0x1160...0x11FF).contains(scalar.value) || (0xD7B0...0xD7FF).contains(scalar.value)
    }

    private static func isWide(_ value: UInt32) -> Bool {
        guard value >= 0x1100 else { return false }
        return self.wide.contains { $0.contains(value) }
    }

    /// The blocks that are wide or full width; emoji are recognised by their property.
    private static let wide: [ClosedRange<UInt32>] = [
        0x1100...0x115F, 0x2E80...0x303E, 0x3041...0x33FF, 0x3400...0x4DBF, 0x4E00...0x9FFF, 0xA000...0xA4CF,
        0xA960...0xA97F, 0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE10...0xFE19, 0xFE30...0xFE6F, 0xFF01...0xFF60,
        0xFFE0...0xFFE6, 0x16FE0...0x18CFF, 0x1AFF0...0x1B2FF, 0x1F200...0x1F265, 0x20000...0x2FFFD, 0x30000...0x3FFFD,
    ]
}

extension StringProtocol {
    /// The beginning that takes at most so many columns.
    func prefix(columns: Int) -> SubSequence {
        var left = columns
        return self.prefix { character in
            left -= DisplayWidth.columns(of: character)
            return left >= 0
        }
    }
}
