/// The input history and the position in it.
struct InputHistory: Sendable {
    /// An entry that a search has found.
    struct Match: Hashable, Sendable {
        /// Counts the entries from the oldest.
        var place: Int
        var entry: String
    }

    private static let capacity = 500

    private var entries: [String] = []
    /// The entry that is shown; nil while it is the new line.
    private var place: Int?
    /// The new line, while an entry is shown.
    private var draft = ""

    /// Adds an entry and returns to the end of the history.
    mutating func add(_ entry: String) {
        self.place = nil
        self.draft = ""
        guard !entry.isEmpty, entry != self.entries.last else { return }
        self.entries.append(entry)
        if self.entries.count > Self.capacity { self.entries.removeFirst() }
    }

    /// The latest entry that contains a text, in capitals or not; only those before a place count if one is given.
    func latest(containing text: String, before place: Int?) -> Match? {
        let wanted = text.lowercased()
        for (place, entry) in self.entries.prefix(place ?? .max).enumerated().reversed()
        where entry.lowercased().contains(wanted) {
            return Match(place: place, entry: entry)
        }
        return nil
    }

    /// The entry before the one shown.
    ///
    /// - Parameter current: the line on screen, kept if it is the new line.
    /// - Returns: the entry, or nil when there is none.
    mutating func older(than current: String) -> String? {
        let place = (self.place ?? self.entries.count) - 1
        guard self.entries.indices.contains(place) else { return nil }
        if self.place == nil { self.draft = current }
        self.place = place
        return self.entries[place]
    }

    /// The entry after the one shown, or the new line; nil when that is shown already.
    mutating func newer() -> String? {
        guard let shown = self.place else { return nil }
        guard shown + 1 < self.entries.count else {
            self.place = nil
            return self.draft
        }
        self.place = shown + 1
        return self.entries[shown + 1]
    }
}
