/// Converts keys between `camelCase` and `snake_case` by the rules of Foundation's coders.
enum SnakeCase {
    /// `sentAt` becomes `sent_at`, `myURLField` becomes `my_url_field`.
    static func written(_ key: String) -> String {
        guard key.contains(where: \.isUppercase) else { return key }
        var words: [Substring] = []
        var wordStart = key.startIndex
        var searchStart = key.index(after: wordStart)
        while let upper = key[searchStart...].firstIndex(where: \.isUppercase) {
            words.append(key[wordStart..<upper])
            guard let lower = key[upper...].firstIndex(where: \.isLowercase) else {
                // The rest is one word in capitals.
                wordStart = upper
                break
            }
            let afterUpper = key.index(after: upper)
            if lower == afterUpper {
                wordStart = upper
            } else {
                // The last capital of several begins the next word.
                let lastUpper = key.index(before: lower)
                words.append(key[upper..<lastUpper])
                wordStart = lastUpper
            }
            searchStart = key.index(after: lower)
        }
        words.append(key[wordStart...])
        return words.map { $0.lowercased() }.joined(separator: "_")
    }

    /// `sent_at` becomes `sentAt`; underscores at both ends stay.
    static func read(_ key: String) -> String {
        guard let first = key.firstIndex(where: { $0 != "_" }), let last = key.lastIndex(where: { $0 != "_" }) else {
            return key
        }
        let words = key[first...last].split(separator: "_")
        guard words.count > 1 else { return key }
        let joined = words[0].lowercased() + words.dropFirst().map(Self.capitalized).joined()
        return key[..<first] + joined + key[key.index(after: last)...]
    }

    private static func capitalized(_ word: Substring) -> String {
        word.prefix(1).uppercased() + word.dropFirst().lowercased()
    }
}
