internal import LinkspanTerminal
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
    func `a word that is carried over fits behind the indent, too`() {
        #expect(Self.rows(" bcdefghij", 8, indent: 2) == [" ", "  bcdefg", "  hij"])
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
}
