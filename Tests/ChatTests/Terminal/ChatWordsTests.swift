internal import LinkspanTerminal
internal import Testing

@testable internal import chat

@Suite
struct ChatWordsTests {
    private static let words = ChatWords(
        people: ["bob", "Anna", "bert"], rooms: ["lobby", "attic"], transports: ["memory", "socketio", "websocket"])

    private static func editor(_ text: String) -> LineEditor {
        var editor = LineEditor()
        for scalar in text.unicodeScalars { _ = editor.press(.text(scalar)) }
        return editor
    }

    /// The line after some text and some presses of Tab, or of Shift-Tab.
    private static func line(_ text: String, tabs: Int = 1, step: Int = 1) -> String {
        var editor = Self.editor(text)
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
        var editor = Self.editor("hi b there")
        for _ in 0..<6 { _ = editor.press(.left) }
        _ = editor.complete(Self.words, step: 1)
        #expect(editor.visible(in: 99) == ("hi bob  there", 7))
        _ = editor.press(.backspace)
        #expect(editor.candidates == nil)
        _ = editor.complete(Self.words, step: 1)
        #expect(editor.visible(in: 99) == ("hi bob  there", 7))
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

@Suite
struct LineSearchTests {
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
