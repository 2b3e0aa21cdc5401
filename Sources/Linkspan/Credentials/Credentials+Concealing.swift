extension Credentials {
    /// Shorter values are names and numbers more often than secrets.
    private static let shortestSecret = 8

    /// A text of the server without the credentials that it repeats.
    ///
    /// - Parameters:
    ///   - text: the text.
    ///   - query: the query of the URL, which often holds tokens, too.
    /// - Returns: the text with `<redacted>` in the place of each secret.
    func concealed(in text: String, query: String? = nil) -> String {
        var secrets = (self.headers + self.query).map(\.value.exposed)
        // Of `Bearer abc` a server repeats `abc`.
        secrets += secrets.flatMap { $0.split(separator: " ").map(String.init) }
        secrets += self.auth.map { Self.strings(in: $0.elements) } ?? []
        for query in [query, self.url?.query] {
            secrets += query?.split { $0 == "&" || $0 == "=" }.map(String.init) ?? []
        }
        // The longest first, because one may be a part of another.
        return secrets.filter { $0.utf8.count >= Self.shortestSecret }.sorted { $0.utf8.count > $1.utf8.count }
            .reduce(text) { $0.replacing($1, with: "<redacted>") }
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
