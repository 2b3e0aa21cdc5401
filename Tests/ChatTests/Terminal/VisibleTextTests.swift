internal import LinkspanTerminal
internal import Testing

@testable internal import chat

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
