internal import Foundation
internal import Linkspan

extension FuzzTarget {
    /// Decoding payloads into types, and writing what was read.
    ///
    /// The SDK's coder reads what Foundation's reads under the same rules, as the same value, and refuses the rest; what it
    /// writes is read again by both as what it was.
    public static let payloadCoder = Self(name: "payload-coder", maximumLength: 2048) { input throws(Violation) in
        let payload = Payload(trustedElements: input[...], attachments: [[1], [2, 3]])
        // Whatever somebody vouches for: nothing may trap.
        let value = try? payload.decode(CoderOracle.Anything.self)
        guard (try? Payload(checking: input[...])) != nil, let first = payload[0], payload.values.count == 1 else {
            return try require(value == nil || payload[0] != nil, "a value is read where none is")
        }
        // Bytes that are not UTF-8 and halves of surrogate pairs are listed differences.
        guard FuzzInput.isUTF8(input), !FuzzInput.text(input).lowercased().contains("\\ud") else { return }
        try CoderOracle.compare(CoderOracle.Anything.self, first)
        try CoderOracle.compare(CoderOracle.Sample.self, first)
        try CoderOracle.compare([CoderOracle.Sample].self, first)
        try CoderOracle.compare([String: CoderOracle.Shape].self, first)
    }
}

private enum CoderOracle {
    struct Sample: Codable, Equatable {
        var small: Int8?
        var large: UInt64?
        var ratio: Double?
        var single: Float?
        var at: Date?
        var blob: Data?
        var list: [Int]?
        var price: Decimal?
        var link: URL?
        var text: String?
        var shape: Shape?
        var numbered: [Int: Bool]?
    }

    indirect enum Shape: Codable, Equatable {
        case point
        case circle(radius: Double)
        case group([Shape], name: String?)
    }

    private struct Placeholder: Decodable {
        let flag: Bool
        let number: Int

        enum CodingKeys: String, CodingKey {
            case flag = "_placeholder"
            case number = "num"
        }
    }

    indirect enum Anything: Codable, Equatable {
        case null
        case bool(Bool)
        case number(Double)
        case string(String)
        case array([Anything])
        case object([String: Anything])

        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            if container.decodeNil() {
                self = .null
            } else if let flag = try? container.decode(Bool.self) {
                self = .bool(flag)
            } else if let number = try? container.decode(Double.self) {
                self = .number(number)
            } else if let text = try? container.decode(String.self) {
                self = .string(text)
            } else if var array = try? decoder.unkeyedContainer() {
                var elements: [Anything] = []
                while !array.isAtEnd { elements.append(try array.decode(Anything.self)) }
                self = .array(elements)
            } else {
                self = .object(try container.decode([String: Anything].self))
            }
        }

        func encode(to encoder: any Encoder) throws {
            var container = encoder.singleValueContainer()
            switch self {
            case .null: try container.encodeNil()
            case .bool(let flag): try container.encode(flag)
            case .number(let number): try container.encode(number)
            case .string(let text): try container.encode(text)
            case .array(let elements): try container.encode(elements)
            case .object(let members): try container.encode(members)
            }
        }
    }

    static func compare<Value: Codable & Equatable>(_ type: Value.Type, _ text: PayloadValue) throws(Violation) {
        let own = try? text.decode(type)
        let foundation = Self.foundation(type, text.text, attachments: [[1], [2, 3]])
        if own == nil, foundation != nil, Self.hasNearlyInteger(text) { return }
        try require(own == foundation, "as \(type) it is \(String(describing: own)), \(String(describing: foundation))")
        guard let value = own else { return }
        guard let written = try? Payload(value) else {
            throw Violation(message: "what was read as \(type) cannot be written")
        }
        let again = try? written.decode(type)
        let other = Self.foundation(type, written.elements, attachments: written.attachments)
        try require(again == other, "what is written of a \(type) is read in two ways")
        // A date is written with milliseconds.
        try require(again == value || Self.mayHoldDate(type), "a \(type) is written as something else")
    }

    /// The value that Foundation's decoder reads from the text, with dates and blobs in the SDK's standard forms; nil if it refuses.
    private static func foundation<Value: Decodable>(
        _ type: Value.Type, _ text: ArraySlice<UInt8>, attachments: [ArraySlice<UInt8>]
    ) -> Value? {
        // The decoder recurses, and the scan bounds the depth.
        guard (try? Payload(checking: text)) != nil else { return nil }
        let decoder = JSONDecoder()
        decoder.dateDecodingStrategy = .custom { decoder in
            try Payload(try decoder.singleValueContainer().decode(String.self)).decode(Date.self)
        }
        decoder.dataDecodingStrategy = .custom { decoder in
            let placeholder = try decoder.singleValueContainer().decode(Placeholder.self)
            guard placeholder.flag, attachments.indices.contains(placeholder.number) else {
                throw Violation(message: "there is no such attachment")
            }
            return Data(attachments[placeholder.number])
        }
        return try? decoder.decode(type, from: Data(text))
    }

    /// A listed difference: Foundation rounds before it asks whether a number is an integer.
    private static func hasNearlyInteger(_ text: PayloadValue) -> Bool {
        FuzzInput.text(Array(text.text)).split { !"0123456789.".contains($0) }.contains { $0.utf8.count > 15 }
    }

    private static func mayHoldDate(_ type: any Any.Type) -> Bool { type == Sample.self || type == [Sample].self }
}
