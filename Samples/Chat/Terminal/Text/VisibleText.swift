import Linkspan

/// Text of other people, made harmless for a terminal.
enum VisibleText {
    /// The text without anything that moves the cursor, changes the direction of what follows, or piles up.
    static func of(_ text: String) -> String { ForeignText.shown(text) }

    /// The name of a person or a room, in quotes when it could pass for more than a name.
    ///
    /// Somebody may be called `* disconnected`, or `ann left, bob`.
    static func name(_ name: String) -> String {
        let shown = Self.of(name)
        let isPlain = shown.unicodeScalars.allSatisfy {
            !$0.properties.isWhitespace && !"*\":,[]".unicodeScalars.contains($0)
        }
        // By scalars: a quotation mark with a combining mark after it is another character.
        let inner = String(String.UnicodeScalarView(shown.unicodeScalars.map { $0 == "\"" ? "'" : $0 }))
        return isPlain ? shown : "\"\(inner)\""
    }
}
