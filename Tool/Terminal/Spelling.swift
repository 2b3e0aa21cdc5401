/// Finds the command that was perhaps meant.
public enum Spelling {
    /// The question for a command that begins like a word, or is one letter away; empty when there is none.
    public static func guess(_ word: String, among commands: [String]) -> String {
        guard word.count > 2 else { return "" }
        let near = commands.first { $0.hasPrefix(word) } ?? commands.first { self.isNear($0, word) }
        return near.map { " (did you mean \($0)?)" } ?? ""
    }

    /// Whether one letter was left out, added, changed, or changed places with its neighbour.
    private static func isNear(_ one: String, _ other: String) -> Bool {
        let (one, other) = (Array(one), Array(other))
        let head = zip(one, other).prefix { $0 == $1 }.count
        let (restOfOne, restOfOther) = (one[head...], other[head...])
        let tail = zip(restOfOne.reversed(), restOfOther.reversed()).prefix { $0 == $1 }.count
        let (left, right) = (restOfOne.dropLast(tail), restOfOther.dropLast(tail))
        return max(left.count, right.count) <= 1 || left.count == 2 && Array(left.reversed()) == Array(right)
    }
}
