internal import Testing

@testable internal import chat

@Suite
struct TextWrapTests {
    static func rows(_ text: String, _ width: Int, indent: Int = 0) -> [String] {
        [Span(text)].wrapped(to: width, indent: indent).map(\.text)
    }

    @Test
    func `rows break between words, and within those that are too long`() {
        #expect(Self.rows("", 10) == [""])
        #expect(Self.rows("short", 10) == ["short"])
        #expect(Self.rows("one two three", 7) == ["one two", "three"])
        #expect(Self.rows("one two three", 8) == ["one two ", "three"])
        #expect(Self.rows("abcdefghij", 4) == ["abcd", "efgh", "ij"])
        #expect(Self.rows("ab abcdefghij", 6) == ["ab ", "abcdef", "ghij"])
        #expect(Self.rows("one two three four", 10, indent: 2) == ["one two ", "  three ", "  four"])
        #expect(Self.rows("世界世界", 5) == ["世界", "世界"])
        #expect(Self.rows("世", 1) == ["?"])
        #expect(Self.rows("ten chars!     ", 10) == ["ten chars!"])
    }

    @Test
    func `looks stay with their text`() {
        let rows = [Span("ann", .own), Span(": "), Span("hello there", .pending)].wrapped(to: 11, indent: 2)
        #expect(
            rows == [
                [Span("ann", .own), Span(": "), Span("hello ", .pending)], [Span("  "), Span("there", .pending)],
            ])
    }

    @Test(arguments: 1...40)
    func `no row is wider than it may be, and no letter is lost`(width: Int) {
        let text = "ann: The quick 狐 jumps over the lazy 犬 — e\u{301}té 👩‍👩‍👧 " + String(repeating: "long", count: 30)
        let rows = Self.rows(text, width, indent: 2)
        for row in rows { #expect(DisplayWidth.columns(of: row) <= width) }
        let letters = { (text: String) in text.filter { $0 != " " }.count }
        #expect(letters(rows.joined()) == letters(text))
    }

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

@Suite
struct HighlightTests {
    /// A text with `<…>` around links, `[…]` around mentions and `{…}` around what is searched for.
    private static func marked(_ text: String, name: String? = "ann", query: String? = nil) -> String {
        let spans = Highlight.spans(text, name: name, query: query, .plain)
        #expect(spans.text == text)
        return spans.map { span in
            switch span.role {
            case .link: "<\(span.text)>"
            case .mention: "[\(span.text)]"
            case .match: "{\(span.text)}"
            default: span.text
            }
        }.joined()
    }

    @Test(
        arguments: [
            ("ann", "[ann]"), ("hi ann!", "hi [ann]!"), ("ANN, @Ann", "[ANN], [@Ann]"),
            ("annabel joann", "annabel joann"),
            ("ann_b b_ann", "ann_b b_ann"), ("ann2", "ann2"), ("", ""), ("nothing", "nothing"),
        ])
    func `a name is marked where it is a word of its own`(text: String, expected: String) {
        #expect(Self.marked(text) == expected)
        #expect(Highlight.mentions("ann", in: text) == expected.contains("["))
    }

    @Test(
        arguments: [
            ("see https://a.example/b?c=d#e.", "see <https://a.example/b?c=d#e>."),
            ("(http://a.example/x_(y))", "(<http://a.example/x_(y)>)"), ("HTTPS://A", "<HTTPS://A>"),
            ("http://", "http://"), ("xhttp://a", "xhttp://a"), ("ws://h:1, wss://h!", "<ws://h:1>, <wss://h>!"),
            ("<https://a>", "<<https://a>>"), ("https://a/ann", "<https://a/ann>"), ("how are we", "how are we"),
        ])
    func `links are marked without the punctuation around them`(text: String, expected: String) {
        #expect(Self.marked(text) == expected)
    }

    @Test
    func `what is searched for is marked, in capitals or not`() {
        #expect(Self.marked("Tea, tEaTEA", query: "tea") == "{Tea}, {tEa}{TEA}")
        #expect(Self.marked("ann https://tea", query: "tea") == "[ann] <https://tea>")
    }
}
