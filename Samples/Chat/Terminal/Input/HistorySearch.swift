/// A backwards search in the input history: Ctrl-R, as in a shell.
struct HistorySearch: Hashable, Sendable {
    /// The line before the search, restored when it is cancelled.
    let draft: String
    private(set) var query = ""
    /// The entry that was found last; nil before the first.
    private(set) var found: InputHistory.Match?
    /// Whether nothing older fits.
    private(set) var hasFailed = false

    init(draft: String) { self.draft = draft }

    /// What to show in front of the line.
    var prompt: String {
        let shown = VisibleText.of(self.query)
        return self.hasFailed ? "(nothing older has '\(shown)') " : "(history: '\(shown)') "
    }

    /// More of the wanted text was typed: the entry that is shown may still fit.
    mutating func add(_ text: String, in history: InputHistory) {
        self.query += text
        self.look(in: history, before: self.found.map { $0.place + 1 })
    }

    /// Removes the last character of the search text and restarts the search.
    mutating func removeLast(in history: InputHistory) {
        guard !self.query.isEmpty else { return }
        self.query.removeLast()
        self.found = nil
        self.look(in: history, before: nil)
    }

    /// The next older entry.
    mutating func older(in history: InputHistory) { self.look(in: history, before: self.found?.place) }

    private mutating func look(in history: InputHistory, before place: Int?) {
        guard !self.query.isEmpty else {
            self.hasFailed = false
            return
        }
        let match = history.latest(containing: self.query, before: place)
        self.hasFailed = match == nil
        if let match { self.found = match }
    }
}
