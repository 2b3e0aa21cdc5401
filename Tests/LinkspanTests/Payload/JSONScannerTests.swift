internal import LinkspanTesting
internal import Linkspan
internal import Testing

@Suite("JSON scanner")
struct JSONScannerTests {
    /// Scans exactly one value and returns the offset behind it.
    private static func skip(_ text: String, maximumValues: Int = JSONScanner.maximumValues) throws(JSONScanError)
        -> Int
    {
        try Self.skip(Array(text.utf8), maximumValues: maximumValues)
    }

    private static func skip(_ bytes: [UInt8], maximumValues: Int = .max) throws(JSONScanError) -> Int {
        try bytes.withUnsafeBufferPointer { text throws(JSONScanError) in
            var scanner = JSONScanner(maximumValues: maximumValues)
            return try scanner.skipValue(text, from: 0)
        }
    }

    @Test(arguments: [
        "null", "true", "false", "0", "-0", "12", "-1.5e+10", "1E2", "0.25", "1e400", #""""#, #""a b""#, #""é😀""#,
        #""\"\\\/\b\f\n\r\t\u00e9\uD83D\ude00""#, #""\ud800""#, "[]", "[ ]", "{}", "{ }", "[1,2]",
        #"{"a":1,"a":2}"#,
        "[[],{},[[{}]]]", #"{"a" : [ 1 , { "b" : null } ] }"#, "[\n\t\r 1 ]", "\"\u{7F}\u{2028}\"",
    ])
    func `a value is skipped to its last byte, whatever follows`(value: String) throws {
        for rest in ["", ",", "]", " x", "}"] {
            #expect(try Self.skip(value + rest) == value.utf8.count)
        }
    }

    @Test(arguments: [("1,2]", 1), ("[1,[2]],3]", 7), (#"{"a":[1]} , 2]"#, 9), (#""]",[1]]"#, 3), ("[] ]", 2)])
    func `the end of the first value in an array is known when all of it is skipped`(text: String, end: Int) throws {
        let ends = try Array("\(text) x".utf8).withUnsafeBufferPointer { bytes throws(JSONScanError) in
            var scanner = JSONScanner()
            return (try scanner.skipValue(bytes, from: 0, inArrays: 1), scanner.firstEnd)
        }
        #expect(ends == (text.utf8.count, end))
    }

    @Test(arguments: [
        "nul", "nulL", "True", "tru", "+1", "-", "-a", ".5", "1.", "1.e1", "1e", "1e+", "NaN", "Infinity", "'a'",
        "a",
        "[1", "[1,", "[1,]", "[,1]", "[1 2]", "[1}", "{", #"{"a"}"#, #"{"a":}"#, #"{"a":1,}"#, "{a:1}", "{1:1}",
        #"{"a" 1}"#,
        #"{"a":1]"#, #"{,"a":1}"#, #""a"#, #""\x""#, #""\u12""#, #""\u12g4""#, "\"a\nb\"", "\"\0\"", "\"\u{1F}\"",
        "]", "}", ",",
        ":", "", "\u{FEFF}1", "/* */1", " 1",
    ])
    func `everything that RFC 8259 forbids is refused`(text: String) {
        #expect(throws: JSONScanError.self) { try Self.skip(text) }
    }

    @Test
    func `a number with a leading zero ends behind the zero, so that what follows is out of place`() throws {
        #expect(try Self.skip("01") == 1)
        #expect(throws: JSONScanError(.unexpectedByte, at: 2)) { try Self.skip("[01]") }
    }

    @Test(arguments: ["[", #"{"a":"#])
    func `64 levels pass, the 65th is refused where it begins`(opening: String) throws {
        let closing = opening == "[" ? "]" : "}"
        let fits = String(repeating: opening, count: 64) + "1" + String(repeating: closing, count: 64)
        #expect(try Self.skip(fits) == fits.utf8.count)
        let deep = String(repeating: opening, count: 65) + "1" + String(repeating: closing, count: 65)
        #expect(throws: JSONScanError(.tooDeep, at: 64 * opening.utf8.count)) { try Self.skip(deep) }
    }

    @Test(.timeLimit(.minutes(1)))
    func `100,000 brackets are refused at the 65th`() {
        #expect(throws: JSONScanError(.tooDeep, at: 64)) { try Self.skip(String(repeating: "[", count: 100_000)) }
    }

    @Test
    func `levels of the same depth may differ in kind`() throws {
        let text = #"[{"a":[1]},[{"b":2}],{"c":{}},[[]]]"#
        #expect(try Self.skip(text) == text.utf8.count)
        #expect(throws: JSONScanError.self) { try Self.skip(#"[{"a":[1}],1]"#) }
    }

    @Test
    func `values are counted, nested ones too`() throws {
        #expect(try Self.skip("[1,[2,3]]", maximumValues: 5) == 9)
        #expect(throws: JSONScanError(.tooManyValues, at: 6)) { try Self.skip("[1,[2,3]]", maximumValues: 4) }
        let many = "[" + String(repeating: "0,", count: 99_998) + "0]"
        #expect(try Self.skip(many) == many.utf8.count)
        #expect(throws: JSONScanError.self) { try Self.skip("[0," + many.dropFirst()) }
    }

    @Test
    func `a text that ends too early is refused at every byte, and never read beyond`() throws {
        let whole = Array(
            #"{"key \u00e9":[true,false,null,-12.5e+3,"va\\lue that is longer than eight bytes",{}]}"#.utf8)
        #expect(try Self.skip(whole) == whole.count)
        for end in whole.indices {
            let error = #expect(throws: JSONScanError.self) { try Self.skip(Array(whole[..<end])) }
            #expect(error?.reason == .truncated)
            #expect((error?.offset ?? .max) <= end)
        }
    }

    @Test
    func `a quote, an escape or a control character is found at any distance`() throws {
        for length in 0..<40 {
            let plain = String(repeating: "é", count: length / 2) + String(repeating: "x", count: length % 2)
            #expect(try Self.skip("\"\(plain)\"\"") == plain.utf8.count + 2)
            #expect(try Self.skip("\"\(plain)\\n\"x") == plain.utf8.count + 4)
            #expect(throws: JSONScanError(.unexpectedByte, at: plain.utf8.count + 1)) {
                try Self.skip("\"\(plain)\u{01}\"xxxxxxxx")
            }
        }
    }

    @Test
    func `every byte value inside a string is either itself or refused`() {
        for byte in UInt8.min...UInt8.max {
            let text = [UInt8(ascii: "\""), byte, UInt8(ascii: "\""), UInt8(ascii: "\"")]
            let end = try? Self.skip(text)
            switch byte {
            case 0..<0x20: #expect(end == nil)
            case UInt8(ascii: "\""): #expect(end == 2)
            case UInt8(ascii: "\\"): #expect(end == 4)
            default: #expect(end == 3)
            }
        }
    }

    @Test
    func `a number ends before the first byte that is no digit, at any distance from the text's end`() throws {
        let others = (UInt8.min...UInt8.max).filter { !"0123456789.eE".utf8.contains($0) }
        for (count, rest) in [1, 7, 8, 9, 17].flatMap({ count in [0, 1, 7, 16].map { (count, $0) } }) {
            for other in others {
                let digits = Array("98765432109876543".utf8.prefix(count))
                let text = digits + [other] + Array(repeating: UInt8(ascii: "5"), count: rest)
                #expect(try Self.skip(text) == count, "\(count) digits, byte \(other), and \(rest) more")
            }
            #expect(try Self.skip(String(repeating: "7", count: count)) == count)
        }
    }

    @Test(.timeLimit(.minutes(1)))
    func `50,000 mutated texts are judged without a trap`() {
        var generator = SeededGenerator(seed: 7)
        let whole = Array(#"{"a":[1,-2.5e3,"x\u00e9\n",true,null,{"b":{}}],"c":"0123456789abcdef"}"#.utf8)
        var accepted = 0
        for _ in 0..<50_000 {
            var text = whole
            for _ in 0...Int.random(in: 0...2, using: &generator) where !text.isEmpty {
                let index = Int.random(in: 0..<text.count, using: &generator)
                switch Int.random(in: 0..<3, using: &generator) {
                case 0: text[index] = .random(in: 0...255, using: &generator)
                case 1: text.removeSubrange(index...)
                default: text.insert(#"[]{}",:\u0e-"#.utf8.randomElement(using: &generator) ?? 0, at: index)
                }
            }
            guard let end = try? Self.skip(text) else { continue }
            #expect(end <= text.count)
            accepted += 1
        }
        #expect(accepted > 1000)
    }
}
