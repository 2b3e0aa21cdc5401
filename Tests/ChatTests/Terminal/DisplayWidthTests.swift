@testable internal import chat
internal import Testing

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

@Suite
struct VisibleTextTests {
    @Test
    func `other people's text has nothing left that a terminal would obey`() {
        #expect(VisibleText.of("plain é 世界 👩‍👩‍👧 ❤️") == "plain é 世界 👩‍👩‍👧 ❤️")
        #expect(
            VisibleText.of("\u{1B}[31mred\u{7}\u{9B}2J\r\n\t.")
                == "\u{FFFD}[31mred\u{FFFD}\u{FFFD}2J\u{FFFD}\u{FFFD} .")
        #expect(VisibleText.of("\u{202E}drow\u{2066}") == "\u{FFFD}drow\u{FFFD}")
        #expect(VisibleText.of("a\u{2028}b\u{2029}c") == "a b c")
        let all = String(String.UnicodeScalarView((0...0x2FFF).compactMap(Unicode.Scalar.init)))
        let controls = VisibleText.of(all).unicodeScalars.filter { $0.properties.generalCategory == .control }
        #expect(controls.isEmpty)
    }

    @Test(arguments: [
        ("ann", "ann"), ("Zoë", "Zoë"), ("* disconnected", "\"* disconnected\""), ("bob: hi", "\"bob: hi\""),
        ("ann,bob", "\"ann,bob\""), ("a\"b", "\"a'b\""), ("[x]", "\"[x]\""),
        ("Ann\"\u{FE0F}, \"\u{200D}Bob", "\"Ann'\u{FE0F}, '\u{200D}Bob\""), ("\u{202E}nna", "\u{FFFD}nna"),
    ])
    func `a name that could pass for more than a name is in quotes`(_ name: String, _ shown: String) {
        #expect(VisibleText.name(name) == shown)
    }

    @Test
    func `marks do not pile up without end`() {
        let text = "e" + String(repeating: "\u{301}", count: 8_000) + "x"
        #expect(VisibleText.of(text).unicodeScalars.count == 17)
        #expect(VisibleText.of(text).hasSuffix("x"))
    }
}
