/// What keys do.
extension ChatView {
    /// Tells the others at intervals that the user types.
    private static let typingInterval = Duration.seconds(3)
    /// The rows that one step of the wheel moves.
    private static let wheelStep = 3

    /// Takes a key.
    mutating func press(_ key: Key, size: TerminalSize, now: ContinuousClock.Instant) -> [Request] {
        if self.editor.search != nil { return self.edit(key, size: size, now: now) }
        let height = Self.listHeight(size)
        switch key {
        case .control("c"): return [.quit]
        case .control("d") where self.editor.text.isEmpty: return [.quit]
        case .control("l"): return [.redraw]
        case .control("z"): return [.suspend]
        case .pageUp: self.list.scroll(back: max(1, height - 1), height: height, width: size.columns)
        case .pageDown: self.list.scroll(back: -max(1, height - 1), height: height, width: size.columns)
        case .wheelUp: self.list.scroll(back: Self.wheelStep, height: height, width: size.columns)
        case .wheelDown: self.list.scroll(back: -Self.wheelStep, height: height, width: size.columns)
        case .escape: self.goToEnd()
        case .up where self.isStepping: self.find(step: 1, size: size)
        case .down where self.isStepping: self.find(step: -1, size: size)
        case .tab: return self.note(self.editor.complete(self.words, step: 1), size: size, now: now)
        case .backTab: return self.note(self.editor.complete(self.words, step: -1), size: size, now: now)
        default: return self.edit(key, size: size, now: now)
        }
        return []
    }

    /// Whether Up and Down go from match to match.
    private var isStepping: Bool { self.search != nil && self.editor.text.isEmpty }

    private mutating func goToEnd() {
        self.search = nil
        self.list.query = nil
        self.list.follow()
    }

    private mutating func edit(_ key: Key, size: TerminalSize, now: ContinuousClock.Instant) -> [Request] {
        self.note(self.editor.press(key), size: size, now: now)
    }

    private mutating func note(
        _ effect: LineEditor.Effect, size: TerminalSize, now: ContinuousClock.Instant
    ) -> [Request] {
        switch effect {
        case .none, .moved: return []
        case .submitted(let text):
            self.lastTyping = nil
            return self.submit(ChatInput.read(text), size: size, now: now)
        case .edited:
            let text = self.editor.text
            let isDue = self.lastTyping.map { $0 + Self.typingInterval <= now } ?? true
            guard isDue, self.room != nil, !text.isEmpty, !text.hasPrefix("/") else { return [] }
            self.lastTyping = now
            return [.typing]
        }
    }

    private mutating func submit(
        _ inputs: [ChatInput], size: TerminalSize, now: ContinuousClock.Instant
    ) -> [Request] {
        if case .search(let query)? = inputs.first {
            self.find(query, size: size, now: now)
            return []
        }
        self.goToEnd()
        if !inputs.isEmpty { self.list.markRead() }
        return inputs.map { input in
            if case .mouse(let isOn) = input { .mouse(isOn) } else { .input(input) }
        }
    }

    private mutating func find(_ query: String?, size: TerminalSize, now: ContinuousClock.Instant) {
        guard let query else {
            guard self.search != nil else { return self.tell(.failure("/search needs a text"), now: now) }
            return self.find(step: 1, size: size)
        }
        guard let search = MessageSearch(query, in: self.list) else {
            self.goToEnd()
            return self.tell(.failure("nobody has said '\(query)' here"), now: now)
        }
        self.search = search
        self.list.query = query
        self.list.show(search.entry, height: Self.listHeight(size), width: size.columns)
    }

    private mutating func find(step: Int, size: TerminalSize) {
        self.search?.advance(by: step, in: self.list)
        guard let entry = self.search?.entry else { return }
        self.list.show(entry, height: Self.listHeight(size), width: size.columns)
    }
}
