internal import Linkspan
internal import Testing

/// Text of servers and users, made safe for errors, logs and terminals.
@Suite("Foreign text")
struct ForeignTextTests {
    @Test(arguments: [
        ("plain é 世界", "plain é 世界"), ("\u{1B}[2J\u{7}", "\\u{1b}[2J\\u{7}"),
        ("a\r\nb\tc", "a\\u{d}\\u{a}b\\u{9}c"),
        ("\u{202E}drow\u{2066}", "\\u{202e}drow\\u{2066}"), ("a\u{2028}b\u{2029}c", "a\\u{2028}b\\u{2029}c"),
        ("\u{9B}31m\u{85}\u{0}", "\\u{9b}31m\\u{85}\\u{0}"), ("", ""),
    ])
    func `a line has escapes in place of what cannot be seen`(_ text: String, _ line: String) {
        #expect(ForeignText.line(text) == line)
        #expect(ForeignText.line(line) == line)
    }

    @Test
    func `a line ends at its limit, however many marks make up one character`() {
        #expect(ForeignText.line(String(repeating: "x", count: 200)).count == 200)
        #expect(ForeignText.line(String(repeating: "x", count: 201)) == String(repeating: "x", count: 200) + "…")
        let pile = "e" + String(repeating: "\u{301}", count: 1_000_000)
        #expect(ForeignText.line(pile).unicodeScalars.count == 201)
        #expect(ForeignText.line("abc", limit: 2) == "ab…")
    }

    @Test(arguments: ["\u{301}", "\u{20DD}", "\u{200D}"])
    func `of marks that pile up 15 are shown, and after the next letter 15 more`(mark: String) {
        let pile = "e" + String(repeating: mark, count: 15)
        #expect(ForeignText.shown(pile + pile) == pile + pile)
        #expect(ForeignText.shown("\(pile)\(mark)\(mark)\(pile)") == pile + pile)
    }

    @Test
    func `no scalar of a line or of what is shown is a control, ends a line or turns the direction`() {
        let all = String(String.UnicodeScalarView((0...0x2FFF).compactMap(Unicode.Scalar.init)))
        for text in [ForeignText.line(all, limit: .max), ForeignText.shown(all)] {
            let harmful = text.unicodeScalars.filter { scalar in
                switch scalar.properties.generalCategory {
                case .control, .lineSeparator, .paragraphSeparator: true
                default: (0x202A...0x202E).contains(scalar.value) || (0x2066...0x2069).contains(scalar.value)
                }
            }
            #expect(harmful.isEmpty)
        }
    }

    @Test
    func `the description of an error is one line, whatever its message and its cause hold`() {
        struct Cause: Error, CustomStringConvertible {
            let description = "\u{1B}[2J\nforged line"
        }
        let error = LinkspanError(.refused, "no\r\n\u{202E}", cause: Cause())
        #expect(error.description == "refused: no\\u{d}\\u{a}\\u{202e} <- \\u{1b}[2J\\u{a}forged line")
    }
}
