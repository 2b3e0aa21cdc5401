internal import LinkspanLifecycle

/// Pieces of messages: names that were not meant, values as they may be shown.
enum Wording {
    /// Text from outside in one short line, whatever it holds.
    static func shown(_ text: String, limit: Int = 60) -> String {
        var output = ""
        for (count, scalar) in text.unicodeScalars.enumerated() {
            guard count < limit else { return output + "…" }
            switch scalar.properties.generalCategory {
            case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .privateUse, .unassigned:
                output += "\\u{\(String(scalar.value, radix: 16))}"
            default:
                output.unicodeScalars.append(scalar)
            }
        }
        return output
    }

    /// A name that nobody has, with what it could have been.
    static func unknown(_ noun: String, _ name: String, known: [String]) -> String {
        var hints: [String] = []
        if let guess = Suggestion.closest(to: name, among: known) { hints.append("did you mean '\(guess)'?") }
        hints.append(known.isEmpty ? "none is known" : "known: \(known.sorted().joined(separator: ", "))")
        return "unknown \(noun) '\(Self.shown(name))' (\(hints.joined(separator: " ")))"
    }
}
