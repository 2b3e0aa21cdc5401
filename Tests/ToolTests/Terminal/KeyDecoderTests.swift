@testable internal import LinkspanTerminal
internal import LinkspanTesting
internal import Testing

@Suite
struct KeyDecoderTests {
    /// What terminals send for a key.
    static let known: [(String, [Key])] = [
        ("a", [.text("a")]), ("é", [.text("é")]), ("世", [.text("世")]), ("👍", [.text("👍")]),
        ("\r", [.enter]), ("\n", [.enter]), ("\t", [.tab]), ("\u{7F}", [.backspace]), ("\u{8}", [.backspace]),
        ("\u{1}", [.control("a")]), ("\u{3}", [.control("c")]), ("\u{4}", [.control("d")]),
        ("\u{17}", [.control("w")]), ("\u{0}", []), ("\u{1C}", []),
        ("\u{1B}[A", [.up]), ("\u{1B}OA", [.up]), ("\u{1B}[B", [.down]), ("\u{1B}[C", [.right]),
        ("\u{1B}[D", [.left]), ("\u{1B}OD", [.left]), ("\u{1B}[1;5C", [.wordRight]), ("\u{1B}[1;3D", [.wordLeft]),
        ("\u{1B}[1;2A", [.up]), ("\u{1B}[H", [.home]), ("\u{1B}OH", [.home]), ("\u{1B}[1~", [.home]),
        ("\u{1B}[7~", [.home]), ("\u{1B}[F", [.end]), ("\u{1B}OF", [.end]), ("\u{1B}[4~", [.end]),
        ("\u{1B}[Z", [.backTab]), ("\u{1B}[<64;10;5M", [.wheelUp]),
        ("\u{1B}[<65;10;5M", [.wheelDown]), ("\u{1B}[<68;1;1M", [.wheelUp]), ("\u{1B}[<0;10;20m", []),
        ("\u{1B}[3~", [.delete]), ("\u{1B}[5~", [.pageUp]), ("\u{1B}[6~", [.pageDown]),
        ("\u{1B}b", [.alt("b")]), ("\u{1B}\u{7F}", [.control("w")]),
        // Keys that mean nothing here are swallowed whole.
        ("\u{1B}[15~", []), ("\u{1B}OP", []), ("\u{1B}[[A", []), ("\u{1B}[2;5~", []), ("\u{1B}[?1;2c", []),
        ("\u{1B}[<0;10;20M", []), ("\u{1B}[;;;~", []), ("\u{1B}[99999999999999999999~", []),
        ("\u{1B}[200~two\r\nlines\rthree\u{1B}[201~", [.paste("two\nlines\nthree")]),
        ("\u{1B}[200~\u{1B}[A\u{1B}[201~", [.paste("\u{1B}[A")]),
    ]

    @Test(arguments: Self.known)
    func `knows what terminals send, at once and byte by byte`(sent: String, keys: [Key]) {
        var decoder = KeyDecoder()
        #expect(decoder.decode(Array(sent.utf8)) == keys)
        #expect(!decoder.isAmbiguous)
        var slow = KeyDecoder()
        var found: [Key] = []
        for byte in sent.utf8 { found += slow.decode([byte]) }
        #expect(found == keys)
        // Whatever came before, the next key is understood.
        let next = decoder.decode(Array("x".utf8))
        #expect(next == [.text("x")])
    }

    @Test
    func `a lone ESC is the key once nothing has followed`() {
        var decoder = KeyDecoder()
        #expect(decoder.decode([0x1B]) == [])
        #expect(decoder.isAmbiguous)
        #expect(decoder.flush() == [.escape])
        #expect(!decoder.isAmbiguous)
        #expect(decoder.flush() == [])
        #expect(decoder.decode(Array("[A".utf8)) == [.text("["), .text("A")])
    }

    @Test
    func `ESC twice is the key and the begin of another one`() {
        var decoder = KeyDecoder()
        #expect(decoder.decode([0x1B, 0x1B]) == [.escape])
        #expect(decoder.isAmbiguous)
        #expect(decoder.decode(Array("[A".utf8)) == [.up])
    }

    @Test(arguments: ["\u{1B}[", "\u{1B}[1;", "\u{1B}O", "\u{1B}[["])
    func `a begun sequence is dropped when nothing follows`(sent: String) {
        var decoder = KeyDecoder()
        #expect(decoder.decode(Array(sent.utf8)) == [])
        #expect(decoder.flush() == [])
        #expect(decoder.decode([0x61]) == [.text("a")])
    }

    @Test
    func `a control character breaks off a sequence and counts`() {
        var decoder = KeyDecoder()
        #expect(decoder.decode(Array("\u{1B}[1;\u{3}".utf8)) == [.control("c")])
        #expect(decoder.decode(Array("\u{1B}O\u{3}".utf8)) == [.control("c")])
        #expect(decoder.decode(Array("\u{1B}\u{3}".utf8)) == [.escape, .control("c")])
    }

    @Test
    func `invalid UTF-8 becomes U+FFFD without affecting later input`() {
        let cases: [([UInt8], String)] = [
            ([0xFF, 0x61], "\u{FFFD}a"), ([0xC3, 0x61], "\u{FFFD}a"), ([0xC0, 0x80, 0x61], "\u{FFFD}\u{FFFD}a"),
            ([0xED, 0xA0, 0x80, 0x61], "\u{FFFD}\u{FFFD}\u{FFFD}a"), ([0xF4, 0x90, 0x61], "\u{FFFD}\u{FFFD}a"),
            ([0xF0, 0x9F, 0x91, 0x61], "\u{FFFD}a"), ([0xE4, 0xB8, 0xC3, 0xA9], "\u{FFFD}é"),
        ]
        for (bytes, text) in cases {
            var decoder = KeyDecoder()
            let keys = decoder.decode(bytes)
            #expect(keys == text.unicodeScalars.map { .text($0) }, "\(bytes)")
        }
        var decoder = KeyDecoder()
        #expect(decoder.decode([0xE4, 0x0D]) == [.text("\u{FFFD}"), .enter])
    }

    @Test
    func `Ctrl-C is a way out of a paste that never ends`() {
        var decoder = KeyDecoder()
        #expect(decoder.decode(Array("\u{1B}[200~abc".utf8)) == [])
        #expect(decoder.decode([0x03]) == [.control("c")])
        #expect(decoder.decode([0x61]) == [.text("a")])
    }

    @Test
    func `of a very large paste the begin is kept, and the keys after it count`() throws {
        var decoder = KeyDecoder()
        let text = String(repeating: "0123456789", count: 50_000)
        let keys = decoder.decode(Array("\u{1B}[200~\(text)\u{1B}[201~z".utf8))
        #expect(keys.count == 2)
        #expect(keys.first == .paste(String(text.prefix(65_536))))
        #expect(keys.last == .text("z"))
    }

    @Test
    func `a sequence of any length is swallowed`() {
        var decoder = KeyDecoder()
        let sent = "\u{1B}[" + String(repeating: "1;", count: 10_000) + "Aa"
        #expect(decoder.decode(Array(sent.utf8)) == [.text("a")])
    }

    @Test(arguments: 1...20)
    func `any bytes lead to keys, and split in any way to the same ones`(seed: Int) {
        var chance = SeededGenerator(seed: UInt64(seed))
        // Bytes that begin something are more frequent than chance would have them.
        let likely: [UInt8] = [0x1B, 0x5B, 0x4F, 0x7E, 0x32, 0x30, 0x31, 0x3B, 0xC3, 0xE4, 0xF0, 0x80]
        let bytes = (0..<4_000).map { _ in
            chance.next() % 2 == 0 ? likely[Int(chance.next() % 12)] : UInt8(truncatingIfNeeded: chance.next())
        }
        var whole = KeyDecoder()
        let keys = whole.decode(bytes)
        var split = KeyDecoder()
        #expect(bytes.flatMap { split.decode([$0]) } == keys)
        // The end of a paste that may be open, then something that is clear.
        _ = whole.decode([0x03])
        _ = whole.flush()
        let next = whole.decode([0x61])
        #expect(next == [.text("a")])
    }
}
