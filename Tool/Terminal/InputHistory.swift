import Linkspan

/// The input history and the position in it.
struct InputHistory: Sendable {
    private static let capacity = 500

    /// The entries, the oldest first, and at the end the new line, as it was when an entry was shown in its place.
    private var entries = [""]
    /// The place of what is shown.
    private var place = 0

    /// Adds an entry and returns to the end of the history.
    mutating func add(_ entry: String) {
        self.entries.removeLast()
        if !entry.isEmpty, entry != self.entries.last { self.entries.append(entry) }
        self.entries.removeFirst(max(0, self.entries.count - Self.capacity))
        self.place = self.entries.count
        self.entries.append("")
    }

    /// The entry at a place, counted from the oldest.
    subscript(place: Int) -> String { self.entries[place] }

    /// The place of the latest entry that contains a text, in capitals or not; only those before a place count if one is
    /// given.
    func latest(containing text: String, before place: Int?) -> Int? {
        let wanted = text.lowercased()
        return self.entries.dropLast().prefix(place ?? .max).lastIndex { $0.lowercased().contains(wanted) }
    }

    /// The entry, or the new line, so many places later than what is shown.
    ///
    /// - Parameters:
    ///   - step: the number of places, negative for earlier ones.
    ///   - current: the line on screen, kept if it is the new line.
    /// - Returns: the entry, or nil when there is none.
    mutating func move(by step: Int, from current: String) -> String? {
        let place = self.place + step
        guard self.entries.indices.contains(place) else { return nil }
        if self.place == self.entries.count - 1 { self.entries[self.place] = current }
        self.place = place
        return self.entries[place]
    }
}

/// A backwards search in the input history: Ctrl-R, as in a shell.
public struct HistorySearch: Hashable, Sendable {
    /// The line before the search, restored when it is cancelled.
    let draft: String
    private(set) var query = ""
    /// The place of the entry that was found last; nil before the first.
    private(set) var found: Int?
    /// Whether nothing older fits.
    private(set) var hasFailed = false

    init(draft: String) { self.draft = draft }

    /// What to show in front of the line.
    public var prompt: String {
        let shown = ForeignText.shown(self.query)
        return self.hasFailed ? "(nothing older has '\(shown)') " : "(history: '\(shown)') "
    }

    /// More of the wanted text was typed: the entry that is shown may still fit.
    mutating func add(_ text: String, in history: InputHistory) {
        self.query += text
        self.look(in: history, before: self.found.map { $0 + 1 })
    }

    /// Removes the last character of the search text and restarts the search.
    mutating func removeLast(in history: InputHistory) {
        guard !self.query.isEmpty else { return }
        self.query.removeLast()
        self.found = nil
        self.look(in: history, before: nil)
    }

    /// The next older entry.
    mutating func older(in history: InputHistory) { self.look(in: history, before: self.found) }

    private mutating func look(in history: InputHistory, before place: Int?) {
        guard !self.query.isEmpty else {
            self.hasFailed = false
            return
        }
        let match = history.latest(containing: self.query, before: place)
        self.hasFailed = match == nil
        self.found = match ?? self.found
    }
}
