/// The visible part.
extension ChatView {
    /// The rows below the conversation, if there is room.
    private static let panelHeight = 3

    /// What the terminal has to show.
    func frame(_ size: TerminalSize, now: ContinuousClock.Instant) -> Frame {
        let height = Self.listHeight(size)
        let prompt = self.prompt(width: size.columns)
        let input = self.editor.visible(in: size.columns - prompt.columns - (size.columns > 1 ? 1 : 0))
        var panel: [[Span]] = [prompt + [Span(input.text)]]
        if size.rows > 1 { panel.insert(self.status.spans(width: size.columns, now: now), at: 0) }
        if size.rows - height > 2 { panel.insert(self.hint(now: now).fitted(to: size.columns), at: 0) }
        return Frame(
            size: size, listHeight: height, list: self.list.rows(height, width: size.columns),
            isFollowing: self.list.isFollowing, panel: panel,
            cursor: (size.rows - 1, min(prompt.columns + input.cursor, size.columns - 1)))
    }

    /// When something will look different, if nothing happens until then.
    func nextChange(after now: ContinuousClock.Instant) -> ContinuousClock.Instant? {
        [self.status.nextChange(after: now), self.marks.nextChange(after: now)].compactMap(\.self).min()
    }

    /// The rows of the conversation.
    static func listHeight(_ size: TerminalSize) -> Int {
        size.rows > Self.panelHeight ? size.rows - Self.panelHeight : max(0, size.rows - 2)
    }

    private func prompt(width: Int) -> [Span] {
        if let search = self.editor.search, width >= 30 {
            return [Span(search.prompt, .warning)].fitted(to: width / 2)
        }
        return width < 8 ? [] : [Span("> ", .prompt)]
    }

    private func hint(now: ContinuousClock.Instant) -> [Span] {
        if self.isLeaving { return [Span("leaving once all is confirmed; Ctrl-C leaves at once", .warning)] }
        if let choice = self.editor.candidates { return Self.choice(choice.words, choice.index) }
        if let search = self.search { return [Span(search.hint, .warning)] }
        if !self.list.isFollowing {
            let below = self.list.below
            return [Span(below > 0 ? "↓ \(below) below, Page Down" : "↓ Page Down", .warning)]
        }
        if let sentence = self.marks.sentence(now: now) { return [Span(sentence, .hint)] }
        guard !self.present.isEmpty else { return [] }
        return [Span("here: \(self.present.map { VisibleText.name($0) }.joined(separator: ", "))", .hint)]
    }

    /// What Tab goes through; the word that is on the line comes first, so that it is seen in any window.
    private static func choice(_ words: [String], _ index: Int) -> [Span] {
        let rest = words[(index + 1)...] + words[..<index]
        return [Span(VisibleText.of(words[index]), .own)] + rest.map { Span("  " + VisibleText.of($0), .hint) }
    }
}
