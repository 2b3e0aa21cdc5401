/// A search in the conversation: `/search`.
struct MessageSearch: Sendable {
    let query: String
    /// The entry that is shown.
    private(set) var entry: Int
    /// Which of all that match it is, counted from the latest, and how many there are.
    private(set) var place: (number: Int, count: Int)

    /// Searches from the end; nil when nothing matches.
    init?(_ query: String, in list: MessageList) {
        let all = Self.matches(query, in: list)
        guard let latest = all.last else { return nil }
        (self.query, self.entry, self.place) = (query, latest, (1, all.count))
    }

    /// Goes on to an older match, or with `step` -1 to a newer one; after the last one follows the first.
    mutating func advance(by step: Int, in list: MessageList) {
        let all = Self.matches(self.query, in: list)
        guard !all.isEmpty else { return }
        let current = all.lastIndex { $0 <= self.entry } ?? 0
        let next = (current - step + all.count) % all.count
        self.entry = all[next]
        self.place = (all.count - next, all.count)
    }

    /// What to show while it goes on.
    var hint: String {
        "'\(VisibleText.of(self.query))': \(self.place.number) of \(self.place.count); Up, Down: older, newer; Esc ends"
    }

    private static func matches(_ query: String, in list: MessageList) -> [Int] {
        list.numbers.filter { number in
            guard case .line(let line)? = list.entry(number)?.content else { return false }
            return Highlight.contains(query, in: "\(line.from): \(line.text)")
        }
    }
}
