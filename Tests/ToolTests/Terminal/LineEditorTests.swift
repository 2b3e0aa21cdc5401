@testable internal import LinkspanTerminal
internal import Testing

@Suite
struct LineEditorTests {
    /// Types text and presses keys; `|` in the result is the cursor.
    static func line(_ text: String, _ keys: [Key] = []) -> String {
        var editor = Self.editor(text)
        for key in keys { _ = editor.press(key) }
        return Self.picture(editor)
    }

    static func editor(_ text: String) -> LineEditor {
        var editor = LineEditor()
        for scalar in text.unicodeScalars { _ = editor.press(.text(scalar)) }
        return editor
    }

    static func picture(_ editor: LineEditor) -> String {
        let view = editor.visible(in: 1_000)
        var (head, columns) = ("", 0)
        for character in view.text where columns < view.cursor {
            head.append(character)
            columns += DisplayWidth.columns(of: character)
        }
        return head + "|" + view.text.dropFirst(head.count)
    }

    @Test
    func `the cursor moves and text goes in where it stands`() {
        #expect(Self.line("abc") == "abc|")
        #expect(Self.line("abc", [.left, .left, .text("x")]) == "ax|bc")
        #expect(Self.line("abc", [.left, .left, .left, .left, .text("x")]) == "x|abc")
        #expect(Self.line("abc", [.home, .right, .text("x")]) == "ax|bc")
        #expect(Self.line("abc", [.right, .text("x")]) == "abcx|")
        #expect(Self.line("abc", [.control("a"), .text("x"), .control("e"), .text("y")]) == "xabcy|")
        #expect(Self.line("abc", [.control("b"), .control("b"), .control("f")]) == "ab|c")
        #expect(Self.line("one two three", [.wordLeft, .wordLeft]) == "one |two three")
        #expect(Self.line("one two three", [.home, .wordRight, .alt("f")]) == "one two| three")
    }

    @Test
    func `text is removed to both sides, by letters, words and all`() {
        #expect(Self.line("abc", [.backspace]) == "ab|")
        #expect(Self.line("abc", [.left, .backspace]) == "a|c")
        #expect(Self.line("abc", [.home, .backspace]) == "|abc")
        #expect(Self.line("abc", [.home, .delete]) == "|bc")
        #expect(Self.line("abc", [.delete]) == "abc|")
        #expect(Self.line("abc", [.home, .control("d")]) == "|bc")
        #expect(Self.line("abc", [.left, .control("k")]) == "ab|")
        #expect(Self.line("abc", [.left, .control("u")]) == "|c")
        #expect(Self.line("one two  ", [.control("w")]) == "one |")
        #expect(Self.line("one two", [.control("w"), .control("w"), .control("w")]) == "|")
        #expect(Self.line("one two", [.home, .alt("d")]) == "| two")
        #expect(Self.line("one two", [.control("w"), .home, .control("y")]) == "two|one ")
    }

    @Test
    func `a grapheme cluster is one letter, however many scalars it has`() {
        #expect(Self.line("e\u{301}x", [.left, .left]) == "|e\u{301}x")
        #expect(Self.line("ae\u{301}", [.backspace]) == "a|")
        #expect(Self.line("a👩‍👩‍👧b", [.left, .backspace]) == "a|b")
        #expect(Self.line("🇩🇪🇫🇷", [.backspace]) == "🇩🇪|")
        #expect(Self.line("世界", [.left, .text("x")]) == "世x|界")
    }

    @Test
    func `an accent joins the letter before the cursor`() {
        #expect(Self.line("eb", [.left, .text("\u{301}"), .text("x")]) == "e\u{301}x|b")
        // What is between them goes, and the accent comes to another letter.
        #expect(Self.line("eb\u{301}", [.home, .right, .text("-"), .backspace]) == "e|b\u{301}")
        #expect(Self.line("\u{301}", [.home, .text("e")]) == "e\u{301}|")
    }

    @Test
    func `Enter hands the line out and begins a new one`() {
        var editor = Self.editor("hello")
        #expect(editor.press(.enter) == .submitted("hello"))
        #expect(editor.text == "")
        #expect(editor.press(.enter) == .submitted(""))
    }

    @Test
    func `the history returns earlier input, and the new line after it`() {
        var editor = LineEditor()
        for line in ["one", "two", "two", ""] {
            for scalar in line.unicodeScalars { _ = editor.press(.text(scalar)) }
            _ = editor.press(.enter)
        }
        for scalar in "draft".unicodeScalars { _ = editor.press(.text(scalar)) }
        let steps: [(Key, String)] = [
            (.up, "two"), (.up, "one"), (.up, "one"), (.down, "two"), (.down, "draft"), (.down, "draft"),
        ]
        for (key, text) in steps {
            _ = editor.press(key)
            #expect(editor.text == text)
        }
        _ = editor.press(.control("p"))
        _ = editor.press(.text("!"))
        #expect(editor.press(.enter) == .submitted("two!"))
        _ = editor.press(.up)
        #expect(editor.text == "two!")
    }

    @Test
    func `a paste never submits and brings no control characters`() {
        var editor = LineEditor()
        #expect(editor.press(.paste("one\ntwo\u{1B}[31m\tx")) == .edited)
        #expect(editor.text == "one\ntwo\u{FFFD}[31m x")
        #expect(editor.visible(in: 100).text == "one⏎two\u{FFFD}[31m x")
    }

    @Test
    func `no more goes in than may be said`() {
        var editor = LineEditor()
        _ = editor.press(.paste(String(repeating: "x", count: 10_000)))
        #expect(editor.text.count == 8_192)
        #expect(editor.press(.text("y")) == .none)
        _ = editor.press(.backspace)
        #expect(editor.press(.text("y")) == .edited)
    }

    @Test(arguments: 1...30)
    func `whatever the width, the cursor is in view and the text fits`(width: Int) {
        var editor = Self.editor("The quick 狐 jumps over the lazy 犬 — e\u{301}té 👩‍👩‍👧 and more")
        for _ in 0..<60 {
            let view = editor.visible(in: width)
            #expect(view.cursor >= 0 && view.cursor < max(width, 1))
            #expect(DisplayWidth.columns(of: view.text) <= width)
            _ = editor.press(.left)
        }
    }

    @Test
    func `nothing is shown behind a wide character for which there is no room`() {
        var editor = Self.editor("ab世c")
        _ = editor.press(.home)
        #expect(editor.visible(in: 3) == ("ab", 0))
    }

    @Test
    func `a line that is too long shows both sides of the cursor`() {
        var editor = Self.editor("abcdefghijklmnopqrstuvwxyz")
        #expect(editor.visible(in: 10) == ("uvwxyz", 6))
        for _ in 0..<4 { _ = editor.press(.left) }
        #expect(editor.visible(in: 10) == ("pqrstuvwxy", 7))
        for _ in 0..<20 { _ = editor.press(.left) }
        #expect(editor.visible(in: 10) == ("abcdefghij", 2))
    }
}

@Suite
struct HistorySearchTests {
    /// An editor with a history.
    private static func editor() -> LineEditor {
        var editor = LineEditor()
        for line in ["make tea", "Make test", "read mail", "make tea"] {
            _ = editor.press(.paste(line))
            _ = editor.press(.enter)
        }
        return editor
    }

    private static func press(_ editor: inout LineEditor, _ keys: [Key]) -> LineEditor.Effect {
        var effect = LineEditor.Effect.none
        for key in keys { effect = editor.press(key) }
        return effect
    }

    @Test
    func `Ctrl-R finds the latest entry that contains what is typed, then older ones`() {
        var editor = Self.editor()
        _ = Self.press(&editor, [.control("r"), .text("t"), .text("e")])
        #expect(editor.text == "make tea")
        #expect(editor.search?.prompt == "(history: 'te') ")
        _ = Self.press(&editor, [.control("r")])
        #expect(editor.text == "Make test")
        _ = Self.press(&editor, [.text("a")])
        #expect(editor.text == "make tea")
        _ = Self.press(&editor, [.control("r")])
        #expect(editor.search?.prompt == "(nothing older has 'tea') ")
        #expect(editor.text == "make tea")
        _ = Self.press(&editor, [.backspace, .backspace, .backspace, .text("m"), .text("A"), .text("i")])
        #expect(editor.text == "read mail")
    }

    @Test
    func `Enter says what was found, an editing key goes on with it, Ctrl-G gives the former line back`() {
        var editor = Self.editor()
        #expect(Self.press(&editor, [.control("r"), .text("r"), .enter]) == .submitted("read mail"))
        #expect(editor.search == nil)
        _ = Self.press(&editor, [.text("x"), .control("r"), .text("s"), .text("t"), .left, .text("!")])
        #expect(LineEditorTests.picture(editor) == "Make tes!|t")
        _ = Self.press(&editor, [.control("r"), .text("m"), .control("g")])
        #expect(editor.text == "Make tes!t" && editor.search == nil)
        _ = Self.press(&editor, [.control("r"), .text("m"), .control("c")])
        #expect(editor.text == "Make tes!t" && editor.search == nil)
    }
}
