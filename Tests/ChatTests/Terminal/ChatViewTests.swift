@testable internal import chat
internal import LinkspanTerminal
internal import Testing

@Suite
struct ChatViewTests {
    static let now = ContinuousClock.now

    /// A line of somebody else.
    static func line(_ number: Int, _ text: String, from name: String = "bob", room: String = "lobby") -> ChatFloorEvent
    {
        .line(
            ChatFloorLine(
                id: "\(name)-\(number)", room: room, from: name, text: text, isOwn: false, state: .confirmed))
    }

    /// A line of our own.
    static func own(_ number: Int, _ text: String, _ state: ChatFloorLine.State) -> ChatFloorEvent {
        .line(ChatFloorLine(id: "ann-\(number)", room: "lobby", from: "ann", text: text, isOwn: true, state: state))
    }

    /// A conversation with a bit of everything.
    static func conversation() -> ChatView {
        var view = ChatView(name: "ann", room: "lobby")
        let events: [ChatFloorEvent] = [
            .connection(.connected(over: "socketio"), sentence: "connected over socketio"),
            .members(["ann", "bob"], room: "lobby"), .roundTrip(.microseconds(12_400)), Self.line(1, "morning ann"),
            Self.own(1, "hi bob, is this thing on?", .confirmed), .joined("eve", room: "lobby"),
            Self.line(2, "世界 looks fine from here 👍", from: "eve"), Self.own(2, "good", .pending), .waiting(1),
        ]
        for event in events { view.hear(event, now: Self.now) }
        for scalar in "let us see".unicodeScalars {
            _ = view.press(.text(scalar), size: Self.size(60, 12), now: Self.now)
        }
        return view
    }

    static func size(_ columns: Int, _ rows: Int) -> TerminalSize { TerminalSize(columns: columns, rows: rows) }

    /// A frame as text, without the blanks at the ends of rows.
    static func picture(_ view: ChatView, _ columns: Int, _ rows: Int) -> String {
        view.frame(Self.size(columns, rows), now: Self.now).rows.map { row in
            var text = row.text
            while text.last == " " { text.removeLast() }
            return text
        }.joined(separator: "\n")
    }

    @Test
    func `a window of a usual size shows everything`() {
        #expect(
            Self.picture(Self.conversation(), 60, 12) == """
                * connected over socketio
                bob: morning ann
                ann: hi bob, is this thing on?
                * eve joined
                eve: 世界 looks fine from here 👍
                ann: good …



                here: ann, bob, eve
                ── lobby · connected over socketio · 1 message waiting ─────
                > let us see
                """)
    }

    @Test
    func `a wide status line has room for the round trip`() {
        #expect(
            Self.picture(Self.conversation(), 76, 4) == """
                ann: good …
                here: ann, bob, eve
                ── lobby · connected over socketio · 12 ms · 1 message waiting ─────────────
                > let us see
                """)
    }

    @Test
    func `in narrow windows lines are wrapped, and what matters least is left out`() {
        #expect(
            Self.picture(Self.conversation(), 30, 11) == """
                * connected over socketio
                bob: morning ann
                ann: hi bob, is this thing on?
                * eve joined
                eve: 世界 looks fine from here
                  👍
                ann: good …

                here: ann, bob, eve
                ── connected over socketio ───
                > let us see
                """)
        #expect(
            Self.picture(Self.conversation(), 12, 5) == """
                  👍
                ann: good …
                here: ann, …
                ── connecte…
                > us see
                """)
    }

    @Test
    func `in low windows the input stays to the last`() {
        let rows = ["ann: good …", "── connected over socketio ─────────────", "> let us see"]
        for count in 1...3 {
            #expect(Self.picture(Self.conversation(), 40, count) == rows.suffix(count).joined(separator: "\n"))
        }
        #expect(Self.picture(Self.conversation(), 1, 1) == "")
    }

    @Test(arguments: 1...14)
    func `no window is too small`(columns: Int) {
        var view = Self.conversation()
        for rows in 1...9 {
            let size = Self.size(columns, rows)
            for key in [Key.pageUp, .left, .pageUp, .pageDown, .home, .pageDown, .pageDown, .end] {
                _ = view.press(key, size: size, now: Self.now)
                let frame = view.frame(size, now: Self.now)
                #expect(frame.rows.count == rows)
                #expect(frame.rows.allSatisfy { $0.columns <= columns })
                #expect((0..<rows).contains(frame.cursor.row) && (0..<columns).contains(frame.cursor.column))
            }
        }
    }

    @Test
    func `input becomes lines and commands`() {
        var view = Self.conversation()
        let size = Self.size(60, 12)
        #expect(view.press(.enter, size: size, now: Self.now) == [.input(.say("let us see"))])
        #expect(view.press(.enter, size: size, now: Self.now) == [])
        _ = view.press(.paste("/quit\n\nnot a command"), size: size, now: Self.now)
        #expect(
            view.press(.enter, size: size, now: Self.now) == [.input(.say("/quit")), .input(.say("not a command"))])
        #expect(view.press(.control("c"), size: size, now: Self.now) == [.quit])
        #expect(view.press(.control("d"), size: size, now: Self.now) == [.quit])
        #expect(view.press(.control("l"), size: size, now: Self.now) == [.redraw])
        _ = view.press(.text("x"), size: size, now: Self.now)
        #expect(view.press(.control("d"), size: size, now: Self.now) == [])
    }

    @Test
    func `typing is signalled every few seconds, but not for commands`() {
        var view = ChatView(name: "ann", room: "lobby")
        let size = Self.size(60, 12)
        #expect(view.press(.text("a"), size: size, now: Self.now) == [.typing])
        #expect(view.press(.text("b"), size: size, now: Self.now + .seconds(2)) == [])
        #expect(view.press(.text("c"), size: size, now: Self.now + .seconds(3)) == [.typing])
        #expect(view.press(.left, size: size, now: Self.now + .seconds(9)) == [])
        #expect(view.press(.control("k"), size: size, now: Self.now + .seconds(9)) == [.typing])
        _ = view.press(.enter, size: size, now: Self.now + .seconds(9))
        #expect(view.press(.text("/"), size: size, now: Self.now + .seconds(20)) == [])
        #expect(view.press(.text("w"), size: size, now: Self.now + .seconds(20)) == [])
    }

    @Test
    func `marks of those who type go with their line, or after a while`() {
        var view = ChatView(name: "ann", room: "lobby")
        let hint = { (view: ChatView, seconds: Int) in
            view.frame(Self.size(60, 12), now: Self.now + .seconds(seconds)).panel[0].text
        }
        for name in ["bob", "ann"] { view.hear(.typing(name, room: "lobby"), now: Self.now) }
        view.hear(.typing("dan", room: "attic"), now: Self.now)
        #expect(hint(view, 0) == "bob is typing …")
        view.hear(.typing("eve", room: "lobby"), now: Self.now + .seconds(2))
        #expect(hint(view, 2) == "bob and eve are typing …")
        #expect(view.nextChange(after: Self.now + .seconds(2)) == Self.now + .seconds(5))
        #expect(hint(view, 5) == "eve is typing …")
        view.hear(Self.line(1, "hello", from: "eve"), now: Self.now + .seconds(5))
        #expect(hint(view, 5) == "")
        for name in ["bob", "eve", "dan"] { view.hear(.typing(name, room: "lobby"), now: Self.now + .seconds(6)) }
        #expect(hint(view, 6) == "3 people are typing …")
        view.hear(.left("bob", room: "lobby"), now: Self.now + .seconds(6))
        #expect(hint(view, 6) == "dan and eve are typing …")
        #expect(view.nextChange(after: Self.now + .seconds(60)) == nil)
    }

    @Test
    func `a line of ours changes in its place when it is confirmed or rejected`() {
        var view = ChatView(name: "ann", room: "lobby")
        view.hear(Self.own(1, "one", .pending), now: Self.now)
        view.hear(Self.own(2, "two", .pending), now: Self.now)
        view.hear(Self.line(1, "three"), now: Self.now)
        view.hear(Self.own(1, "one", .confirmed), now: Self.now)
        view.hear(Self.own(2, "two", .rejected(why: "the room is full")), now: Self.now)
        #expect(
            view.frame(Self.size(60, 6), now: Self.now).list.map(\.spans.text) == [
                "ann: one", "ann: two (not delivered: the room is full)", "bob: three",
            ])
    }

    @Test
    func `lines of other rooms have the room's name with them`() {
        var view = ChatView(name: "ann", room: "lobby")
        view.hear(Self.line(1, "one"), now: Self.now)
        view.hear(Self.line(2, "two", room: "attic"), now: Self.now)
        view.hear(.joined("eve", room: "attic"), now: Self.now)
        view.hear(.room("attic"), now: Self.now)
        #expect(
            Self.picture(view, 60, 6) == """
                [lobby] bob: one
                bob: two
                * eve joined attic

                ── attic · connecting ──────────────────────────────────────
                >
                """)
    }

    @Test
    func `the members of each room are known, in any order of events`() {
        var view = ChatView(name: "ann", room: "lobby")
        let hint = { (view: ChatView) in view.frame(Self.size(60, 12), now: Self.now).panel[0].text }
        view.hear(.members(["bob", "ann"], room: "lobby"), now: Self.now)
        view.hear(.members(["ann", "eve"], room: "attic"), now: Self.now)
        #expect(hint(view) == "here: ann, bob")
        view.hear(.room("attic"), now: Self.now)
        #expect(hint(view) == "here: ann, eve")
        view.hear(.left("eve", room: "attic"), now: Self.now)
        view.hear(.joined("dan", room: "attic"), now: Self.now)
        view.hear(.joined("dan", room: "attic"), now: Self.now)
        view.hear(.left("bob", room: "lobby"), now: Self.now)
        view.rename(to: "zoe")
        #expect(hint(view) == "here: dan, zoe")
        view.hear(.room("lobby"), now: Self.now)
        #expect(hint(view) == "here: zoe")
        view.hear(.room(nil), now: Self.now)
        #expect(hint(view) == "")
    }

    @Test
    func `a scrolled view stays where it is while lines come in, and follows again at its end`() {
        var view = ChatView(name: "ann", room: "lobby")
        let size = Self.size(40, 8)
        let list = { (view: ChatView) in view.frame(size, now: Self.now).list.map(\.spans.text) }
        let lines = (1...20).map { "bob: line \($0)" }
        for number in 1...20 { view.hear(Self.line(number, "line \(number)"), now: Self.now) }
        #expect(list(view) == Array(lines[15...]))
        _ = view.press(.pageUp, size: size, now: Self.now)
        #expect(list(view) == Array(lines[11..<16]))
        view.hear(Self.line(21, "line 21"), now: Self.now)
        #expect(list(view) == Array(lines[11..<16]))
        #expect(view.frame(size, now: Self.now).panel[0].text == "↓ 5 below, Page Down")
        for _ in 0..<10 { _ = view.press(.pageUp, size: size, now: Self.now) }
        #expect(list(view) == Array(lines[0..<5]))
        _ = view.press(.pageDown, size: size, now: Self.now)
        #expect(list(view) == Array(lines[4..<9]))
        for _ in 0..<10 { _ = view.press(.pageDown, size: size, now: Self.now) }
        let mark = "── new " + String(repeating: "─", count: 33)
        #expect(list(view) == Array(lines[17...]) + [mark, "bob: line 21"])
        #expect(view.frame(size, now: Self.now).isFollowing)
        _ = view.press(.pageUp, size: size, now: Self.now)
        _ = view.press(.escape, size: size, now: Self.now)
        #expect(view.frame(size, now: Self.now).isFollowing)
        _ = view.press(.pageUp, size: size, now: Self.now)
        _ = view.press(.enter, size: size, now: Self.now)
        #expect(view.frame(size, now: Self.now).isFollowing)
    }

    @Test
    func `a list that fits does not scroll`() {
        var view = Self.conversation()
        _ = view.press(.pageUp, size: Self.size(60, 12), now: Self.now)
        #expect(view.frame(Self.size(60, 12), now: Self.now).isFollowing)
        _ = view.press(.pageDown, size: Self.size(60, 12), now: Self.now)
        #expect(view.frame(Self.size(60, 12), now: Self.now).isFollowing)
    }

    @Test
    func `the oldest lines are forgotten, and a view of them moves on`() {
        var view = ChatView(name: "ann", room: "lobby")
        let size = Self.size(40, 8)
        for number in 1...100 { view.hear(Self.line(number, "line \(number)"), now: Self.now) }
        for _ in 0..<100 { _ = view.press(.pageUp, size: size, now: Self.now) }
        for number in 101...12_000 { view.hear(Self.line(number, "line \(number)"), now: Self.now) }
        #expect(!view.frame(size, now: Self.now).isFollowing)
        #expect(!view.frame(size, now: Self.now).list.isEmpty)
        _ = view.press(.escape, size: size, now: Self.now)
        #expect(view.frame(size, now: Self.now).list.last?.spans.text == "bob: line 12000")
    }

    @Test
    func `text of others has no terminal control characters left`() {
        var view = ChatView(name: "ann", room: "lobby")
        let evil = "\u{1B}[2J\u{7}\u{9B}31m\r\n\u{202E}"
        let events: [ChatFloorEvent] = [
            Self.line(1, evil, from: evil), .joined(evil, room: "lobby"), .typing(evil, room: "lobby"),
            Self.line(2, "x", room: evil), .connection(.connected(over: evil), sentence: evil),
            .members([evil], room: "lobby"),
            Self.own(1, "x", .rejected(why: evil)),
        ]
        for event in events {
            view.hear(event, now: Self.now)
            for row in view.frame(Self.size(60, 12), now: Self.now).rows {
                #expect(Self.controls(in: row.text).isEmpty)
            }
        }
        view.hear(.room(evil), now: Self.now)
        view.tell(.answer(evil), now: Self.now)
        view.tell(.failure(evil), now: Self.now)
        #expect(Self.controls(in: Self.picture(view, 60, 12)).allSatisfy { $0 == "\n" })
    }

    private static func controls(in text: String) -> [Unicode.Scalar] {
        text.unicodeScalars.filter { $0.value == 0x202E || $0.properties.generalCategory == .control }
    }
}

@Suite
struct StatusLineTests {
    private let now = ContinuousClock.now

    private func text(_ connection: ShownStatus, after time: Duration = .zero) -> String {
        StatusLine(room: nil, connection: connection).spans(width: 40, now: self.now + time).text
            .replacing("─", with: "").replacing("  ", with: "")
    }

    @Test
    func `each state of the connection has its words`() {
        #expect(self.text(.connecting) == " connecting ")
        #expect(self.text(.connected(over: "memory")) == " connected over memory ")
        #expect(self.text(.offline) == " offline ")
        #expect(self.text(.failed("no")) == " failed ")
    }

    @Test
    func `the time until the next attempt is counted down, and each step is known beforehand`() {
        let line = StatusLine(room: nil, connection: .reconnecting(at: self.now + .milliseconds(2_500)))
        #expect(self.text(line.connection) == " reconnecting in 3 s ")
        #expect(line.nextChange(after: self.now) == self.now + .milliseconds(500))
        #expect(self.text(line.connection, after: .milliseconds(500)) == " reconnecting in 2 s ")
        #expect(line.nextChange(after: self.now + .milliseconds(500)) == self.now + .milliseconds(1_500))
        #expect(self.text(line.connection, after: .milliseconds(2_499)) == " reconnecting in 1 s ")
        #expect(self.text(line.connection, after: .milliseconds(2_500)) == " reconnecting ")
        #expect(line.nextChange(after: self.now + .milliseconds(2_500)) == nil)
    }

    @Test(arguments: 1...90)
    func `the line is exactly as wide as the window`(width: Int) {
        var line = StatusLine(room: "lobby 世界", connection: .connected(over: "socketio"))
        line.waiting = 1_234
        line.roundTrip = .milliseconds(3)
        #expect(line.spans(width: width, now: self.now).columns <= width)
        if width > 30 { #expect(line.spans(width: width, now: self.now).columns == width) }
    }

    @Test(arguments: [
        (Duration.microseconds(12_400), "12 ms"), (.microseconds(300), "< 1 ms"), (.zero, "< 1 ms"),
        (.seconds(-1), "< 1 ms"), (.milliseconds(1_234), "1234 ms"), (.seconds(200), "200 s"),
        (.seconds(Int64.max), "1000000000 s"),
    ])
    func `round trips are shown in few digits`(duration: Duration, text: String) {
        var line = StatusLine(room: nil, connection: .connected(over: "memory"))
        line.roundTrip = duration
        #expect(line.spans(width: 80, now: self.now).text.contains("· \(text) ─"))
    }
}

@Suite
struct ChatInputTests {
    @Test(
        arguments: [
            ("hello", [.say("hello")]), ("", []), ("   ", []), (" /who", [.say(" /who")]), ("//who", [.say("/who")]),
            ("/join attic", [.join("attic")]), ("/join  the attic ", [.join("the attic")]), ("/leave", [.leave(nil)]),
            ("/leave attic", [.leave("attic")]), ("/who", [.who]), ("/nick eve", [.nick("eve")]),
            ("/transport websocket", [.transport("websocket", url: nil)]),
            ("/transport websocket ws://h:1", [.transport("websocket", url: "ws://h:1")]),
            ("/transport", [.mistake("/transport needs memory, socketio or websocket")]),
            ("/msg bob hi there ", [.message("bob", text: "hi there")]),
            (#"/msg "old bob" hi"#, [.message("old bob", text: "hi")]),
            ("/msg bob", [.mistake("/msg needs a name and a text")]), ("/topic", [.topic(nil)]),
            ("/topic a b", [.topic("a b")]), ("/topic -", [.topic("")]), ("/search", [.search(nil)]),
            ("/search two words", [.search("two words")]), ("/mouse off", [.mouse(false)]),
            ("/mouse", [.mistake("/mouse needs on or off")]), ("/offline", [.offline]), ("/online", [.online]),
            ("/explain", [.explain]), ("/outbox", [.outbox]), ("/help", [.help]), ("/quit", [.quit]),
            ("one\ntwo\n\n", [.say("one"), .say("two")]), ("/quit\ntwo", [.say("/quit"), .say("two")]),
            ("/join", [.mistake("/join needs a room name")]),
            ("/nick  ", [.mistake("/nick needs a name")]),
            ("/jion x", [.mistake("unknown command /jion (did you mean /join?); /help lists the commands")]),
            ("/trans", [.mistake("unknown command /trans (did you mean /transport?); /help lists the commands")]),
            ("/dance", [.mistake("unknown command /dance; /help lists the commands")]),
            ("/", [.mistake("unknown command /; /help lists the commands")]),
        ] as [(String, [ChatInput])])
    func `lines are said, and commands are known with their arguments`(text: String, inputs: [ChatInput]) {
        #expect(ChatInput.read(text) == inputs)
    }
}
