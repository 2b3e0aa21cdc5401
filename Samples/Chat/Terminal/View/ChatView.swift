import LinkspanTerminal

/// All that an interactive session knows: keys and events go in, requests and frames come out.
struct ChatView: Sendable {
    /// What a key asks the session for.
    enum Request: Hashable, Sendable {
        case input(ChatInput)
        case typing
        /// Leave, as soon as everything is confirmed.
        case quit
        /// Redraw everything.
        case redraw
        /// Stop the process, until its shell lets it go on.
        case suspend
        /// Take the mouse, or give it back.
        case mouse(Bool)
    }

    private(set) var name: String
    private(set) var room: String?
    var list = MessageList()
    private(set) var status: StatusLine
    var editor = LineEditor()
    var search: MessageSearch?
    /// When the others were last notified that the user types.
    var lastTyping: ContinuousClock.Instant?
    private let times: TimeStamps
    private(set) var marks = TypingMarks()
    /// Who is here, by room.
    private var people: [String: [String]] = [:]
    private var topics: [String: String] = [:]
    /// Those who spoke, the latest first.
    private var speakers: [String] = []
    /// The rooms that were entered, the latest first.
    private var rooms: [String]
    private(set) var isLeaving = false
    /// Whether somebody has called us since this was asked last.
    private var isCalled = false

    init(name: String, room: String, times: TimeStamps = .none) {
        self.name = name
        self.room = room
        self.rooms = [room]
        self.times = times
        self.status = StatusLine(room: room)
        self.list.room = room
        self.list.name = name
    }

    /// Takes an event.
    mutating func hear(_ event: ChatFloorEvent, now: ContinuousClock.Instant) {
        switch event {
        case .line(let line): self.hear(line, now: now)
        case .joined(let name, let room): self.move(name, in: room, isHere: true, now: now)
        case .left(let name, let room): self.move(name, in: room, isHere: false, now: now)
        case .typing(let name, let room):
            if room == self.room, name != self.name { self.marks.add(name, now: now) }
        case .room(let room): self.enter(room)
        case .present(let names, _):
            self.tell(.answer("here: \(names.map { VisibleText.name($0) }.joined(separator: ", "))"), now: now)
        case .refused(let sentence): self.tell(.failure(sentence), now: now)
        case .out(let room, let why):
            self.rooms.removeAll { $0 == room }
            self.tell(.failure("cannot join \(VisibleText.name(room)): \(why)"), now: now)
        case .topic(let topic, let room, let name): self.learn(topic, of: room, by: name, now: now)
        case .members(let names, let room): self.people[room] = names.sorted()
        case .connection(let status, let sentence):
            self.status.connection = status
            if let sentence { self.tell(.news(sentence), now: now) }
        case .notice(let sentence): self.tell(.news(sentence), now: now)
        case .waiting(let count): self.status.waiting = count
        case .roundTrip(let duration): self.status.roundTrip = duration
        }
    }

    /// Shows what a request has led to, or a line from elsewhere.
    mutating func tell(_ content: MessageList.Content, now: ContinuousClock.Instant) {
        self.list.add(content, time: self.times.stamp(now))
    }

    /// Another room is the current one.
    private mutating func enter(_ room: String?) {
        self.room = room
        self.status.room = room
        self.status.topic = room.flatMap { self.topics[$0] }
        self.list.room = room
        self.marks.removeAll()
        if let room { self.rooms = [room] + self.rooms.filter { $0 != room } }
    }

    /// We have another name.
    mutating func rename(to name: String) {
        self.people = self.people.mapValues { $0.map { $0 == self.name ? name : $0 }.sorted() }
        self.name = name
        self.list.name = name
    }

    /// The view is at the end of the conversation again.
    mutating func follow() { self.list.follow() }

    /// The session ends as soon as the waiting lines are confirmed.
    mutating func leave() { self.isLeaving = true }

    /// Whether somebody has called us by name or spoken to us alone since the last call of this.
    mutating func takeCall() -> Bool {
        defer { self.isCalled = false }
        return self.isCalled
    }

    /// What Tab may complete.
    var words: ChatWords {
        let present = Set(self.people.values.joined()).union(self.speakers)
        let known = self.speakers + present.subtracting(self.speakers).sorted()
        return ChatWords(
            people: known.filter { $0 != self.name }, rooms: self.rooms,
            transports: ["memory", "socketio", "websocket"])
    }

    /// The sentence for `/topic`.
    var topicSentence: String {
        guard let room = self.room else { return "you are not in a room" }
        return self.topics[room].map { "topic of \(VisibleText.name(room)): \(VisibleText.of($0))" }
            ?? "\(VisibleText.name(room)) has no topic; /topic TEXT sets one"
    }

    /// The people in the current room.
    var present: [String] { self.room.flatMap { self.people[$0] } ?? [] }

    private mutating func hear(_ line: ChatFloorLine, now: ContinuousClock.Instant) {
        self.marks.remove(line.from)
        if !line.isOwn {
            self.speakers = [line.from] + self.speakers.filter { $0 != line.from }.prefix(199)
            if line.recipient != nil || Highlight.mentions(self.name, in: line.text) { self.isCalled = true }
        }
        self.tell(.line(line), now: now)
    }

    private mutating func learn(
        _ topic: String, of room: String, by name: String?, now: ContinuousClock.Instant
    ) {
        guard topic != self.topics[room] ?? "" else { return }
        self.topics[room] = topic.isEmpty ? nil : topic
        if room == self.room { self.status.topic = self.topics[room] }
        let place = room == self.room ? "the topic" : "the topic of \(VisibleText.name(room))"
        let actor = name.map { VisibleText.name($0) }
        let sentence =
            switch (actor, topic.isEmpty) {
            case (let actor?, false): "\(actor) set \(place): \(VisibleText.of(topic))"
            case (let actor?, true): "\(actor) removed \(place)"
            case (nil, false): "\(place): \(VisibleText.of(topic))"
            case (nil, true): "\(place) is gone"
            }
        self.tell(.news(sentence), now: now)
    }

    private mutating func move(_ name: String, in room: String, isHere: Bool, now: ContinuousClock.Instant) {
        let place = room == self.room ? "" : " \(VisibleText.name(room))"
        self.tell(.news("\(VisibleText.name(name)) \(isHere ? "joined" : "left")\(place)"), now: now)
        if room == self.room { self.marks.remove(name) }
        // The first list has those who were there before.
        guard let others = self.people[room]?.filter({ $0 != name }) else { return }
        self.people[room] = isHere ? (others + [name]).sorted() : others
    }
}

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
        case .none: return []
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
