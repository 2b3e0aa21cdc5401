internal import Foundation
internal import Linkspan
internal import Testing

/// Where the SDK's coder means to differ from Foundation's; the design page has the same table.
@Suite("Deliberate differences to Foundation's coders")
struct CoderDifferenceTests {
    private static func both<Value: Decodable>(_ type: Value.Type, _ json: String) throws -> (
        own: Value?, foundation: Value?
    ) {
        let payload = try Payload(checking: Array(json.utf8)[...])
        return (try? payload.decode(type), try? FoundationCoder.standard.decode(type, from: payload))
    }

    private static func own<Value: Decodable>(_ type: Value.Type, _ json: String) throws -> String {
        let payload = try Payload(checking: Array(json.utf8)[...])
        let error = #expect(throws: LinkspanError.self) { try payload.decode(type) }
        return Self.kind(error?.cause as? DecodingError)
    }

    private static func foundation<Value: Decodable>(_ type: Value.Type, _ json: String) throws -> String {
        let payload = try Payload(checking: Array(json.utf8)[...])
        return Self.kind(
            #expect(throws: DecodingError.self) { try FoundationCoder.standard.decode(type, from: payload) })
    }

    private static func kind(_ error: DecodingError?) -> String {
        switch error {
        case .dataCorrupted(let context)?: return "dataCorrupted \(context.codingPath.map(\.stringValue))"
        case .typeMismatch?: return "typeMismatch"
        case .valueNotFound?: return "valueNotFound"
        case .keyNotFound?: return "keyNotFound"
        default: return "none"
        }
    }

    @Test
    func `half a surrogate pair is read as U+FFFD: JavaScript may send one`() throws {
        let (own, foundation) = try Self.both([String].self, #"["a\ud800b"]"#)
        #expect(own == ["a\u{FFFD}b"] && foundation == nil)
    }

    @Test
    func `a comma behind the last element is refused`() throws {
        for text in ["[1,]", #"{"a":1,}"#] {
            #expect(throws: LinkspanError.self) { try Payload(checking: Array(text.utf8)[...]) }
            #expect(throws: LinkspanError.self) {
                try Payload(trustedElements: Array(text.utf8)[...]).decode(AnyJSON.self)
            }
            #expect(throws: Never.self) { try JSONDecoder().decode(AnyJSON.self, from: Data(text.utf8)) }
        }
    }

    @Test
    func `zero is zero with any exponent`() throws {
        let (own, foundation) = try Self.both([Double].self, "[0e1]")
        #expect(own == [0] && foundation == nil)
    }

    @Test
    func `an integer is read by its exact value, so 1.0000000000000001 is an error`() throws {
        let (own, foundation) = try Self.both([Int].self, "[1.0000000000000001]")
        #expect(own == nil && foundation == [1])
    }

    @Test
    func `a number that does not fit is an error with its path`() throws {
        #expect(try Self.own([Int8].self, "[1,300]") == #"dataCorrupted ["Index 1"]"#)
        #expect(try Self.foundation([Int8].self, "[1,300]") == "dataCorrupted []")
    }

    @Test
    func `null for a Boolean is valueNotFound, as for any other type`() throws {
        #expect(try Self.own([Bool].self, "[null]") == "valueNotFound")
        #expect(try Self.own([[String: Bool]].self, #"[{"a":null}]"#) == "valueNotFound")
        #expect(try Self.foundation([[String: Bool]].self, #"[{"a":null}]"#) == "typeMismatch")
    }

    private final class Derived: Decodable {
        init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: Keys.self)
            _ = try container.superDecoder().container(keyedBy: Keys.self)
        }

        private enum Keys: CodingKey {}
    }

    @Test
    func `a super-decoder for what is not there is keyNotFound`() throws {
        #expect(try Self.own(Derived.self, "{}") == "keyNotFound")
        #expect(try Self.foundation(Derived.self, "{}") == "valueNotFound")
    }

    @Test
    func `encoding Decimal.nan throws`() throws {
        #expect(throws: LinkspanError.self) { try Payload([Decimal.nan]) }
        #expect(try FoundationCoder.standard.encode([Decimal.nan]).elements.elementsEqual("[NaN]".utf8))
    }

    @Test
    func `the members of an object keep their order`() throws {
        struct Letters: Encodable {
            var z = 1
            var y = 2
            var x = 3
        }
        #expect(try Payload(Letters()).elements.elementsEqual(#"{"z":1,"y":2,"x":3}"#.utf8))
    }
}

/// What RFC 8259 allows and forbids, case by case, as the suites of JSON parsers have it.
@Suite("Payload coder and RFC 8259")
struct CoderCorpusTests {
    private static let validTexts = [
        "[]", "[ ]", "{}", "{ }", "null", "true", "false", "0", "-0", "1", "-1", "10", "0.5", "-0.5", "1e1", "1E1",
        "1e+1",
        "1e-1", "1.5e2", "0e+1", "0.0", "-0.0", "123e65", "123.456e78", "20e1", "1234567890", "1E22", "1E-2",
        "-123", "\"\"", "\"a\"", "\" \"", "\"\\u0060\\u012a\\u12AB\"", "\"\\ud801\\udc37\"",
        "\"\\ud83d\\ude39\\ud83d\\udc8d\"",
        "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "\"\\\\u0000\"", "\"\\u0000\"", "\"\\\"\"", "\"a/*b*/c/*d//e\"", "\"\\\\a\"",
        "\"\\\\n\"",
        "\"\\u0012\"", "\"\\uFFFF\"", "\"asd\"", "\"\u{10FFFF}\"", "\"\u{FFFF}\"", "\"new\\u00A0line\"", "\"\u{2028}\"",
        "\"\u{2029}\"", "\"\u{7F}\"", "\"€𝄞\"", "\"\u{20}\u{21}\"", "\"\u{E9}\"", "[\"\"]", "[[]   ]", "[\"a\"]",
        "[false]",
        "[null, 1, \"1\", {}]", "[null]", "[1\n]", " [1]", "[1,null,null,null,2]", "[2] ", "\t[\r\n1 ]", "[[[[]]]]",
        "{\"asd\":\"sdf\", \"dfg\":\"fgh\"}", "{\"asd\":\"sdf\"}", "{\"a\":\"b\",\"a\":\"c\"}",
        "{\"a\":\"b\",\"a\":\"b\"}",
        "{\"\":0}", "{\"foo\\u0000bar\": 42}", "{ \"min\": -1.0e+28, \"max\": 1.0e+28 }", "{\"a\":[]}",
        "{\"title\":\"\\u041f\\u043e\" }", "{\n\"a\": \"b\"\n}",
        "{\"x\":[{\"id\": \"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\"}]}",
    ]

    private static let invalidTexts = [
        "[1 true]", "[\"\": 1]", "[\"\"],", "[,1]", "[1,,2]", "[\"x\",,]", "[\"x\"]]", "[\"\",]", "[\"x\"", "[x",
        "[3[4]]", "[1:2]", "[,]",
        "[-]", "[   , \"\"]", "[\"a\",\n4\n,1,", "[1,]", "[1,,]", "[*]", "[\"\"", "[1,", "[1,\n1\n,1", "[{}", "[fals]",
        "[nul]", "[tru]",
        "[++1234]", "[+1]", "[+Inf]", "[-01]", "[-1.0.]", "[-2.]", "[-NaN]", "[.-1]", "[.2e-3]", "[0.1.2]", "[0.3e+]",
        "[0.3e]",
        "[0.e1]", "[0E+]", "[0E]", "[0e+]", "[0e]", "[1.0e+]", "[1.0e-]", "[1.0e]", "[1 000.0]", "[1eE2]", "[2.e+3]",
        "[2.e-3]",
        "[2.e3]", "[9.e+]", "[Inf]", "[NaN]", "[1+2]", "[0x1]", "[0x42]", "[Infinity]", "[0e+-1]", "[-123.123foo]",
        "[-Infinity]",
        "[-foo]", "[- 1]", "[-012]", "[-.123]", "[-1x]", "[1ea]", "[1.]", "[.123]", "[1.2a-3]",
        "[1.8011670033376514H-308]",
        "[012]", "[\"x\", truth]", "{[: \"x\"}", "{\"x\", null}", "{\"x\"::\"b\"}", "{🇨🇭}", "{\"a\":\"a\" 123}",
        "{key: 'value'}",
        "{\"a\" b}", "{:\"b\"}", "{\"a\" \"b\"}", "{\"a\":", "{\"a\"", "{1:1}", "{9999E9999:1}",
        "{null:null,null:null}",
        "{\"id\":0,,,,,}", "{'a':0}", "{\"id\":0,}", "{\"a\":\"b\"}/**/", "{\"a\":\"b\"}/**//", "{\"a\":\"b\"}//",
        "{\"a\":\"b\",,\"c\":\"d\"}",
        "{a: \"b\"}", "{\"a\":\"a", "{ \"foo\" : \"bar\", \"a\" }", "{\"a\":\"b\"}#", " ", "[\"\\uD800\\u\"]",
        "[\"\\uD800\\u1\"]",
        "[\"\\uD800\\u1x\"]", "[é]", "[\"\\\u{0}\"]", "[\"\\x00\"]", "[\"\\\\\\\"]", "[\"\\\t\"]", "[\"\\🌀\"]",
        "[\"\\\"]", "[\"\\u00A\"]",
        "[\"\\uD834\\uDd\"]", "[\"\\uD800\\uD800\\x\"]", "[\"\\a\"]", "[\"\\uqqqq\"]", "[\\u0020\"asd\"]", "[\\n]",
        "\"", "['single']",
        "abc", "[\"\\", "[\"a\u{0}a\"]", "[\"new\nline\"]", "[\"\t\"]", "\"\\UA66D\"", "\"\"x", "[\u{2060}]",
        "\u{FEFF}", "<.>", "[<null>]",
        "[1]x", "[1]]", "[asd", "aå", "[True]", "1]", "{\"x\": true,", "[][]", "]", "[", "", "[\u{0}]", "{]", "{}}",
        "{\"\":",
        "{\"a\":/*comment*/\"b\"}", "{\"a\": true} \"x\"", "['", "[,", "[{", "[\"a", "[\"a\"", "{", "{]", "{,", "{[",
        "{\"a", "{'a'",
        "[\"\\{[\"\\{[\"\\{[\"\\{", "*", "{\"a\":\"b\"}#{}", "[\\u000A\"\"]", "[1", "[ false, nul", "[ true, fals",
        "[ false, tru",
        "{\"asd\":\"asd\"", "å", "[\u{000C}]", "\u{00A0}1", "nan", "tru", "truee", "nulll", "--1", "1.e", "0x0", "00",
        "-00", "1e",
    ]

    @Test(arguments: Self.validTexts)
    func `valid JSON is read as by Foundation, in an array and in an object, too`(json: String) throws {
        for text in [json, "[\(json),\(json)]", "{\"a\":\(json)}"] {
            let payload = try Payload(checking: Array(text.utf8)[...])
            let value = try #require(payload[0])
            #expect(try value.decode(AnyJSON.self) == FoundationCoder.standard.decode(AnyJSON.self, from: payload))
            #expect(try payload.decode(AnyJSON.self) == value.decode(AnyJSON.self))
        }
    }

    @Test(arguments: Self.invalidTexts)
    func `invalid JSON is refused, from a trusted source, too`(json: String) {
        for text in [json, "[\(json)]", "{\"a\":\(json)}"] where text != "[]" && text != "[ ]" {
            let bytes = Array(text.utf8)
            #expect(throws: (any Error).self, "\(text)") { try Self.value(bytes[...]).decode(AnyJSON.self) }
            // Without the check that comes first, too, unless something stands behind a whole value.
            let payload = Payload(trustedElements: bytes[...])
            if payload[0] == nil { #expect(throws: LinkspanError.self) { try payload.decode(AnyJSON.self) } }
        }
    }

    /// The text as the one value that it claims to be.
    private static func value(_ text: ArraySlice<UInt8>) throws -> PayloadValue {
        let payload = try Payload(checking: text)
        guard payload.values.count == 1, let value = payload[0] else {
            throw LinkspanError(.decodingFailed, "not one value")
        }
        return value
    }
}
