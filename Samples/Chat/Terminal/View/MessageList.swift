import LinkspanTerminal

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

    /// An entry of the list with its time.
    struct Entry: Hashable, Sendable {
        var content: Content
        var time: String
    }

    /// Names a row: entries are counted, and so are the rows of each; the row -1 is the mark of unread lines.
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

    /// The room whose lines are shown without its name.
    var room: String?
    /// Whose name is marked.
    var name: String?
    /// What is searched for; it is marked where it stands.
    var query: String?
    private var entries: [Entry] = []
    /// The entries of the lines that are pending.
    private var open: [String: Int] = [:]
    /// The number of the first entry that is kept.
    private var first = 0
    /// The last row in view; nil follows the conversation.
    private var bottom: Mark?
    /// The first line received while another room was shown.
    private(set) var unread: Int?

    /// Whether the view follows the conversation.
    var isFollowing: Bool { self.bottom == nil }

    /// How many entries came after those in view.
    var below: Int { self.bottom.map { max(0, self.first + self.entries.count - 1 - $0.entry) } ?? 0 }

    /// An entry, as long as it is kept.
    func entry(_ number: Int) -> Entry? {
        let index = number - self.first
        return self.entries.indices.contains(index) ? self.entries[index] : nil
    }

    /// The numbers of the kept entries.
    var numbers: Range<Int> { self.first..<self.first + self.entries.count }

    /// Adds an entry at the end; a line that is there already takes the new state instead.
    mutating func add(_ content: Content, time: String = "") {
        guard !self.settles(content) else { return }
        if case .line(let line) = content {
            if line.state == .pending { self.open[line.id] = self.first + self.entries.count }
            if !line.isOwn, !self.isFollowing, self.unread == nil { self.unread = self.first + self.entries.count }
        }
        self.entries.append(Entry(content: content, time: time))
        if self.entries.count > Self.capacity { self.forget(Self.capacity / 10) }
    }

    /// The last rows of the view, at most `count`.
    func rows(_ count: Int, width: Int) -> [Row] { self.rows(count, width: width, endingAt: self.bottom) }

    /// The rows up to one of them, at most `count`; up to the last one when none is named.
    func rows(_ count: Int, width: Int, endingAt last: Mark?) -> [Row] {
        var rows: [Row] = []
        var entry = min(last?.entry ?? .max, self.first + self.entries.count - 1)
        while entry >= self.first, rows.count < count {
            let all = self.rows(of: entry, width: width).filter { row in last.map { row.mark <= $0 } ?? true }
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

    /// Whether the content is the new state of a line that is there.
    private mutating func settles(_ content: Content) -> Bool {
        guard case .line(let line) = content, let entry = self.open[line.id] else { return false }
        if line.state != .pending { self.open[line.id] = nil }
        guard self.entries.indices.contains(entry - self.first) else { return false }
        self.entries[entry - self.first].content = content
        return true
    }

    private mutating func forget(_ count: Int) {
        self.entries.removeFirst(count)
        self.first += count
        if let bottom = self.bottom, bottom.entry < self.first { self.bottom = Mark(entry: self.first, row: 0) }
    }
}

// MARK: - The view

extension MessageList {
    /// Scrolls back, or forward if `distance` is negative, within the list.
    mutating func scroll(back distance: Int, height: Int, width: Int) {
        let end = self.rows(1, width: width).last?.mark
        guard let end, height > 0 else { return }
        if distance > 0 {
            // As many rows as are needed to fill the view above the new bottom.
            let known = self.rows(distance + height, width: width, endingAt: end)
            let place = max(min(height, known.count), known.count - distance) - 1
            guard known.indices.contains(place), known.count > height else { return }
            // What was unread before has been seen by now.
            if self.isFollowing { self.unread = nil }
            self.bottom = known[place].mark
        } else if distance < 0, self.bottom != nil {
            let after = self.rows(after: end, width: width)
            self.bottom = after.count > -distance ? after[-distance - 1].mark : nil
        }
    }

    /// Follows the conversation again.
    mutating func follow() { self.bottom = nil }

    /// Marks lines as read that came while another room was shown.
    mutating func markRead() { self.unread = nil }

    /// Brings an entry into view, with what follows it below.
    mutating func show(_ entry: Int, height: Int, width: Int) {
        guard let first = self.rows(of: entry, width: width).first?.mark else { return }
        let below = self.rows(after: first, width: width)
        let room = max(1, height / 2)
        self.bottom = below.count > room ? below[room - 1].mark : nil
    }
}

/// How entries look.
extension MessageList {
    private static let indent = 2
    /// Times are left out where they would take too much of a row.
    private static let narrow = 40

    /// The rows of an entry, with the mark of unread lines in front where it belongs.
    func rows(of number: Int, width: Int) -> [Row] {
        guard let entry = self.entry(number) else { return [] }
        let hasTime = !entry.time.isEmpty && width >= Self.narrow
        let stamp = hasTime ? [Span(entry.time + " ", .time)] : []
        let indent = Self.indent + stamp.columns
        let lines: [[Span]] = self.paragraphs(entry.content).flatMap { paragraph in
            (stamp + paragraph).wrapped(to: width, indent: indent)
        }
        let rows = lines.enumerated().map { Row(mark: Mark(entry: number, row: $0.offset), spans: $0.element) }
        guard number == self.unread else { return rows }
        return [Row(mark: Mark(entry: number, row: -1), spans: Self.unreadMark(width))] + rows
    }

    private static func unreadMark(_ width: Int) -> [Span] {
        let text = "── new "
        return [Span(text + String(repeating: "─", count: max(0, width - text.count)), .warning)].fitted(to: width)
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
        if line.recipient == nil, let room = self.room, room != line.room {
            spans.append(Span("[\(VisibleText.name(line.room))] ", .hint))
        }
        spans.append(self.person(line.from, isOwn: line.isOwn))
        if let recipient = line.recipient {
            spans += [Span(" → ", .hint), self.person(recipient, isOwn: !line.isOwn)]
        }
        spans.append(Span(": ", .plain))
        let text = VisibleText.of(line.text)
        let name = line.isOwn ? nil : self.name
        switch line.state {
        case .confirmed: spans += Highlight.spans(text, name: name, query: self.query, .plain)
        case .pending: spans += [Span(text, .pending), Span(" …", .pending)]
        case .rejected(let why):
            let reason = " (not delivered: \(VisibleText.of(why)))"
            spans += [Span(text, .pending), Span(reason, .failure)]
        }
        return spans
    }

    private func person(_ name: String, isOwn: Bool) -> Span {
        Span(VisibleText.name(name), isOwn ? .own : .person(Style.number(of: name)))
    }
}

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
