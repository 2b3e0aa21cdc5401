@testable internal import LinkspanTerminal
internal import Testing

@Suite
struct StatusLineTests {
    @Test
    func `a line is cut to one cell less than its row`() {
        let text = "[####----] 12 s  1000 of 1000 connected"
        #expect(StatusLine.clipped(text, columns: 80) == text)
        #expect(StatusLine.clipped(text, columns: 11) == "[####----]")
        #expect(StatusLine.clipped("世界", columns: 4) == "世" && StatusLine.clipped("世界", columns: 5) == "世界")
        #expect(StatusLine.clipped(text, columns: 1) == "")
    }
}

@Suite
struct FittedTextTests {
    @Test
    func `text that does not fit into one row ends in an ellipsis`() {
        #expect([Span("abc"), Span("def")].fitted(to: 6).text == "abcdef")
        #expect([Span("abc"), Span("def")].fitted(to: 5).text == "abcd…")
        #expect([Span("abc"), Span("def")].fitted(to: 3).text == "ab…")
        #expect([Span("世界")].fitted(to: 3).text == "世…")
        #expect([Span("世界")].fitted(to: 2).text == "…")
        #expect([Span("abc")].fitted(to: 1).text == "…")
        #expect([Span("abc")].fitted(to: 0).text == "")
    }
}

@Suite
struct DisplayWidthTests {
    @Test(arguments: [
        ("a", 1), (" ", 1), ("~", 1), ("é", 1), ("e\u{301}", 1), ("ß", 1), ("Ж", 1), ("→", 1), ("…", 1), ("─", 1),
        ("\u{A0}", 1), ("\u{AD}", 1), ("世", 2), ("ア", 2), ("ｱ", 1), ("Ａ", 2), ("한", 2),
        ("\u{1112}\u{1161}\u{11AB}", 2),
        ("👍", 2), ("👍🏽", 2), ("👩‍👩‍👧", 2), ("🇩🇪", 2), ("1️⃣", 2), ("❤️", 2), ("❤", 1), ("☂", 1), ("⌚", 2), ("✓", 1),
        ("⌚\u{FE0E}", 1), ("\u{200B}", 0), ("\u{200D}", 0), ("\u{FEFF}", 0), ("\u{301}", 0), ("\u{7}", 0),
        ("𠀀", 2), ("𝒳", 1), ("اَ", 1), ("ก็", 1),
    ])
    func `a grapheme cluster takes 0, 1 or 2 columns`(text: String, columns: Int) throws {
        try #require(text.count == 1)
        #expect(DisplayWidth.columns(of: text) == columns)
    }

    @Test
    func `a text takes as many columns as its clusters together`() {
        #expect(DisplayWidth.columns(of: "") == 0)
        #expect(DisplayWidth.columns(of: "ab世界e\u{301}👍") == 9)
    }
}
