internal import Foundation
internal import Linkspan
internal import Testing

@Suite("Payload coder")
struct PayloadCoderTests {
    private static func text(_ payload: Payload) -> String { String(decoding: payload.elements, as: UTF8.self) }

    private static func decode<Value: Decodable>(
        _ type: Value.Type, _ json: String, _ coder: PayloadCoder = .standard
    ) throws -> Value {
        try Payload(checking: Array(json.utf8)[...]).decode(type, coder: coder)
    }

    private static func decodingError<Value: Decodable>(
        _ type: Value.Type, _ json: String, _ coder: PayloadCoder = .standard
    ) throws -> DecodingError {
        let error = #expect(throws: LinkspanError.self) { try Self.decode(type, json, coder) }
        #expect(error?.code == .decodingFailed)
        return try #require(error?.cause as? DecodingError)
    }

    // MARK: Dates

    @Test(
        arguments: [
            (0, "1970-01-01T00:00:00.000Z"), (1_769_860_800.5, "2026-01-31T12:00:00.500Z"),
            (-0.001, "1969-12-31T23:59:59.999Z"), (951_782_399.9996, "2000-02-29T00:00:00.000Z"),
            (-62_167_219_200, "0000-01-01T00:00:00.000Z"), (-62_167_219_201, "-000001-12-31T23:59:59.000Z"),
            (253_402_300_800, "+010000-01-01T00:00:00.000Z"), (8.64e12, "+275760-09-13T00:00:00.000Z"),
            (4_107_542_400, "2100-03-01T00:00:00.000Z"), (-2_203_891_200, "1900-03-01T00:00:00.000Z"),
            (4_107_456_000, "2100-02-28T00:00:00.000Z"), (13_574_563_200, "2400-02-29T00:00:00.000Z"),
        ] as [(Double, String)])
    func `dates are written as JavaScript writes them`(seconds: Double, text: String) throws {
        let payload = try Payload([Date(timeIntervalSince1970: seconds)])
        #expect(Self.text(payload) == "[\"\(text)\"]")
        let milliseconds = try payload.decode([Date].self)[0].timeIntervalSince1970 * 1000
        #expect(abs(milliseconds - (seconds * 1000).rounded()) < 0.001)
    }

    @Test(
        arguments: [
            ("2026-01-31T12:00:00.000Z", 1_769_860_800), ("2026-01-31T12:00:00Z", 1_769_860_800),
            ("2026-01-31T12:00Z", 1_769_860_800), ("2026-01-31T12:00:00", 1_769_860_800),
            ("2026-01-31", 1_769_817_600), ("2026-01-31t12:00:00z", 1_769_860_800),
            ("2026-01-31 12:00:00+00:00", 1_769_860_800), ("2026-01-31T13:30:00+01:30", 1_769_860_800),
            ("2026-01-31T04:00:00-0800", 1_769_860_800), ("2026-01-31T13:00:00+01", 1_769_860_800),
            ("2026-01-31T12:00:00.25Z", 1_769_860_800.25), ("2026-01-31T12:00:00,5Z", 1_769_860_800.5),
            ("2026-01-31T12:00:00.123456789123Z", 1_769_860_800.123456789), ("+002026-01-31", 1_769_817_600),
            ("-271821-04-20T00:00:00.000Z", -8.64e12), ("2024-02-29", 1_709_164_800),
        ] as [(String, Double)])
    func `dates are read with and without fraction, offset and time`(text: String, seconds: Double) throws {
        let date = try Self.decode([Date].self, "[\"\(text)\"]")[0]
        #expect(abs(date.timeIntervalSince1970 - seconds) < 1e-6)
    }

    @Test(arguments: [
        "", "2026", "2026-13-01", "2026-02-29", "2026-00-01", "2026-01-00", "2026-1-31", "2026-01-31T",
        "2026-01-31T24:00:00Z",
        "2026-01-31T12:60:00Z", "2026-01-31T12:00:60Z", "2026-01-31T12:00:00.Z", "2026-01-31T12:00:00ZZ",
        "2026-01-31T12:00:00+24:00", "2026-01-31T12:00:00+01:3", "2026-01-31T12Z", "-000000-01-01", "+2026-01-31",
        "2026-01-0:", "2026-01-0/", "2026-01-31T0::00:00Z", "Sat, 31 Jan 2026 12:00:00 GMT", "２０２６-01-31",
    ])
    func `an invalid date is refused`(text: String) throws {
        guard case .dataCorrupted(let context) = try Self.decodingError([Date].self, "[\"\(text)\"]") else {
            return _ = Issue.record("another error")
        }
        #expect(context.codingPath.map(\.intValue) == [0])
    }

    @Test
    func `a date beyond the range of JavaScript cannot be written`() {
        let error = #expect(throws: LinkspanError.self) { try Payload(Date(timeIntervalSince1970: 8.64e12 + 1)) }
        #expect(error?.code == .encodingFailed)
        #expect(throws: LinkspanError.self) { try Payload(Date(timeIntervalSince1970: .nan)) }
    }

    // MARK: Keys

    private struct Keyed: Codable, Equatable {
        var sentAt: Int
        var myURLField: String
        var byUserID: [String: Int]
    }

    @Test
    func `keys are converted to snake case and back, keys of dictionaries are not`() throws {
        let coder = PayloadCoder(usesSnakeCase: true)
        let value = Keyed(sentAt: 1, myURLField: "x", byUserID: ["fooBar": 1, "foo_bar": 2])
        let text = Self.text(try Payload(value, coder: coder))
        for key in ["sent_at", "my_url_field", "by_user_id", "fooBar", "foo_bar"] {
            #expect(text.contains("\"\(key)\":"))
        }
        let json = #"{"sent_at":1,"my_url_field":"x","by_user_id":{}}"#
        // The way back is not exact: `my_url_field` becomes `myUrlField`, as with Foundation.
        guard case .keyNotFound(let key, _) = try Self.decodingError(Keyed.self, json, coder) else {
            return _ = Issue.record("another error")
        }
        #expect(key.stringValue == "myURLField")
    }

    // MARK: Numbers

    @Test
    func `integers are exact up to the ends of their types, whatever form they are written in`() throws {
        #expect(try Self.decode([Int64].self, "[-9223372036854775808,9223372036854775807]") == [.min, .max])
        #expect(try Self.decode([UInt64].self, "[18446744073709551615,1.8446744073709551615e19]") == [.max, .max])
        #expect(
            try Self.decode([Int].self, "[1.0,1e2,150e-1,-0,0.0e5,9007199254740993]") == [
                1, 100, 15, 0, 0, 9_007_199_254_740_993,
            ])
        for bad in [
            "[9223372036854775808]", "[1.5]", "[1e19]", "[1e-1]", "[1e999999999999999999999]", "[true]", "[\"1\"]",
        ] {
            #expect(throws: LinkspanError.self, "\(bad)") { try Self.decode([Int].self, bad) }
        }
        for bad in ["[-1]", "[256]"] {
            #expect(throws: LinkspanError.self, "\(bad)") { try Self.decode([UInt8].self, bad) }
        }
    }

    @Test
    func `floating-point numbers are the nearest ones; what rounds to infinity or zero is refused`() throws {
        #expect(
            try Self.decode([Double].self, "[0.1,-0.0,1e22,123456789012345680,5e-324,1.7976931348623157e308,0e999]")
                == [0.1, -0.0, 1e22, 123456789012345680, .leastNonzeroMagnitude, .greatestFiniteMagnitude, 0])
        for bad in ["[1e309]", "[-1e309]", "[1e-400]"] {
            #expect(throws: LinkspanError.self, "\(bad)") { try Self.decode([Double].self, bad) }
        }
        #expect(throws: LinkspanError.self) { try Self.decode([Float].self, "[1e39]") }
    }

    @Test
    func `infinity and NaN are errors or strings`() throws {
        let coder = PayloadCoder(nonConformingFloats: (positiveInfinity: "∞", negativeInfinity: "-∞", nan: "?"))
        let payload = try Payload([Double.infinity, -.infinity, .nan, 1], coder: coder)
        #expect(Self.text(payload) == #"["∞","-∞","?",1]"#)
        let values = try payload.decode([Float].self, coder: coder)
        #expect(values[0] == .infinity && values[1] == -.infinity && values[2].isNaN && values[3] == 1)
        let error = #expect(throws: LinkspanError.self) { try Payload(["a": [0, Double.nan]]) }
        guard case .invalidValue(_, let context)? = error?.cause as? EncodingError else {
            return _ = Issue.record("another error")
        }
        #expect(context.codingPath.map(\.stringValue) == ["a", "Index 1"])
        #expect(throws: LinkspanError.self) { try Self.decode([Double].self, #"["∞"]"#) }
    }

    // MARK: Places

    private struct Outer: Codable {
        struct Inner: Codable { var count: Int }

        var list: [[String: Inner]]
    }

    @Test
    func `an error tells the path to the value, and says nothing of what the value is`() throws {
        let json = #"{"list":[{},{"a":{"count":1},"b":{"count":"secret"}}]}"#
        guard case .typeMismatch(let type, let context) = try Self.decodingError(Outer.self, json) else {
            return _ = Issue.record("another error")
        }
        #expect(ObjectIdentifier(type) == ObjectIdentifier(Int.self))
        #expect(context.codingPath.map(\.stringValue) == ["list", "Index 1", "b", "count"])
        #expect(context.codingPath.map(\.intValue) == [nil, 1, nil, nil])
        #expect(!context.debugDescription.contains("secret"))
    }

    /// Keeps its decoder beyond the call that decodes.
    private struct Kept: Decodable {
        let decoder: any Decoder

        init(from decoder: any Decoder) { self.decoder = decoder }
    }

    @Test(arguments: [0, 5000])
    func `a decoder that is kept works when the payload is gone`(padding: Int) throws {
        let words = Array(repeating: "word", count: padding)
        var kept: [Kept] = []
        for number in 0..<20 { kept.append(try Payload([["n": number]], words).decode([Kept].self)[0]) }
        if padding > 0 { kept.append(try Payload([words]).decode([Kept].self)[0]) }
        for number in 0..<20 { #expect(try [String: Int](from: kept[number].decoder) == ["n": number]) }
        if padding > 0 { #expect(try [String](from: kept[20].decoder) == words) }
        #expect(kept[0].decoder.codingPath.map(\.intValue) == [0])
    }

    private struct Curious: Codable {
        let number: Int

        static func coder() throws -> PayloadCoder {
            PayloadCoder(userInfo: [try #require(CodingUserInfoKey(rawValue: "test")): 7])
        }

        init() { self.number = 0 }

        init(from decoder: any Decoder) throws {
            guard let number = decoder.userInfo.values.first as? Int else { throw CancellationError() }
            self.number = number
        }

        func encode(to encoder: any Encoder) throws {
            guard encoder.userInfo.values.first as? Int == 7 else { throw CancellationError() }
            var container = encoder.singleValueContainer()
            try container.encode(encoder.codingPath.map(\.stringValue))
        }
    }

    @Test
    func `user info and paths reach the types`() throws {
        let coder = try Curious.coder()
        let payload = try Payload(["a": [Curious()]], coder: coder)
        #expect(Self.text(payload) == #"{"a":[["a","Index 0"]]}"#)
        #expect(try payload.decode([String: [Curious]].self, coder: coder)["a"]?.first?.number == 7)
        #expect(throws: LinkspanError.self) { try payload.decode([String: [Curious]].self) }
    }
}
