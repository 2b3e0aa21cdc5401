@testable internal import chat
internal import Testing

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

    @Test
    func `the search is in front of the line, and Ctrl-C ends it rather than the chat`() {
        var view = ChatView(name: "ann", room: "lobby")
        let size = ChatViewTests.size(60, 12)
        for key in [Key.paste("hello there"), .enter, .control("r"), .text("t")] {
            _ = view.press(key, size: size, now: ChatViewTests.now)
        }
        #expect(ChatViewTests.picture(view, 60, 12).hasSuffix("\n(history: 't') hello there"))
        #expect(view.press(.control("c"), size: size, now: ChatViewTests.now) == [])
        #expect(view.press(.control("c"), size: size, now: ChatViewTests.now) == [.quit])
    }
}
