/// Decodes one value as it was given: a text, a list of texts, or texts by text.
struct GivenValue: Decoder {
    let name: String
    let value: OptionValue
    var codingPath: [any CodingKey] { [] }
    var userInfo: [CodingUserInfoKey: Any] { [:] }

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
        if let list = type as? any OptionListType.Type {
            guard case .list(let texts) = self.value else { throw self.mismatch("a list") }
            if let value = try list.read(texts, of: self.name) as? Value { return value }
        }
        if let map = type as? any OptionMapType.Type {
            guard case .map(let texts) = self.value else { throw self.mismatch("a map") }
            if let value = try map.read(texts, of: self.name) as? Value { return value }
        }
        do {
            return try Value(from: self)
        } catch is DecodingError {
            throw self.mismatch("a value of type \(Value.self)")
        }
    }

    func text() throws -> String {
        switch self.value {
        case .text(let text): text
        case .number(let number): "\(number)"
        case .decimal(let number): "\(number)"
        case .flag(let flag): "\(flag)"
        case .duration(let duration): "\(duration / .seconds(1))"
        case .list, .map: throw self.mismatch("a single value")
        }
    }

    func mismatch(_ expectation: String) -> OptionMismatch {
        switch self.value {
        case .list: OptionMismatch(self.name, "expected \(expectation), found a list")
        case .map: OptionMismatch(self.name, "expected \(expectation), found a map")
        default: OptionMismatch(self.name, "expected \(expectation)")
        }
    }

    func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
        throw OptionMismatch(self.name, "an option's type cannot have properties")
    }

    func unkeyedContainer() throws -> any UnkeyedDecodingContainer { throw self.mismatch("a single value") }

    func singleValueContainer() -> any SingleValueDecodingContainer { GivenScalar(value: self) }
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

/// A type of options that are lists.
protocol OptionListType {
    static func read(_ texts: [String], of name: String) throws -> Self
}

extension Array: OptionListType where Element: Decodable {
    static func read(_ texts: [String], of name: String) throws -> Self {
        try texts.indices.map { try GivenValue(name: "\(name)[\($0)]", value: .text(texts[$0])).decode(Element.self) }
    }
}

extension Set: OptionListType where Element: Decodable {
    static func read(_ texts: [String], of name: String) throws -> Self { Set(try [Element].read(texts, of: name)) }
}

/// A type of options that are maps.
protocol OptionMapType {
    static func read(_ texts: [String: String], of name: String) throws -> Self
}

extension Dictionary: OptionMapType where Key == String, Value: Decodable {
    static func read(_ texts: [String: String], of name: String) throws -> Self {
        let members = try texts.sorted { $0.key < $1.key }.map { key, text in
            (key, try GivenValue(name: "\(name).\(key)", value: .text(text)).decode(Value.self))
        }
        return Dictionary(uniqueKeysWithValues: members)
    }
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
