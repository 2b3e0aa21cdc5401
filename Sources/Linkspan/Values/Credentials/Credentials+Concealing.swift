extension Credentials {
    /// Shorter values are names and numbers more often than secrets.
    private static let shortestSecret = 8
    private static let replacement = "<redacted>"

    /// A text of the server without the credentials that it repeats.
    ///
    /// - Parameters:
    ///   - text: the text.
    ///   - query: the query of the URL, which often holds tokens, too.
    /// - Returns: the text with `<redacted>` in the place of each secret, and of each beginning of one at which the text was cut.
    func concealed(in text: String, query: String? = nil) -> String {
        var secrets = (self.headers + self.query).map(\.value.exposed)
        // Of `Bearer abc` a server repeats `abc`.
        secrets += secrets.flatMap { $0.split(separator: " ").map(String.init) }
        secrets += self.auth.map { Self.strings(in: $0.elements) } ?? []
        for query in [query, self.url?.query] {
            secrets += query?.split { $0 == "&" || $0 == "=" }.map(String.init) ?? []
        }
        // The longest first, because one may be a part of another.
        secrets = secrets.filter { $0.utf8.count >= Self.shortestSecret }.sorted { $0.utf8.count > $1.utf8.count }
        return secrets.reduce(Self.concealed(beginningsOf: secrets, in: text)) {
            $0.replacing($1, with: Self.replacement)
        }
    }

    /// A text without the beginnings of secrets at its end and before each ellipsis: long texts of a server are cut.
    private static func concealed(beginningsOf secrets: [String], in text: String) -> String {
        let secrets = secrets.map { Array($0.unicodeScalars) }
        return text.split(separator: "…", omittingEmptySubsequences: false).map { part in
            let scalars = Array(part.unicodeScalars)
            let longest = secrets.map { Self.length(ofBeginningOf: $0, atEndOf: scalars) }.max() ?? 0
            return longest == 0 ? String(part) : String(part.unicodeScalars.dropLast(longest)) + Self.replacement
        }.joined(separator: "…")
    }

    /// The length of the longest beginning of a secret with which a text ends; 0 when none is long enough.
    private static func length(
        ofBeginningOf secret: [Unicode.Scalar], atEndOf text: [Unicode.Scalar]
    ) -> Int {
        var beginning = secret.prefix(text.count)
        while beginning.count >= Self.shortestSecret {
            if text.suffix(beginning.count) == beginning { return beginning.count }
            beginning = beginning.dropLast()
        }
        return 0
    }

    /// The strings in JSON text that are not names of members.
    private static func strings(in text: ArraySlice<UInt8>) -> [String] {
        var found: [String] = []
        var rest = text
        while let quote = rest.firstIndex(of: UInt8(ascii: "\"")) {
            var end = quote + 1
            while end < rest.endIndex, rest[end] != UInt8(ascii: "\"") {
                end += rest[end] == UInt8(ascii: "\\") ? 2 : 1
            }
            guard end < rest.endIndex else { break }
            let inside = rest[(quote + 1)..<end]
            rest = rest[(end + 1)...]
            let next = rest.first { !" \t\r\n".utf8.contains($0) }
            if next != UInt8(ascii: ":") { found.append(JSONString.unescape(inside)) }
        }
        return found
    }
}
