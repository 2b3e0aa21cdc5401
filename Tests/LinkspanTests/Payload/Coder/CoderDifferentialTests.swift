internal import Foundation
internal import Linkspan
internal import LinkspanTesting
internal import Testing

/// The SDK's coder against Foundation's, under the same rules.
@Suite("Payload coder against Foundation")
struct CoderDifferentialTests {
    /// A set of rules with both coders.
    struct Rules: Sendable, CustomTestStringConvertible {
        let name: String
        let own: PayloadCoder
        let foundation: FoundationCoder

        var testDescription: String { self.name }

        init(
            _ name: String, dates: PayloadCoder.Dates = .iso8601, usesSnakeCase: Bool = false,
            writesBase64: Bool = false,
            floats: (positiveInfinity: String, negativeInfinity: String, nan: String)? = nil
        ) {
            self.name = name
            self.own = PayloadCoder(
                dates: dates, usesSnakeCase: usesSnakeCase, writesBase64: writesBase64, nonConformingFloats: floats)
            self.foundation = FoundationCoder(self.own)
        }

        static let all = [
            Rules("standard"),
            Rules("seconds, snake case, Base64", dates: .secondsSince1970, usesSnakeCase: true, writesBase64: true),
            Rules(
                "milliseconds, strings for infinity", dates: .millisecondsSince1970,
                floats: (positiveInfinity: "+inf", negativeInfinity: "-inf", nan: "nan")),
            Rules(
                "deferred dates", dates: .deferred),
            Rules(
                "custom dates",
                dates: .custom(
                    encode: { seconds, encoder in
                        var container = encoder.container(keyedBy: PrefixedKey.self)
                        try container.encode(seconds, forKey: PrefixedKey("seconds"))
                    },
                    decode: {
                        try $0.container(keyedBy: PrefixedKey.self).decode(Double.self, forKey: PrefixedKey("seconds"))
                    })),
        ]
    }

    struct PrefixedKey: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }

        init(_ name: String) { self.stringValue = name }

        init(stringValue: String) { self.stringValue = stringValue }

        init?(intValue: Int) { nil }
    }

    /// How many values of each type and set of rules; CODER_VALUES=2500 makes 100,000.
    private static let count = ProcessInfo.processInfo.environment["CODER_VALUES"].flatMap(Int.init) ?? 25

    @Test(arguments: Rules.all)
    func `every value is written and read as by Foundation, and every damaged text`(rules: Rules) throws {
        try Self.compare(Scalars.self, rules)
        try Self.compare(FoundationValues.self, rules)
        try Self.compare(Collections.self, rules)
        try Self.compare(Shape.self, rules)
        try Self.compare(AnyJSON.self, rules)
        try Self.compare(Dog.self, rules)
        try Self.compare(Containers.self, rules)
        try Self.compare(Everything.self, rules)
    }

    private static func compare<Value: RandomValue>(_ type: Value.Type, _ rules: Rules) throws {
        for seed in 0..<UInt64(Self.count) {
            var generator = SeededGenerator(seed: seed)
            let value = Value.random(&generator)
            let own = try Payload(value, coder: rules.own)
            let foundation = try rules.foundation.encode(value)
            let comment: Comment = "\(type), seed \(seed): \(String(decoding: own.elements, as: UTF8.self))"
            // Dates as numbers are rounded by either coder in the same way.
            let expected = try rules.foundation.decode(type, from: foundation)
            #expect(try own.decode(type, coder: rules.own) == expected, comment)
            #expect(try rules.foundation.decode(type, from: own) == expected, comment)
            #expect(try foundation.decode(type, coder: rules.own) == expected, comment)
            if own.attachments.isEmpty {
                #expect(
                    try FoundationCoder.standard.decode(AnyJSON.self, from: own)
                        == FoundationCoder.standard.decode(AnyJSON.self, from: foundation), comment)
            }
            for _ in 0..<4 {
                let damaged = Damage.apply(to: Array(own.elements), &generator)
                try Self.compareDamaged(type, damaged, own.attachments, rules, seed)
            }
        }
    }

    /// Both read the same value, or both refuse, and then for the same reason at the same place.
    private static func compareDamaged<Value: RandomValue>(
        _ type: Value.Type, _ text: [UInt8], _ attachments: [ArraySlice<UInt8>], _ rules: Rules, _ seed: UInt64
    ) throws {
        let payload = Payload(trustedElements: text[...], attachments: attachments)
        guard payload[0]?.text.count == text.count, !Damage.isListedDifference(text) else {
            // Not exactly one JSON value: nothing may trap, and nothing is read where none begins.
            let value = try? payload.decode(type, coder: rules.own)
            if payload[0] == nil { #expect(value == nil) }
            return
        }
        let comment: Comment = "\(type), seed \(seed): \(String(decoding: text, as: UTF8.self))"
        let own = Result { try payload.decode(type, coder: rules.own) }
        let foundation = Result { try rules.foundation.decode(type, from: payload) }
        switch (own, foundation) {
        case (.success(let own), .success(let foundation)): #expect(own == foundation, comment)
        case (.failure(let own), .failure(let foundation)):
            // Foundation reads the members of a dictionary in any order, and finds another mistake first.
            guard type != AnyJSON.self, type != Collections.self, type != Everything.self else { return }
            #expect(Self.reason(own) == Self.reason(foundation), comment)
        case (.success(let own), .failure(let error)):
            Issue.record("only Foundation refuses it: \(own) \(error) \(comment)")
        case (.failure(let error), .success):
            Issue.record("Foundation reads it: \(error) \(comment)")
        }
    }

    /// The kind of an error and the path to it.
    private static func reason(_ error: any Error) -> String {
        func text(_ path: [any CodingKey]) -> String { path.map(\.stringValue).joined(separator: "/") }
        switch error as? DecodingError ?? (error as? LinkspanError)?.cause as? DecodingError {
        case .typeMismatch(let type, let context)?: return "mismatch \(type) \(text(context.codingPath))"
        // A listed difference: null in place of a Boolean is a mismatch for Foundation.
        case .valueNotFound(let type, let context)? where type == Bool.self:
            return "mismatch Bool \(text(context.codingPath))"
        // And so is a super-decoder for what is not there.
        case .valueNotFound(_, let context)? where context.codingPath.last?.stringValue == "super":
            return "missing super \(text(context.codingPath.dropLast()))"
        case .valueNotFound(let type, let context)?: return "null \(type) \(text(context.codingPath))"
        case .keyNotFound(let key, let context)?: return "missing \(key.stringValue) \(text(context.codingPath))"
        // And for a number out of range it tells no path.
        case .dataCorrupted?: return "corrupted"
        default: return "\(error)"
        }
    }
}

/// Changes a JSON text so that it is another one, or none.
enum Damage {
    private static let values = [
        "null", "true", "0", "-1", "1.5", "1.0", "1e2", "300", "-0", "70000", "9223372036854775807",
        "9223372036854775808",
        "18446744073709551616", "0.1e1", "\"\"", "\"x\"", "\"+inf\"", "\"2026-01-31\"", "\"2026-02-30T00:00:00Z\"",
        "[]",
        "{}", "[1]", "{\"a\":1}", "{\"_placeholder\":true,\"num\":0}", "\"\\u0061\\n\"", "\"AQI=\"", " [ 1 , 2 ] ",
    ]

    static func apply(to text: [UInt8], _ generator: inout SeededGenerator) -> [UInt8] {
        var text = text
        let index = Int.random(in: 0..<text.count, using: &generator)
        switch Int.random(in: 0..<8, using: &generator) {
        case 0: text.remove(at: index)
        case 1: text[index] ^= 1 << UInt8.random(in: 0..<7, using: &generator)
        case 2: text.removeSubrange(index...)
        case 3: text.insert(UInt8(ascii: " "), at: index)
        default:
            // Another value in place of one.
            let starts = text.indices.filter {
                [UInt8(ascii: ":"), UInt8(ascii: "["), UInt8(ascii: ",")].contains(text[$0])
            }
            let start = (starts.randomElement(using: &generator) ?? -1) + 1
            let end = text.withUnsafeBufferPointer { bytes in
                var scanner = JSONScanner()
                return (try? scanner.skipValue(bytes, from: start)) ?? bytes.count
            }
            let value = Self.values[Int.random(in: 0..<Self.values.count, using: &generator)]
            text.replaceSubrange(start..<max(start, end), with: value.utf8)
        }
        return text
    }

    /// Whether a text may hold one of the listed differences: half a surrogate pair, bytes that are not UTF-8.
    static func isListedDifference(_ text: [UInt8]) -> Bool {
        guard let string = String(validating: text, as: UTF8.self), !text.contains(0) else {
            return true
        }
        return string.lowercased().contains("\\ud")
    }
}
