import Linkspan

/// The input history and the position in it.
struct InputHistory: Sendable {
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

    /// The entry at a place, counted from the oldest.
    subscript(place: Int) -> String { self.entries[place] }

    /// The place of the latest entry that contains a text, in capitals or not; only those before a place count if one is
    /// given.
    func latest(containing text: String, before place: Int?) -> Int? {
        let wanted = text.lowercased()
        return self.entries.prefix(place ?? .max).lastIndex { $0.lowercased().contains(wanted) }
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
