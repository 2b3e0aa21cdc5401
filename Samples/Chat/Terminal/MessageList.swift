/// What was said and told, in rows for any width, with a view that can be scrolled.
struct MessageList: Sendable {
    /// What an entry holds.
    enum Content: Hashable, Sendable {
        case line(ChatFloorLine)
        /// About people and the connection.
        case news(String)
        /// An answer to a command: a paragraph for each of its lines.
        case answer(String)
        case failure(String)
    }

    /// Names a row: entries are counted, and so are the rows of each.
    struct Mark: Comparable, Sendable {
        var entry: Int
        var row: Int

        static func < (left: Self, right: Self) -> Bool { (left.entry, left.row) < (right.entry, right.row) }
    }

    /// A row of the list.
    struct Row: Sendable {
        var mark: Mark
        var spans: [Span]
    }

    private static let capacity = 5_000
    private static let indent = 2

    /// The room whose lines are shown without its name.
    var room: String?
    private var entries: [Content] = []
    /// The entries of the lines that are pending.
    private var open: [String: Int] = [:]
    /// The number of the first entry that is kept.
    private var first = 0
    /// The last row in view; nil follows the conversation.
    private var bottom: Mark?

    /// Whether the view follows the conversation.
    var isFollowing: Bool { self.bottom == nil }

    /// How many entries came after those in view.
    var below: Int { self.bottom.map { max(0, self.first + self.entries.count - 1 - $0.entry) } ?? 0 }

    /// Adds an entry at the end; a line that is there already takes the new state instead.
    mutating func add(_ content: Content) {
        guard !self.settles(content) else { return }
        if case .line(let line) = content, line.state == .pending {
            self.open[line.id] = self.first + self.entries.count
        }
        self.entries.append(content)
        if self.entries.count > Self.capacity { self.forget(Self.capacity / 10) }
    }

    /// The last rows of the view, at most `count`.
    func rows(_ count: Int, width: Int) -> [Row] { self.rows(count, width: width, endingAt: self.bottom) }

    /// The rows up to one of them, at most `count`; up to the last one when none is named.
    func rows(_ count: Int, width: Int, endingAt last: Mark?) -> [Row] {
        var rows: [Row] = []
        var entry = min(last?.entry ?? .max, self.first + self.entries.count - 1)
        while entry >= self.first, rows.count < count {
            var all = self.rows(of: entry, width: width)
            if let last, last.entry == entry { all = Array(all.prefix(last.row + 1)) }
            rows.insert(contentsOf: all.suffix(count - rows.count), at: 0)
            entry -= 1
        }
        return rows
    }

    /// All rows after one of them; all there are when none is named.
    func rows(after mark: Mark?, width: Int) -> [Row] {
        var rows: [Row] = []
        let start = max(mark?.entry ?? self.first, self.first)
        for entry in start..<max(self.first + self.entries.count, start) {
            rows += self.rows(of: entry, width: width).filter { row in mark.map { row.mark > $0 } ?? true }
        }
        return rows
    }

    /// Scrolls back, or forward if `distance` is negative, within the list.
    mutating func scroll(back distance: Int, height: Int, width: Int) {
        let end = self.rows(1, width: width).last?.mark
        guard let end, height > 0 else { return }
        if distance > 0 {
            // As many rows as are needed to fill the view above the new bottom.
            let known = self.rows(distance + height, width: width, endingAt: end)
            let place = max(min(height, known.count), known.count - distance) - 1
            if known.indices.contains(place), known.count > height { self.bottom = known[place].mark }
        } else if distance < 0, self.bottom != nil {
            let after = self.rows(after: end, width: width)
            self.bottom = after.count > -distance ? after[-distance - 1].mark : nil
        }
    }

    /// Follows the conversation again.
    mutating func follow() { self.bottom = nil }

    /// Whether the content is the new state of a line that is there.
    private mutating func settles(_ content: Content) -> Bool {
        guard case .line(let line) = content, let entry = self.open[line.id] else { return false }
        if line.state != .pending { self.open[line.id] = nil }
        guard self.entries.indices.contains(entry - self.first) else { return false }
        self.entries[entry - self.first] = content
        return true
    }

    private mutating func forget(_ count: Int) {
        self.entries.removeFirst(count)
        self.first += count
        if let bottom = self.bottom, bottom.entry < self.first { self.bottom = Mark(entry: self.first, row: 0) }
    }

    private func rows(of entry: Int, width: Int) -> [Row] {
        let index = entry - self.first
        guard self.entries.indices.contains(index) else { return [] }
        let rows = self.paragraphs(self.entries[index]).flatMap { $0.wrapped(to: width, indent: Self.indent) }
        return rows.enumerated().map { Row(mark: Mark(entry: entry, row: $0.offset), spans: $0.element) }
    }

    private func paragraphs(_ content: Content) -> [[Span]] {
        switch content {
        case .line(let line): [self.spans(line)]
        case .news(let text): [[Span("* " + VisibleText.of(text), .news)]]
        case .failure(let text): [[Span("* " + VisibleText.of(text), .failure)]]
        case .answer(let text):
            text.split(separator: "\n", omittingEmptySubsequences: false).map {
                [Span("  " + VisibleText.of(String($0)), .plain)]
            }
        }
    }

    private func spans(_ line: ChatFloorLine) -> [Span] {
        var spans: [Span] = []
        if let room = self.room, room != line.room { spans.append(Span("[\(VisibleText.name(line.room))] ", .hint)) }
        let role: Role = line.isOwn ? .own : .person(Style.number(of: line.from))
        spans += [Span(VisibleText.name(line.from), role), Span(": ", .plain)]
        switch line.state {
        case .confirmed: spans.append(Span(VisibleText.of(line.text)))
        case .pending: spans += [Span(VisibleText.of(line.text), .pending), Span(" …", .pending)]
        case .rejected(let why):
            let reason = " (not delivered: \(VisibleText.of(why)))"
            spans += [Span(VisibleText.of(line.text), .pending), Span(reason, .failure)]
        }
        return spans
    }
}
