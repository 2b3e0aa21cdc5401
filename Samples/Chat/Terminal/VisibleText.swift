/// Text of other people, made harmless for a terminal.
enum VisibleText {
    /// As many scalars without a width may follow one another: no letter needs more.
    private static let markLimit = 15

    /// The text without anything that moves the cursor, changes the direction of what follows, or piles up.
    static func of(_ text: String) -> String {
        var visible = String.UnicodeScalarView()
        var marks = 0
        for scalar in text.unicodeScalars {
            let category = scalar.properties.generalCategory
            marks = category == .nonspacingMark || category == .enclosingMark || category == .format ? marks + 1 : 0
            guard marks <= self.markLimit else { continue }
            visible.append(self.stand(in: scalar, category))
        }
        return String(visible)
    }

    private static func stand(in scalar: Unicode.Scalar, _ category: Unicode.GeneralCategory) -> Unicode.Scalar {
        switch category {
        case .control: scalar == "\t" ? " " : "\u{FFFD}"
        case .lineSeparator, .paragraphSeparator: " "
        case .format where self.turns(scalar): "\u{FFFD}"
        default: scalar
        }
    }

    /// Embeddings, overrides and isolates: they reach beyond the text that has them.
    private static func turns(_ scalar: Unicode.Scalar) -> Bool {
        (0x202A...0x202E).contains(scalar.value) || (0x2066...0x2069).contains(scalar.value)
    }
}
