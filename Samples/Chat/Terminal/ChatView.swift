/// All that an interactive session knows: keys and events go in, requests and frames come out.
struct ChatView: Sendable {
    /// What a key asks the session for.
    enum Request: Hashable, Sendable {
        case input(ChatInput)
        case typing
        /// Leave, as soon as everything is confirmed.
        case quit
        /// Draw everything anew.
        case redraw
    }

    /// The others are told every so often that somebody types.
    private static let typingInterval = Duration.seconds(3)
    /// The rows below the conversation, if there is room.
    private static let panelHeight = 3

    private(set) var name: String
    private(set) var room: String?
    private(set) var list = MessageList()
    private(set) var status: StatusLine
    private var editor = LineEditor()
    private var marks = TypingMarks()
    /// Who is here, by room.
    private var people: [String: [String]] = [:]
    private var lastTyping: ContinuousClock.Instant?
    private var isLeaving = false

    init(name: String, room: String) {
        self.name = name
        self.room = room
        self.status = StatusLine(room: room)
        self.list.room = room
    }

    // MARK: What comes in

    /// Takes a key.
    mutating func press(_ key: Key, size: TerminalSize, now: ContinuousClock.Instant) -> [Request] {
        let height = Self.listHeight(size)
        switch key {
        case .control("c"): return [.quit]
        case .control("d") where self.editor.text.isEmpty: return [.quit]
        case .control("l"): return [.redraw]
        case .pageUp: self.list.scroll(back: max(1, height - 1), height: height, width: size.columns)
        case .pageDown: self.list.scroll(back: -max(1, height - 1), height: height, width: size.columns)
        case .escape: self.list.follow()
        default: return self.edit(key, now: now)
        }
        return []
    }

    /// Takes an event.
    mutating func hear(_ event: ChatFloorEvent, now: ContinuousClock.Instant) {
        switch event {
        case .line(let line):
            self.marks.remove(line.from)
            self.list.add(.line(line))
        case .joined(let name, let room): self.move(name, in: room, isHere: true)
        case .left(let name, let room): self.move(name, in: room, isHere: false)
        case .typing(let name, let room):
            if room == self.room, name != self.name { self.marks.add(name, now: now) }
        case .missed(let count):
            self.list.add(.news("\(count.map(String.init) ?? "an unknown number of") lines were missed"))
        case .members(let names, let room): self.people[room] = names.sorted()
        case .connection(let status, let sentence):
            self.status.connection = status
            if let sentence { self.list.add(.news(sentence)) }
        case .late(let sentence): self.list.add(.news(sentence))
        case .waiting(let count): self.status.waiting = count
        case .roundTrip(let duration): self.status.roundTrip = duration
        }
    }

    /// Shows what a request has led to, or a line from elsewhere.
    mutating func tell(_ content: MessageList.Content) { self.list.add(content) }

    /// Another room is the current one.
    mutating func enter(_ room: String?) {
        self.room = room
        self.status.room = room
        self.list.room = room
        self.marks.removeAll()
    }

    /// We have another name.
    mutating func rename(to name: String) {
        self.people = self.people.mapValues { $0.map { $0 == self.name ? name : $0 }.sorted() }
        self.name = name
    }

    /// The view is at the end of the conversation again.
    mutating func follow() { self.list.follow() }

    /// The session ends as soon as what is waiting is confirmed.
    mutating func leave() { self.isLeaving = true }

    // MARK: What is to be seen

    /// What the terminal has to show.
    func frame(_ size: TerminalSize, now: ContinuousClock.Instant) -> Frame {
        let height = Self.listHeight(size)
        let prompt = size.columns < 8 ? "" : "> "
        let input = self.editor.visible(in: size.columns - prompt.count - (size.columns > 1 ? 1 : 0))
        var panel: [[Span]] = [[Span(prompt, .prompt), Span(input.text)]]
        if size.rows > 1 { panel.insert(self.status.spans(width: size.columns, now: now), at: 0) }
        if size.rows - height > 2 { panel.insert(self.hint(now: now).fitted(to: size.columns), at: 0) }
        return Frame(
            size: size, listHeight: height, list: self.list.rows(height, width: size.columns),
            isFollowing: self.list.isFollowing, panel: panel,
            cursor: (size.rows - 1, min(prompt.count + input.cursor, size.columns - 1)))
    }

    /// When something will look different, if nothing happens until then.
    func nextChange(after now: ContinuousClock.Instant) -> ContinuousClock.Instant? {
        [self.status.nextChange(after: now), self.marks.nextChange(after: now)].compactMap(\.self).min()
    }

    // MARK: -

    private static func listHeight(_ size: TerminalSize) -> Int {
        size.rows > Self.panelHeight ? size.rows - Self.panelHeight : max(0, size.rows - 2)
    }

    private mutating func edit(_ key: Key, now: ContinuousClock.Instant) -> [Request] {
        switch self.editor.press(key) {
        case .none, .moved: return []
        case .submitted(let text):
            self.list.follow()
            self.lastTyping = nil
            return ChatInput.read(text).map { .input($0) }
        case .edited:
            let text = self.editor.text
            let isDue = self.lastTyping.map { $0 + Self.typingInterval <= now } ?? true
            guard isDue, self.room != nil, !text.isEmpty, !text.hasPrefix("/") else { return [] }
            self.lastTyping = now
            return [.typing]
        }
    }

    private mutating func move(_ name: String, in room: String, isHere: Bool) {
        let place = room == self.room ? "" : " \(VisibleText.name(room))"
        self.list.add(.news("\(VisibleText.name(name)) \(isHere ? "joined" : "left")\(place)"))
        if room == self.room { self.marks.remove(name) }
        // Who came before is told by the first list.
        guard let others = self.people[room]?.filter({ $0 != name }) else { return }
        self.people[room] = isHere ? (others + [name]).sorted() : others
    }

    private func hint(now: ContinuousClock.Instant) -> [Span] {
        if self.isLeaving { return [Span("leaving once all is confirmed; Ctrl-C leaves at once", .warning)] }
        if !self.list.isFollowing {
            let below = self.list.below
            return [Span(below > 0 ? "↓ \(below) below, Page Down" : "↓ Page Down", .warning)]
        }
        if let sentence = self.marks.sentence(now: now) { return [Span(sentence, .hint)] }
        guard let room = self.room, let people = self.people[room], !people.isEmpty else { return [] }
        return [Span("here: \(people.map { VisibleText.name($0) }.joined(separator: ", "))", .hint)]
    }
}
