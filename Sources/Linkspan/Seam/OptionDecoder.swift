extension PluginOption {
    /// The options that a type has: one for each property that it decodes, of the property's type, with the default that
    /// `defaults` has.
    ///
    /// - Parameters:
    ///   - defaults: an instance with the defaults.
    ///   - summaries: one sentence for a person about each.
    ///   - secrets: the options that must be kept out of files and logs.
    ///   - hot: the options whose change a running service takes over.
    /// - Returns: the declarations.
    package static func options<Options: Decodable>(
        of defaults: Options, summaries: [String: String] = [:], secrets: Set<String> = [], hot: Set<String> = []
    ) -> [PluginOption] {
        let recorder = OptionRecorder()
        _ = try? Options(from: OptionDecoder(given: [:], defaults: defaults, recorder: recorder))
        return recorder.found.map { name, type, fallback in
            PluginOption(
                name, .init(of: type), fallback: fallback, isSecret: secrets.contains(name), isHot: hot.contains(name),
                summaries[name] ?? "An option of the service.")
        }
    }
}

extension OptionValues {
    /// Reads the values as a type; what was not given is as in `defaults`.
    ///
    /// Values are not in the errors, because they may be secret.
    ///
    /// - Parameter defaults: an instance with the defaults.
    /// - Returns: the options.
    /// - Throws: ``LinkspanError`` with code `invalidConfiguration`.
    public func decode<Options: Decodable>(over defaults: Options) throws(LinkspanError) -> Options {
        do {
            return try Options(from: OptionDecoder(given: self.values, defaults: defaults, recorder: nil))
        } catch let error as OptionMismatch {
            throw LinkspanError(.invalidConfiguration, error.description)
        } catch {
            throw LinkspanError(.invalidConfiguration, "the options cannot be read: \(error)", cause: error)
        }
    }
}

extension PluginOption {
    /// A default as text.
    static func text(_ value: Any?) -> String {
        switch value {
        case nil: "none"
        case let duration as Duration: (duration / .seconds(1)).plain
        case let number as Double: number.plain
        case let list as [Any]: list.isEmpty ? "none" : list.map { Self.text($0) }.joined(separator: ", ")
        case let map as [String: Any]:
            map.isEmpty
                ? "none" : map.sorted { $0.key < $1.key }.map { "\($0)=\(Self.text($1))" }.joined(separator: ", ")
        case let value as any RawRepresentable: "\(value.rawValue)"
        case let value?: "\(value)"
        }
    }
}

/// Notes the properties that a type decodes, in order.
private final class OptionRecorder {
    var found: [(name: String, type: any Any.Type, fallback: String)] = []

    func note(_ name: String, _ type: any Any.Type, _ value: Any?) {
        guard !self.found.contains(where: { $0.name == name }) else { return }
        self.found.append((name, type, PluginOption.text(value)))
    }
}

/// Decodes a type of options from given values, and what is missing from an instance with the defaults.
private struct OptionDecoder: Decoder {
    let given: [String: OptionValue]
    let defaults: [String: Any]
    let recorder: OptionRecorder?
    var codingPath: [any CodingKey] { [] }
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    init(given: [String: OptionValue], defaults: Any, recorder: OptionRecorder?) {
        self.given = given
        var values: [String: Any] = [:]
        for child in Mirror(reflecting: defaults).children {
            guard let label = child.label, let value = Self.unwrapped(child.value) else { continue }
            values[label] = value
        }
        self.defaults = values
        self.recorder = recorder
    }

    /// The value inside an optional; nil for none.
    private static func unwrapped(_ value: Any) -> Any? {
        let mirror = Mirror(reflecting: value)
        guard mirror.displayStyle == .optional else { return value }
        return mirror.children.first.flatMap { Self.unwrapped($0.value) }
    }

    func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedDecodingContainer<Key> {
        KeyedDecodingContainer(OptionContainer<Key>(decoder: self))
    }

    func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
        throw OptionMismatch("options", "expected a type with properties")
    }

    func singleValueContainer() throws -> any SingleValueDecodingContainer {
        throw OptionMismatch("options", "expected a type with properties")
    }

    func value<Value: Decodable>(_ type: Value.Type, _ name: String) throws -> Value? {
        let standard = self.defaults[name]
        self.recorder?.note(name, type, standard)
        guard let given = self.given[name] else { return standard as? Value }
        return try GivenValue(name: name, value: given).decode(type)
    }
}

private struct OptionContainer<Key: CodingKey>: KeyedDecodingContainerProtocol {
    let decoder: OptionDecoder
    var codingPath: [any CodingKey] { [] }
    var allKeys: [Key] {
        Set(self.decoder.given.keys).union(self.decoder.defaults.keys).compactMap { Key(stringValue: $0) }
    }

    func contains(_ key: Key) -> Bool { true }

    func decodeNil(forKey key: Key) -> Bool { false }

    // One generic method is the witness of all the requirements for single types.
    func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value {
        if let value = try self.decoder.value(type, key.stringValue) { return value }
        throw OptionMismatch(key.stringValue, "has no default: its property must have this name")
    }

    func decodeIfPresent<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value? {
        try self.decoder.value(type, key.stringValue)
    }

    // For these the requirements have default witnesses, which do not tell the type of a value that is missing.
    func decodeIfPresent(_ type: Bool.Type, forKey key: Key) throws -> Bool? { try self.optional(type, key) }
    func decodeIfPresent(_ type: String.Type, forKey key: Key) throws -> String? { try self.optional(type, key) }
    func decodeIfPresent(_ type: Double.Type, forKey key: Key) throws -> Double? { try self.optional(type, key) }
    func decodeIfPresent(_ type: Float.Type, forKey key: Key) throws -> Float? { try self.optional(type, key) }
    func decodeIfPresent(_ type: Int.Type, forKey key: Key) throws -> Int? { try self.optional(type, key) }
    func decodeIfPresent(_ type: Int64.Type, forKey key: Key) throws -> Int64? { try self.optional(type, key) }
    func decodeIfPresent(_ type: UInt.Type, forKey key: Key) throws -> UInt? { try self.optional(type, key) }

    private func optional<Value: Decodable>(_ type: Value.Type, _ key: Key) throws -> Value? {
        try self.decoder.value(type, key.stringValue)
    }

    func nestedContainer<Nested: CodingKey>(
        keyedBy type: Nested.Type, forKey key: Key
    ) throws -> KeyedDecodingContainer<Nested> {
        throw OptionMismatch(key.stringValue, "a section of options cannot have sections")
    }

    func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
        throw OptionMismatch(key.stringValue, "a section of options cannot have sections")
    }

    func superDecoder() throws -> any Decoder { self.decoder }

    func superDecoder(forKey key: Key) throws -> any Decoder { self.decoder }
}

// MARK: - Kinds of types

extension PluginOption.Kind {
    /// The kind of values that a property of this type takes.
    init(of type: any Any.Type, in range: ClosedRange<Double>? = nil) {
        switch type {
        case is Bool.Type: self = .flag
        case is String.Type: self = .text
        case is Duration.Type: self = .seconds(0...999_999_999)
        case is Double.Type, is Float.Type:
            self = .decimal(-Double.greatestFiniteMagnitude...Double.greatestFiniteMagnitude)
        case let type as any FixedWidthInteger.Type: self = .number(Self.range(of: type))
        case is any OptionListType.Type: self = .list
        case is any OptionMapType.Type: self = .map
        case let type as any (CaseIterable & RawRepresentable).Type: self = Self.choice(of: type) ?? .text
        default: self = .text
        }
        guard let range else { return }
        switch self {
        case .number:
            self = .number((Int(exactly: range.lowerBound) ?? .min)...(Int(exactly: range.upperBound) ?? .max))
        case .seconds: self = .seconds(range)
        case .decimal: self = .decimal(range)
        case .text, .choice, .flag, .list, .map: ()
        }
    }

    private static func range<Value: FixedWidthInteger>(of type: Value.Type) -> ClosedRange<Int> {
        Int(clamping: Value.min)...Int(clamping: Value.max)
    }

    private static func choice<Value: CaseIterable & RawRepresentable>(of type: Value.Type) -> Self? {
        let choices = Value.allCases.compactMap { $0.rawValue as? String }
        return choices.isEmpty ? nil : .choice(choices)
    }
}
