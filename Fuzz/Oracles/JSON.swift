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

/// A JSON value as RFC 8259 has it, read by a parser that shares nothing with the one under test.
///
/// It recurses and builds everything, which the SDK must not do; here it makes the second opinion easy to believe.
indirect enum ReferenceJSON {
    case null
    case bool(Bool)
    case number(String)
    case string(String)
    case array([Self])
    case object([(key: String, value: Self)])

    /// Why a text is none.
    enum Problem: Error {
        case malformed
        /// More nested than any limit; given up, so that the parser cannot overflow the stack.
        case tooDeep
    }

    /// Reads comma-separated values, as payloads have them.
    static func elements(_ text: [UInt8]) throws(Problem) -> [Self] {
        var reader = Reader(text: text)
        reader.skipSpace()
        guard reader.next != nil else { return [] }
        var elements: [Self] = []
        repeat {
            reader.skipSpace()
            elements.append(try reader.value(depth: 0))
            reader.skipSpace()
        } while reader.take(",")
        guard reader.next == nil else { throw .malformed }
        return elements
    }

    /// The number of values in the tree, this one included.
    var count: Int {
        switch self {
        case .null, .bool, .number, .string: 1
        case .array(let elements): elements.reduce(1) { $0 + $1.count }
        case .object(let members): members.reduce(1) { $0 + $1.value.count }
        }
    }

    /// The depth of nested arrays and objects; 0 for a scalar.
    var depth: Int {
        switch self {
        case .null, .bool, .number, .string: 0
        case .array(let elements): 1 + (elements.map(\.depth).max() ?? 0)
        case .object(let members): 1 + (members.map(\.value.depth).max() ?? 0)
        }
    }

    /// Every object in it.
    var objects: [[(key: String, value: Self)]] {
        switch self {
        case .null, .bool, .number, .string: []
        case .array(let elements): elements.flatMap(\.objects)
        case .object(let members): [members] + members.flatMap(\.value.objects)
        }
    }
}

extension ReferenceJSON {
    private struct Reader {
        static let maximumDepth = 256
        let text: [UInt8]
        var position = 0

        var next: UInt8? { self.position < self.text.count ? self.text[self.position] : nil }

        mutating func take(_ character: Unicode.Scalar) -> Bool {
            guard self.next == UInt8(ascii: character) else { return false }
            self.position += 1
            return true
        }

        mutating func skipSpace() {
            while let byte = self.next, " \t\r\n".utf8.contains(byte) { self.position += 1 }
        }

        mutating func word(_ word: String, _ value: ReferenceJSON) throws(Problem) -> ReferenceJSON {
            guard self.text[self.position...].starts(with: word.utf8) else { throw .malformed }
            self.position += word.utf8.count
            return value
        }

        mutating func value(depth: Int) throws(Problem) -> ReferenceJSON {
            guard depth < Self.maximumDepth else { throw .tooDeep }
            switch self.next {
            case UInt8(ascii: "n"): return try self.word("null", .null)
            case UInt8(ascii: "t"): return try self.word("true", .bool(true))
            case UInt8(ascii: "f"): return try self.word("false", .bool(false))
            case UInt8(ascii: "\""): return .string(try self.string())
            case UInt8(ascii: "["): return try self.array(depth: depth)
            case UInt8(ascii: "{"): return try self.object(depth: depth)
            default: return .number(try self.number())
            }
        }

        private mutating func array(depth: Int) throws(Problem) -> ReferenceJSON {
            self.position += 1
            self.skipSpace()
            guard !self.take("]") else { return .array([]) }
            var elements: [ReferenceJSON] = []
            repeat {
                self.skipSpace()
                elements.append(try self.value(depth: depth + 1))
                self.skipSpace()
            } while self.take(",")
            guard self.take("]") else { throw .malformed }
            return .array(elements)
        }

        private mutating func object(depth: Int) throws(Problem) -> ReferenceJSON {
            self.position += 1
            self.skipSpace()
            guard !self.take("}") else { return .object([]) }
            var members: [(key: String, value: ReferenceJSON)] = []
            repeat {
                self.skipSpace()
                guard self.next == UInt8(ascii: "\"") else { throw .malformed }
                let key = try self.string()
                self.skipSpace()
                guard self.take(":") else { throw .malformed }
                self.skipSpace()
                members.append((key, try self.value(depth: depth + 1)))
                self.skipSpace()
            } while self.take(",")
            guard self.take("}") else { throw .malformed }
            return .object(members)
        }

        /// In UTF-16, as the escapes are meant.
        private mutating func string() throws(Problem) -> String {
            self.position += 1
            var result = ""
            var units: [UInt16] = []
            var bytes: [UInt8] = []
            while let byte = self.next {
                self.position += 1
                if byte == UInt8(ascii: "\\") {
                    result += String(decoding: bytes, as: UTF8.self)
                    bytes = []
                    units.append(try self.escape())
                    continue
                }
                result += String(decoding: units, as: UTF16.self)
                units = []
                if byte == UInt8(ascii: "\"") { return result + String(decoding: bytes, as: UTF8.self) }
                guard byte >= 0x20 else { throw .malformed }
                bytes.append(byte)
            }
            throw .malformed
        }

        private mutating func escape() throws(Problem) -> UInt16 {
            guard let byte = self.next else { throw .malformed }
            self.position += 1
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): return UInt16(byte)
            case UInt8(ascii: "b"): return 8
            case UInt8(ascii: "t"): return 9
            case UInt8(ascii: "n"): return 10
            case UInt8(ascii: "f"): return 12
            case UInt8(ascii: "r"): return 13
            case UInt8(ascii: "u"):
                let digits = self.text[self.position...].prefix(4)
                let isHex = digits.allSatisfy { "0123456789abcdefABCDEF".utf8.contains($0) }
                guard digits.count == 4, isHex, let unit = UInt16(FuzzInput.text(digits), radix: 16) else {
                    throw .malformed
                }
                self.position += 4
                return unit
            default: throw .malformed
            }
        }

        private mutating func number() throws(Problem) -> String {
            let start = self.position
            _ = self.take("-")
            if !self.take("0") { try self.digits() }
            if self.take(".") { try self.digits() }
            if self.take("e") || self.take("E") {
                if !self.take("+") { _ = self.take("-") }
                try self.digits()
            }
            return FuzzInput.text(self.text[start..<self.position])
        }

        private mutating func digits() throws(Problem) {
            let start = self.position
            while let byte = self.next, (0x30...0x39).contains(byte) { self.position += 1 }
            guard self.position > start else { throw .malformed }
        }
    }
}
