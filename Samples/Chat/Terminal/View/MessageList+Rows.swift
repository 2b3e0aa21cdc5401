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
