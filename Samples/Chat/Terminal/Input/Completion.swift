/// Tab: completes the word before the cursor, and goes through all that fit when it is pressed again.
struct Completion: Hashable, Sendable {
    /// What may be completed.
    struct Words: Hashable, Sendable {
        /// People, those who spoke last first.
        var people: [String] = []
        /// Rooms that are known by name.
        var rooms: [String] = []
        /// The adapters that may carry the session.
        var transports: [String] = []
    }

    /// All words that fit, in the order in which they come.
    let candidates: [String]
    /// The one on the line.
    private(set) var index = 0
    private let suffix: String
    /// The length of the replaced text, in characters.
    private(set) var length: Int

    /// Finds matches; nil when there are none.
    init?(before text: String, _ words: Words) {
        let start = text.lastIndex { $0.isWhitespace }.map { text.index(after: $0) } ?? text.startIndex
        let word = String(text[start...])
        let (known, suffix) = Self.known(at: String(text[..<start]), word, words)
        let isAddressed = word.hasPrefix("@") && !known.contains { $0.hasPrefix("@") }
        let stem = isAddressed ? String(word.dropFirst()) : word
        let fitting = known.filter { $0.lowercased().hasPrefix(stem.lowercased()) }
        guard !fitting.isEmpty else { return nil }
        self.candidates = isAddressed ? fitting.map { "@\($0)" } : fitting
        self.suffix = isAddressed ? " " : suffix
        self.length = word.count
    }

    /// The text for the line in place of ``length`` characters before the cursor.
    var replacement: String { self.candidates[self.index] + self.suffix }

    /// The replacement is on the line.
    mutating func wasApplied() { self.length = self.replacement.count }

    /// The next candidate, or the one before.
    mutating func advance(by step: Int) {
        self.index = (self.index + step + self.candidates.count) % self.candidates.count
    }

    /// Completions after some text, and the text that follows.
    private static func known(at before: String, _ word: String, _ words: Words) -> (known: [String], suffix: String) {
        guard before.hasPrefix("/"), !before.hasPrefix("//") else {
            if before.isEmpty, word.hasPrefix("/") { return (ChatInput.commands, " ") }
            return (words.people, before.isEmpty ? ": " : " ")
        }
        let parts = before.split(separator: " ")
        guard parts.count == 1 else { return (parts.first == "/msg" ? words.people : [], " ") }
        return switch parts.first {
        case "/join", "/leave": (words.rooms, "")
        case "/transport": (words.transports, "")
        case "/mouse": (["on", "off"], "")
        case "/msg", "/nick", "/search": (words.people, " ")
        default: ([], "")
        }
    }
}
