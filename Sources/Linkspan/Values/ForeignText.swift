/// Makes text of a server or a user safe for an error, a log line or a terminal.
///
/// Such text may clear a terminal, pass for a line of its own, turn the direction of what follows it, or have no end. The
/// messages of errors that the transports make are safe already.
public enum ForeignText {
    /// As many scalars without a width may follow one another: no letter needs more.
    private static let markLimit = 15

    /// The text in one line of limited length, in which everything invisible is written as an escape, as in `\u{1b}`.
    ///
    /// For errors and logs. Its work is bounded by `limit`, not by the text.
    ///
    /// - Parameters:
    ///   - text: the text.
    ///   - limit: the most scalars that are kept; when there are more, an ellipsis follows.
    /// - Returns: the line.
    public static func line(_ text: some StringProtocol, limit: Int = 200) -> String {
        var line = ""
        var count = 0
        for scalar in text.unicodeScalars {
            guard count < limit else { return line + "…" }
            count += 1
            switch scalar.properties.generalCategory {
            case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .privateUse, .unassigned:
                line += "\\u{\(String(scalar.value, radix: 16))}"
            default:
                line.unicodeScalars.append(scalar)
            }
        }
        return line
    }

    /// The text without anything that moves the cursor, changes the direction of what follows, or piles up.
    ///
    /// For terminals: what joins letters and emoji is kept, tabs and line ends are spaces, and the rest is U+FFFD.
    ///
    /// - Parameters:
    ///   - text: the text.
    ///   - limit: the most scalars that are kept; when there are more, an ellipsis follows.
    /// - Returns: the text to show.
    public static func shown(_ text: some StringProtocol, limit: Int = 65_536) -> String {
        var shown = String.UnicodeScalarView()
        var (count, marks) = (0, 0)
        for scalar in text.unicodeScalars {
            guard count < limit else { return String(shown) + "…" }
            count += 1
            let category = scalar.properties.generalCategory
            marks = category == .nonspacingMark || category == .enclosingMark || category == .format ? marks + 1 : 0
            guard marks <= Self.markLimit else { continue }
            shown.append(Self.stand(in: scalar, category))
        }
        return String(shown)
    }

    private static func stand(in scalar: Unicode.Scalar, _ category: Unicode.GeneralCategory) -> Unicode.Scalar {
        switch category {
        case .control: scalar == "\t" ? " " : "\u{FFFD}"
        case .lineSeparator, .paragraphSeparator: " "
        case .format where Self.turns(scalar): "\u{FFFD}"
        default: scalar
        }
    }

    /// Embeddings, overrides and isolates: they reach beyond the text that has them.
    private static func turns(_ scalar: Unicode.Scalar) -> Bool {
        (0x202A...0x202E).contains(scalar.value) || (0x2066...0x2069).contains(scalar.value)
    }
}
