import Linkspan

/// The line that is being typed: keys go in, text comes out.
///
/// The cursor stands between grapheme clusters. What is pasted may have line breaks, which never submit the line.
public struct LineEditor: Sendable {
    /// What a key has done.
    public enum Effect: Hashable, Sendable {
        /// The text is the same, but for what a search shows: the key moves the cursor, or is not for editing.
        case none
        /// The text has changed.
        case edited
        /// Enter was pressed: the line, which is empty again.
        case submitted(String)
    }

    /// As much as a line may hold, in scalars.
    private static let limit = 8_192

    private var characters: [Character] = []
    private var cursor = 0
    private var killed = ""
    private var history = InputHistory()
    /// The search under way; the line shows its match.
    public private(set) var search: HistorySearch?
    private var completion: Completion?

    /// An empty line, without any history.
    public init() {}

    /// All of the line.
    public var text: String { String(self.characters) }

    /// All that Tab goes through, when there is a choice, and which of them is on the line.
    public var candidates: (words: [String], index: Int)? {
        self.completion.flatMap { $0.candidates.count > 1 ? ($0.candidates, $0.index) : nil }
    }

    /// Takes a key.
    public mutating func press(_ key: Key) -> Effect {
        self.completion = nil
        return self.search == nil ? self.pressEditing(key) : self.pressSearching(key)
    }

    /// Completes the word before the cursor, or puts the next word in its place that fits, or with `step` -1 the one
    /// before.
    public mutating func complete(_ words: some CompletionWords, step: Int) -> Effect {
        if self.completion == nil {
            self.completion = Completion(before: String(self.characters[..<self.cursor]), words)
        } else {
            self.completion?.advance(by: step)
        }
        guard let completion = self.completion, self.cursor >= completion.length else { return .none }
        self.replace(self.cursor - completion.length..<self.cursor, with: completion.replacement)
        self.completion?.wasApplied()
        return .edited
    }

    private mutating func pressSearching(_ key: Key) -> Effect {
        guard var search = self.search else { return .none }
        switch key {
        case .text(let scalar): search.add(String(scalar), in: self.history)
        case .paste(let text): search.add(Self.cleaned(text), in: self.history)
        case .backspace: search.removeLast(in: self.history)
        case .control("r"): search.older(in: self.history)
        case .control("g"), .control("c"):
            self.search = nil
            self.set(search.draft)
            return .none
        case .escape, .tab:
            self.search = nil
            return .none
        default:
            // Whatever else is pressed is meant for the line that was found.
            self.search = nil
            return self.pressEditing(key)
        }
        self.search = search
        self.set(search.found.map { self.history[$0] } ?? search.draft)
        return .none
    }

    private mutating func pressEditing(_ key: Key) -> Effect {
        switch key {
        case .text(let scalar): self.insert(String(scalar))
        case .paste(let text): self.insert(Self.cleaned(text))
        case .enter: self.submit()
        case .left, .control("b"): self.move(to: self.cursor - 1)
        case .right, .control("f"): self.move(to: self.cursor + 1)
        case .wordLeft, .alt("b"): self.move(to: self.start(of: Self.isWord))
        case .wordRight, .alt("f"): self.move(to: self.wordEnd)
        case .home, .control("a"): self.move(to: 0)
        case .end, .control("e"): self.move(to: self.characters.count)
        case .up, .control("p"): self.show(self.history.move(by: -1, from: self.text))
        case .down, .control("n"): self.show(self.history.move(by: 1, from: self.text))
        case .control("r"): self.beginSearch()
        case .backspace: self.delete(from: self.cursor - 1, to: self.cursor)
        case .delete, .control("d"): self.delete(from: self.cursor, to: self.cursor + 1)
        case .control("u"): self.kill(from: 0, to: self.cursor)
        case .control("k"): self.kill(from: self.cursor, to: self.characters.count)
        case .control("w"): self.kill(from: self.start(of: { !$0.isWhitespace }), to: self.cursor)
        case .alt("d"): self.kill(from: self.cursor, to: self.wordEnd)
        case .control("y"): self.insert(self.killed)
        default: .none
        }
    }

    /// As much of the line as there is room for around the cursor.
    ///
    /// - Parameter width: the columns of the room; one of them is for the cursor.
    /// - Returns: the text, and the column of the cursor in it.
    public func visible(in width: Int) -> (text: String, cursor: Int) {
        let width = max(1, width)
        let cells = self.characters.map { $0 == "\n" ? "⏎" : $0 }
        let columns = cells.map { DisplayWidth.columns(of: $0) }
        let before = columns[..<self.cursor].reduce(0, +)
        // The view moves by half its width, so that there is something to see on both sides of the cursor.
        let half = max(1, width / 2)
        let hidden = before < width ? 0 : (before / half - 1) * half
        var (start, skipped) = (0, 0)
        while start < self.cursor, skipped < hidden || before - skipped >= width {
            skipped += columns[start]
            start += 1
        }
        return (String(String(cells[start...]).prefix(columns: width)), before - skipped)
    }

    private mutating func beginSearch() -> Effect {
        self.search = HistorySearch(draft: self.text)
        return .none
    }

    private mutating func submit() -> Effect {
        let text = self.text
        self.history.add(text)
        self.set("")
        return .submitted(text)
    }

    private mutating func show(_ text: String?) -> Effect {
        guard let text else { return .none }
        self.set(text)
        return .edited
    }

    private mutating func set(_ text: String) {
        self.characters = Array(text)
        self.cursor = self.characters.count
    }

    private mutating func insert(_ text: String) -> Effect {
        let room = Self.limit - self.text.unicodeScalars.count
        let fitting = String(String.UnicodeScalarView(text.unicodeScalars.prefix(max(0, room))))
        guard !fitting.isEmpty else { return .none }
        self.replace(self.cursor..<self.cursor, with: fitting)
        return .edited
    }

    private mutating func delete(from start: Int, to end: Int) -> Effect {
        guard start >= 0, end <= self.characters.count, start < end else { return .none }
        self.replace(start..<end, with: "")
        return .edited
    }

    private mutating func kill(from start: Int, to end: Int) -> Effect {
        guard start < end else { return .none }
        self.killed = String(self.characters[start..<end])
        return self.delete(from: start, to: end)
    }

    private mutating func move(to place: Int) -> Effect {
        self.cursor = min(max(0, place), self.characters.count)
        return .none
    }

    /// Replaces a part and puts the cursor after it.
    ///
    /// New neighbours may join to one cluster: an accent with its letter. It counts as one that is before the cursor.
    private mutating func replace(_ range: Range<Int>, with text: String) {
        let head = String(self.characters[..<range.lowerBound]) + text
        self.characters = Array(head + String(self.characters[range.upperBound...]))
        self.cursor = min(head.count, self.characters.count)
    }

    /// Where the last word before the cursor begins; `isWord` says which characters are part of a word.
    private func start(of isWord: (Character) -> Bool) -> Int {
        guard let last = self.characters[..<self.cursor].lastIndex(where: isWord) else { return 0 }
        return self.characters[..<last].lastIndex { !isWord($0) }.map { $0 + 1 } ?? 0
    }

    /// Where the next word behind the cursor ends.
    private var wordEnd: Int {
        guard let first = self.characters[self.cursor...].firstIndex(where: Self.isWord) else {
            return self.characters.count
        }
        return self.characters[first...].firstIndex { !Self.isWord($0) } ?? self.characters.count
    }

    private static func isWord(_ character: Character) -> Bool { character.isLetter || character.isNumber }

    private static func cleaned(_ text: String) -> String {
        text.split(separator: "\n", omittingEmptySubsequences: false).map { ForeignText.shown(String($0)) }
            .joined(separator: "\n")
    }
}
