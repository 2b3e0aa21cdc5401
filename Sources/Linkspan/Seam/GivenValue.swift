/// Decodes one value as it was given: a text, a list of texts, or texts by text.
struct GivenValue: Decoder {
    private enum Shape {
        case text(String)
        case list([String])
        case map([String: String])
    }

    private let name: String
    private let shape: Shape
    var codingPath: [any CodingKey] { [] }
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    init(name: String, _ value: OptionValue) {
        self.name = name
        self.shape =
            switch value {
            case .text(let text): .text(text)
            case .number(let number): .text("\(number)")
            case .decimal(let number): .text("\(number)")
            case .flag(let flag): .text("\(flag)")
            case .duration(let duration): .text("\(duration / .seconds(1))")
            case .list(let list): .list(list)
            case .map(let map): .map(map)
            }
    }

    private init(name: String, text: String) {
        self.name = name
        self.shape = .text(text)
    }

    func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
        if type == Duration.self {
            // A duration cannot be made of any number.
            guard let seconds = Double(try self.text()), abs(seconds) < 1e9,
                let value = Duration.seconds(seconds) as? Value
            else {
                throw self.mismatch("a number of seconds")
            }
            return value
        }
        do {
            return try Value(from: self)
        } catch is DecodingError {
            throw self.mismatch("a value of type \(Value.self)")
        }
    }

    func text() throws -> String {
        guard case .text(let text) = self.shape else { throw self.mismatch("a single value") }
        return text
    }

    func mismatch(_ expectation: String) -> OptionMismatch {
        switch self.shape {
        case .text: OptionMismatch(self.name, "expected \(expectation)")
        case .list: OptionMismatch(self.name, "expected \(expectation), found a list")
        case .map: OptionMismatch(self.name, "expected \(expectation), found a map")
        }
    }

    func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
        guard case .map(let map) = self.shape else { throw self.mismatch("a map") }
        return KeyedDecodingContainer(GivenMap<Key>(name: self.name, values: map))
    }

    func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
        guard case .list(let list) = self.shape else { throw self.mismatch("a list") }
        return GivenList(name: self.name, values: list)
    }

    func singleValueContainer() -> any SingleValueDecodingContainer { GivenScalar(value: self) }

    static func element(_ name: String, _ text: String) -> Self { Self(name: name, text: text) }
}

private struct GivenScalar: SingleValueDecodingContainer {
    let value: GivenValue
    var codingPath: [any CodingKey] { [] }

    func decodeNil() -> Bool { false }
    func decode(_ type: String.Type) throws -> String { try self.value.text() }
    func decode(_ type: Bool.Type) throws -> Bool {
        switch try self.value.text().lowercased() {
        case "true", "yes", "on", "1": true
        case "false", "no", "off", "0": false
        default: throw self.value.mismatch("true or false")
        }
    }
    func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
        guard let number = type as? any (Numeric & LosslessStringConvertible).Type else {
            return try self.value.decode(type)
        }
        if let value = number.init(try self.value.text()) as? Value { return value }
        guard number is any FixedWidthInteger.Type else { throw self.value.mismatch("a number") }
        throw self.value.mismatch(number is any UnsignedInteger.Type ? "a whole number from 0" : "a whole number")
    }
}

private struct GivenList: UnkeyedDecodingContainer {
    let name: String
    let values: [String]
    var currentIndex = 0
    var codingPath: [any CodingKey] { [] }
    var count: Int? { self.values.count }
    var isAtEnd: Bool { self.currentIndex >= self.values.count }

    mutating func decodeNil() -> Bool { false }

    mutating func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
        guard !self.isAtEnd else { throw OptionMismatch(self.name, "has too few elements") }
        defer { self.currentIndex += 1 }
        return try GivenValue.element("\(self.name)[\(self.currentIndex)]", self.values[self.currentIndex]).decode(type)
    }

    mutating func nestedContainer<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
        throw OptionMismatch(self.name, "a list cannot have sections")
    }

    mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
        throw OptionMismatch(self.name, "a list cannot have lists")
    }

    mutating func superDecoder() throws -> any Decoder {
        throw OptionMismatch(self.name, "a list cannot have sections")
    }
}

private struct GivenMap<Key: CodingKey>: KeyedDecodingContainerProtocol {
    let name: String
    let values: [String: String]
    var codingPath: [any CodingKey] { [] }
    var allKeys: [Key] { self.values.keys.sorted().compactMap { Key(stringValue: $0) } }

    func contains(_ key: Key) -> Bool { self.values[key.stringValue] != nil }

    func decodeNil(forKey key: Key) -> Bool { false }

    func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value {
        guard let text = self.values[key.stringValue] else {
            throw OptionMismatch(self.name, "the key '\(key.stringValue)' is missing")
        }
        return try GivenValue.element("\(self.name).\(key.stringValue)", text).decode(type)
    }

    func nestedContainer<Nested: CodingKey>(
        keyedBy type: Nested.Type, forKey key: Key
    ) throws -> KeyedDecodingContainer<Nested> {
        throw OptionMismatch(self.name, "a map cannot have sections")
    }

    func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
        throw OptionMismatch(self.name, "a map cannot have lists")
    }

    func superDecoder() throws -> any Decoder { throw OptionMismatch(self.name, "a map cannot have sections") }

    func superDecoder(forKey key: Key) throws -> any Decoder { try self.superDecoder() }
}

/// A value that a type of options does not take.
struct OptionMismatch: Error, CustomStringConvertible {
    var name: String
    var description: String

    init(_ name: String, _ description: String) {
        self.name = name
        self.description = "option '\(name)': \(description)"
    }
}
