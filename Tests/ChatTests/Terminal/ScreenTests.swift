internal import LinkspanTerminal
internal import LinkspanTesting
@testable internal import chat
internal import TestedPrograms
internal import Testing

@Suite
struct ScreenTests {
    /// A screen, the terminal it writes to, and the conversation it shows.
    struct Rig {
        var view = ChatView(name: "ann", room: "lobby")
        var screen: Screen
        var terminal: TerminalEmulator
        var size: TerminalSize
        var output = ""
        private var count = 0

        init(_ columns: Int, _ rows: Int, colours: Bool = true) {
            self.screen = Screen(Style(hasColours: colours))
            self.terminal = TerminalEmulator(columns: columns, rows: rows)
            self.size = TerminalSize(columns: columns, rows: rows)
            self.write(self.screen.enter(self.size))
            self.draw()
        }

        mutating func draw() {
            self.write(self.screen.show(self.view.frame(self.size, now: ChatViewTests.now), of: self.view.list))
        }

        mutating func write(_ text: String) {
            self.output = text
            self.terminal.feed(text.utf8)
        }

        /// Somebody says so many lines.
        mutating func hear(_ lines: Int) {
            for _ in 0..<lines {
                self.count += 1
                self.view.hear(ChatViewTests.line(self.count, "line \(self.count)"), now: ChatViewTests.now)
            }
        }

        mutating func hear(_ event: ChatFloorEvent) { self.view.hear(event, now: ChatViewTests.now) }

        mutating func press(_ key: Key) { _ = self.view.press(key, size: self.size, now: ChatViewTests.now) }

        mutating func resize(_ columns: Int, _ rows: Int) {
            self.size = TerminalSize(columns: columns, rows: rows)
            self.terminal.resize(columns: columns, rows: rows)
            self.screen.invalidate()
        }

        /// What should be seen.
        var frame: String {
            self.view.frame(self.size, now: ChatViewTests.now).rows.map { row in
                String(row.text.reversed().drop { $0 == " " }.reversed())
            }.joined(separator: "\n")
        }

        /// The lines of the conversation in the scrollback and on the screen.
        var conversation: [String] {
            (self.terminal.scrollback + self.terminal.lines).filter { $0.hasPrefix("bob: line ") }
        }
    }

    @Test(arguments: 1...30)
    func `the terminal shows the frame, whatever has happened`(seed: Int) {
        var chance = SeededGenerator(seed: UInt64(seed))
        var rig = Rig(5 + Int(chance.next() % 60), 1 + Int(chance.next() % 20), colours: seed % 2 == 0)
        for _ in 0..<60 {
            switch chance.next() % 8 {
            case 0: rig.hear(Int(chance.next() % 40))
            case 1: rig.press(.pageUp)
            case 2: rig.press(.pageDown)
            case 3: rig.resize(1 + Int(chance.next() % 60), 1 + Int(chance.next() % 20))
            case 4: rig.hear(.typing("bob", room: "lobby"))
            case 5: rig.hear(ChatViewTests.own(Int(chance.next() % 5), "世界 — a long line with 👍 in it", .pending))
            case 6: rig.hear(ChatViewTests.own(Int(chance.next() % 5), "世界 — short", .confirmed))
            default: for scalar in "some text 狐".unicodeScalars { rig.press(.text(scalar)) }
            }
            rig.draw()
            #expect(rig.terminal.text == rig.frame)
            let cursor = rig.view.frame(rig.size, now: ChatViewTests.now).cursor
            #expect(rig.terminal.cursor == cursor)
            #expect(rig.terminal.isWhole)
        }
        #expect(rig.terminal.unknown == [])
        #expect(rig.terminal.modes[25] == true)
    }

    @Test(arguments: [1, 3, 7, 100])
    func `every line goes into the scrollback once and in order, however many come at once`(burst: Int) {
        var rig = Rig(40, 9)
        for _ in 0..<8 {
            rig.hear(burst)
            rig.draw()
        }
        #expect(rig.conversation == (1...(8 * burst)).map { "bob: line \($0)" })
    }

    @Test
    func `lines that came while the view was scrolled back are in the scrollback in order, too`() {
        var rig = Rig(40, 9)
        rig.hear(30)
        rig.draw()
        rig.press(.pageUp)
        rig.draw()
        rig.hear(25)
        rig.draw()
        #expect(rig.terminal.text.contains("↓ 30 below"))
        rig.press(.escape)
        rig.draw()
        #expect(rig.conversation == (1...55).map { "bob: line \($0)" })
    }

    @Test
    func `the former screen is in the scrollback`() {
        var terminal = TerminalEmulator(columns: 20, rows: 5)
        terminal.feed("$ ls\r\nfile\r\n$ chat join\r\n".utf8)
        var screen = Screen(Style(hasColours: false))
        terminal.feed(screen.enter(TerminalSize(columns: 20, rows: 5)).utf8)
        #expect(terminal.scrollback == ["$ ls", "file", "$ chat join"])
        #expect(terminal.text == "\n\n\n\n")
    }

    @Test
    func `leaving keeps the conversation, and gives back the modes and the rest of the screen`() {
        var rig = Rig(40, 9)
        rig.hear(3)
        rig.draw()
        #expect(rig.terminal.modes == [25: true, 2_004: true, 7: false])
        rig.write(rig.screen.leave())
        #expect(rig.terminal.text == "bob: line 1\nbob: line 2\nbob: line 3\n\n\n\n\n\n")
        #expect(rig.terminal.cursor == (3, 0))
        #expect(rig.terminal.modes == [25: true, 2_004: false, 7: true])
        #expect(rig.terminal.isWhole)
    }

    @Test
    func `without colours there are no attributes, with them there are`() {
        for colours in [false, true] {
            var rig = Rig(40, 9, colours: colours)
            rig.hear(30)
            rig.view.hear(ChatViewTests.own(1, "x", .pending), now: ChatViewTests.now)
            rig.draw()
            rig.write(rig.screen.leave())
            #expect((rig.terminal.attributes > 0) == colours)
        }
        #expect(!Style(environment: ["NO_COLOR": "1"]).hasColours)
        #expect(Style(environment: ["NO_COLOR": ""]).hasColours)
        #expect(Style(environment: [:]).hasColours)
    }

    @Test
    func `unchanged rows are not written`() {
        var rig = Rig(80, 24)
        rig.hear(50)
        rig.draw()
        rig.draw()
        #expect(rig.output == "\u{1B}[24;3H")
        rig.press(.text("x"))
        rig.draw()
        #expect(rig.output.utf8.count < 60)
        rig.hear(1)
        rig.draw()
        #expect(rig.output.utf8.count < 100)
    }
}
