@testable internal import chat
internal import Testing

@Suite
struct CompletionTests {
    private static let words = Completion.Words(
        people: ["bob", "Anna", "bert"], rooms: ["lobby", "attic"], transports: ["memory", "socketio", "websocket"])

    /// The line after some text and some presses of Tab, or of Shift-Tab.
    private static func line(_ text: String, tabs: Int = 1, step: Int = 1) -> String {
        var editor = LineEditorTests.editor(text)
        for _ in 0..<tabs { _ = editor.complete(Self.words, step: step) }
        return editor.text
    }

    @Test(
        arguments: [
            ("bo", "bob: "), ("an", "Anna: "), ("hi BO", "hi bob "), ("hi @an", "hi @Anna "), ("x", "x"),
            ("/tr", "/transport "), ("/transport w", "/transport websocket"), ("/join l", "/join lobby"),
            ("/leave at", "/leave attic"), ("/msg b", "/msg bob "), ("/msg bob an", "/msg bob Anna "),
            ("/mouse of", "/mouse off"), ("//who an", "//who Anna "), ("/topic a", "/topic a"),
        ])
    func `names, rooms, commands and transports are completed where they belong`(text: String, line: String) {
        #expect(Self.line(text) == line)
    }

    @Test
    func `Tab goes through all that fit, and Shift-Tab back`() {
        #expect((1...4).map { Self.line("b", tabs: $0) } == ["bob: ", "bert: ", "bob: ", "bert: "])
        #expect((1...2).map { Self.line("hi b", tabs: $0, step: -1) } == ["hi bob ", "hi bert "])
        #expect(Self.line("", tabs: 2) == "Anna: ")
    }

    @Test
    func `the word in the middle of a line is completed, and another key ends the choice`() {
        var editor = LineEditorTests.editor("hi b there")
        for _ in 0..<6 { _ = editor.press(.left) }
        _ = editor.complete(Self.words, step: 1)
        #expect(LineEditorTests.picture(editor) == "hi bob | there")
        _ = editor.press(.backspace)
        #expect(editor.candidates == nil)
        _ = editor.complete(Self.words, step: 1)
        #expect(LineEditorTests.picture(editor) == "hi bob | there")
    }

    @Test
    func `the choice is shown, with the word on the line first`() {
        var view = ChatView(name: "ann", room: "lobby")
        view.hear(.members(["ann", "bob", "bert"], room: "lobby"), now: ChatViewTests.now)
        view.hear(ChatViewTests.line(1, "hi", from: "bert"), now: ChatViewTests.now)
        let size = ChatViewTests.size(60, 12)
        _ = view.press(.text("b"), size: size, now: ChatViewTests.now)
        _ = view.press(.tab, size: size, now: ChatViewTests.now)
        // Who spoke last comes first.
        #expect(ChatViewTests.picture(view, 60, 12).hasSuffix("> bert:"))
        _ = view.press(.tab, size: size, now: ChatViewTests.now)
        #expect(ChatViewTests.picture(view, 60, 12).hasSuffix("> bob:"))
        #expect(view.frame(size, now: ChatViewTests.now).panel[0].text == "bob  bert")
    }
}
