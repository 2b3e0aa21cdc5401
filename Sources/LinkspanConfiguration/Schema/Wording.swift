internal import Linkspan
internal import LinkspanLifecycle

/// Parts of messages: suggestions for unknown names, redacted values.
enum Wording {
    /// Text from outside, shortened to one line.
    static func shown(_ text: String, limit: Int = 60) -> String { ForeignText.line(text, limit: limit) }

    /// A given value without a URL's user, password and query; it may have several lines.
    static func redacted(_ text: String) -> String {
        let hasURL = text.firstRange(of: "://") != nil
        // A user name and a password stand before the host.
        let hasLogin = text.firstIndex(of: "@").map { text[..<$0].contains(":") } ?? false
        guard hasURL || hasLogin else { return text }
        let isWhole = !text.contains { $0 == "?" || $0 == "#" } && (try? ConnectionURL(text)) != nil
        return isWhole ? text : ConnectionURL.redacted(text)
    }

    /// An unknown name with suggestions.
    static func unknown(_ noun: String, _ name: String, known: [String]) -> String {
        var hints: [String] = []
        if let guess = Suggestion.closest(to: name, among: known) { hints.append("did you mean '\(guess)'?") }
        hints.append(known.isEmpty ? "no name is known" : "known: \(known.sorted().joined(separator: ", "))")
        return "unknown \(noun) '\(Self.shown(name))' (\(hints.joined(separator: " ")))"
    }
}
