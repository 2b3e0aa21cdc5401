/// The size of a terminal, in character cells.
struct TerminalSize: Hashable, Sendable {
    var columns: Int
    var rows: Int

    /// A size with at least one cell, and not more than anybody has.
    init(columns: Int, rows: Int) {
        self.columns = min(max(1, columns), 1_000)
        self.rows = min(max(1, rows), 1_000)
    }
}

/// What is to be seen: the conversation above, and what belongs to the session below.
struct Frame: Sendable {
    var size: TerminalSize
    /// How many rows the conversation has.
    var listHeight: Int
    /// The rows in view, from the top; there may be fewer than there is room for.
    var list: [MessageList.Row]
    /// Whether the view is at the end of the conversation.
    var isFollowing: Bool
    /// The rows below the conversation.
    var panel: [[Span]]
    /// Where the cursor stands, counted from 0.
    var cursor: (row: Int, column: Int)

    /// All rows.
    var rows: [[Span]] {
        let blanks = Array(repeating: [Span](), count: max(0, self.listHeight - self.list.count))
        return self.list.map(\.spans) + blanks + self.panel
    }
}
