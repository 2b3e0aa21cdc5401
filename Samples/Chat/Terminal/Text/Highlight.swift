import LinkspanTerminal

/// Finds highlights in a text: links, the user's name, search words.
enum Highlight {
    /// A text without control characters in pieces, in which links, a name and a text that is searched for have looks of
    /// their own, and the rest has the one that is given.
    static func spans(_ text: String, name: String?, query: String?, _ role: Role) -> [Span] {
        var marks: [(range: Range<String.Index>, role: Role)] = []
        if let query { marks += self.ranges(of: query, in: text).map { ($0, .match) } }
        marks += self.links(in: text).map { ($0, .link) }
        if let name { marks += self.mentions(of: name, in: text).map { ($0, .mention) } }
        var spans: [Span] = []
        var place = text.startIndex
        // The first kind counts where two overlap; a stable order of equal begins keeps it in front.
        for (range, mark) in marks.enumerated().sorted(by: { one, other in
            (one.element.range.lowerBound, one.offset) < (other.element.range.lowerBound, other.offset)
        }).map(\.element) where range.lowerBound >= place {
            if place < range.lowerBound { spans.append(Span(String(text[place..<range.lowerBound]), role)) }
            spans.append(Span(String(text[range]), mark))
            place = range.upperBound
        }
        if place < text.endIndex || spans.isEmpty { spans.append(Span(String(text[place...]), role)) }
        return spans
    }

    /// Whether a text has another one in it, in capitals or not.
    static func contains(_ part: String, in text: String) -> Bool { !self.ranges(of: part, in: text).isEmpty }

    /// Whether a text mentions a name.
    static func mentions(_ name: String, in text: String) -> Bool { !self.mentions(of: name, in: text).isEmpty }

    /// Matches the name as a whole word, with or without `@`, in any case.
    private static func mentions(of name: String, in text: String) -> [Range<String.Index>] {
        self.ranges(of: name, in: text).compactMap { range in
            if range.upperBound < text.endIndex, self.isWord(text[range.upperBound]) { return nil }
            guard range.lowerBound > text.startIndex else { return range }
            let before = text.index(before: range.lowerBound)
            if text[before] == "@" { return before..<range.upperBound }
            return self.isWord(text[before]) ? nil : range
        }
    }

    private static func ranges(of part: String, in text: String) -> [Range<String.Index>] {
        guard !part.isEmpty else { return [] }
        let wanted = part.map { $0.lowercased() }
        var ranges: [Range<String.Index>] = []
        var start = text.startIndex
        while start < text.endIndex {
            var (place, count) = (start, 0)
            while count < wanted.count, place < text.endIndex, text[place].lowercased() == wanted[count] {
                place = text.index(after: place)
                count += 1
            }
            if count == wanted.count {
                ranges.append(start..<place)
                start = place
            } else {
                start = text.index(after: start)
            }
        }
        return ranges
    }

    private static let schemes = ["http://", "https://", "ws://", "wss://"]

    private static func links(in text: String) -> [Range<String.Index>] {
        var ranges: [Range<String.Index>] = []
        var place = text.startIndex
        while let start = text[place...].firstIndex(where: { "hHwW".contains($0) }) {
            let rest = text[start...]
            let word = rest.prefix { !$0.isWhitespace && !"<>\"".contains($0) }
            let scheme = self.schemes.first { word.lowercased().hasPrefix($0) }
            let isBegin = start == text.startIndex || !self.isWord(text[text.index(before: start)])
            if let scheme, isBegin, case let link = self.trimmed(word), link.count > scheme.count {
                ranges.append(link.startIndex..<link.endIndex)
                place = link.endIndex
            } else {
                place = text.index(after: start)
            }
        }
        return ranges
    }

    /// A link without the punctuation of the sentence around it; a parenthesis that it has opened belongs to it.
    private static func trimmed(_ word: Substring) -> Substring {
        var link = word
        while let last = link.last {
            let closesOwn = last == ")" && link.count(where: { $0 == "(" }) >= link.count(where: { $0 == ")" })
            guard ".,;:!?'*)]}".contains(last), !closesOwn else { break }
            link.removeLast()
        }
        return link
    }

    private static func isWord(_ character: Character) -> Bool {
        character.isLetter || character.isNumber || character == "_"
    }
}
