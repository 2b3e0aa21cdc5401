@testable internal import chat
internal import Testing

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
