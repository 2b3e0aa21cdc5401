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
