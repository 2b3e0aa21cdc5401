internal import Linkspan
internal import LinkspanLifecycle

/// Pieces of messages: names that were not meant, values as they may be shown.
enum Wording {
    /// Text from outside in one short line, whatever it holds.
    static func shown(_ text: String, limit: Int = 60) -> String { ForeignText.line(text, limit: limit) }

    /// A value that somebody gave, without what may be secret in a URL; not in one line yet.
    static func redacted(_ text: String) -> String {
        let hasURL = text.firstRange(of: "://") != nil
        // A user name and a password stand before the host.
        let hasLogin = text.firstIndex(of: "@").map { text[..<$0].contains(":") } ?? false
        guard hasURL || hasLogin else { return text }
        let isWhole = !text.contains { $0 == "?" || $0 == "#" } && (try? ConnectionURL(text)) != nil
        return isWhole ? text : ConnectionURL.redacted(text)
    }

    /// A name that nobody has, with what it could have been.
    static func unknown(_ noun: String, _ name: String, known: [String]) -> String {
        var hints: [String] = []
        if let guess = Suggestion.closest(to: name, among: known) { hints.append("did you mean '\(guess)'?") }
        hints.append(known.isEmpty ? "no name is known" : "known: \(known.sorted().joined(separator: ", "))")
        return "unknown \(noun) '\(Self.shown(name))' (\(hints.joined(separator: " ")))"
    }
}
