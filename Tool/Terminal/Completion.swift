/// The words that Tab completes, by their place in the line.
public protocol CompletionWords {
    /// The words that may stand after a text, and the text that follows them.
    func known(after before: String, _ word: String) -> (known: [String], suffix: String)
}

/// Tab: completes the word before the cursor, and goes through all that fit when it is pressed again.
struct Completion: Hashable, Sendable {
    /// All words that fit, in the order in which they come.
    let candidates: [String]
    /// The one on the line.
    private(set) var index = 0
    private let suffix: String
    /// The length of the replaced text, in characters.
    private(set) var length: Int

    /// Finds matches; nil when there are none.
    init?(before text: String, _ words: some CompletionWords) {
        let start = text.lastIndex { $0.isWhitespace }.map { text.index(after: $0) } ?? text.startIndex
        let word = String(text[start...])
        let (known, suffix) = words.known(after: String(text[..<start]), word)
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
}
