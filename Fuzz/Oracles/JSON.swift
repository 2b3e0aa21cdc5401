internal import Foundation
internal import Linkspan

extension FuzzTarget {
    /// The check before anything recursive, and the access to values that are still text.
    ///
    /// It accepts exactly what RFC 8259 allows within the limits, agrees with Foundation, and reads what is written.
    public static let json = Self(name: "json", maximumLength: 4096) { input throws(Violation) in
        let expected = try? ReferenceJSON.elements(input)
        let payload = Result { () throws(JSONScanError) in try Payload(scanning: input[...]) }
        switch (payload, expected) {
        case (.success(let payload), let expected?):
            try JSONOracle.checkLimits(expected)
            // A key that is not UTF-8 cannot be asked for; frames are checked before.
            if FuzzInput.isUTF8(input) { try JSONOracle.compare(payload.values, with: expected) }
            try JSONOracle.askFoundation(input, expected)
        case (.success, nil):
            throw Violation(message: "malformed text is accepted")
        case (.failure(let error), let expected):
            try require((0...input.count).contains(error.offset), "the error is outside the text")
            try JSONOracle.checkRefusal(error, expected)
        }
    }
}

private enum JSONOracle {
    static func checkLimits(_ expected: [ReferenceJSON]) throws(Violation) {
        let depth = expected.map(\.depth).max() ?? 0
        try require(depth <= JSONScanner.maximumDepth, "depth \(depth) is accepted")
        let count = expected.reduce(0) { $0 + $1.count }
        try require(count <= JSONScanner.maximumValues, "\(count) values are accepted")
    }

    /// What the reference accepts may be refused for a limit only.
    static func checkRefusal(_ error: JSONScanError, _ expected: [ReferenceJSON]?) throws(Violation) {
        guard let expected else { return }
        switch error.reason {
        case .tooDeep:
            try require(
                expected.contains { $0.depth > JSONScanner.maximumDepth }, "refused for a depth that it does not have")
        case .tooManyValues:
            let count = expected.reduce(0) { $0 + $1.count }
            try require(count > JSONScanner.maximumValues, "refused for values that it does not have")
        case .truncated, .unexpectedByte:
            throw Violation(message: "well-formed text is refused: \(error)")
        }
    }

    static func compare(_ values: [PayloadValue], with expected: [ReferenceJSON]) throws(Violation) {
        try require(values.count == expected.count, "\(values.count) values instead of \(expected.count)")
        for (value, expected) in zip(values, expected) { try Self.compare(value, with: expected) }
    }

    private static func compare(_ value: PayloadValue, with expected: ReferenceJSON) throws(Violation) {
        switch expected {
        case .null:
            try require(value.isNull && value.bool == nil && value.double == nil, "null is something")
        case .bool(let flag):
            try require(value.bool == flag && !value.isNull && value.string == nil, "a flag is wrong")
        case .number(let text):
            try require(value.double == Double(text), "\(text) is read as \(String(describing: value.double))")
            try require(value.int == Int(text), "\(text) is read as \(String(describing: value.int))")
        case .string(let text):
            try require(
                value.string.map { $0.utf8.elementsEqual(text.utf8) } ?? false, "a string is read as another")
        case .array(let elements):
            guard let found = value.elements else { throw Violation(message: "an array has no elements") }
            try Self.compare(found, with: elements)
            for index in [0, elements.count - 1, elements.count, -1] {
                let expected = found.indices.contains(index) ? found[index].text : nil
                try require(value[index]?.text == expected, "element \(index) is another one")
            }
        case .object(let members):
            // Of repeated keys the first counts. Keys are compared by bytes, not as Unicode has it.
            var known: Set<[UInt8]> = []
            for member in members where known.insert(Array(member.key.utf8)).inserted {
                guard let found = value[member.key] else { throw Violation(message: "a member is not found") }
                try Self.compare(found, with: member.value)
            }
        }
    }

    /// Asks a third parser, so that the other two cannot share a mistake.
    static func askFoundation(_ input: [UInt8], _ expected: [ReferenceJSON]) throws(Violation) {
        // It decodes all strings, and refuses what has no exact meaning: half a surrogate pair, a number out of range.
        guard FuzzInput.isUTF8(input), !Self.hasRoomForOpinions(input) else { return }
        let text = [UInt8(ascii: "[")] + input + [UInt8(ascii: "]")]
        let parsed = try? JSONSerialization.jsonObject(with: Data(text)) as? [Any]
        try require(parsed?.count == expected.count, "Foundation refuses it or counts otherwise")
    }

    private static func hasRoomForOpinions(_ input: [UInt8]) -> Bool {
        let text = FuzzInput.text(input).lowercased()
        return text.contains(#"\ud"#) || text.contains("e") || text.utf8.contains(0)
            || text.split { !"0123456789.".contains($0) }.contains { $0.utf8.count > 15 }
    }
}
