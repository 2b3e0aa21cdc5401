/// Writes one value: what `encode(to:)` of a type gets.
///
/// Three words, so that it fits into an existential without an allocation.
struct PayloadEncoder: Encoder, SingleValueEncodingContainer {
    let writer: JSONWriter
    /// The start of the value in the text.
    let start: Int
    /// The levels around it.
    let level: Int

    /// Whether this is the value that was given to the coder, and not inside another one.
    var isOutermost: Bool { self.level == 0 && self.writer.outer == nil }

    var codingPath: [any CodingKey] { self.writer.codingPath(self.level) }

    var userInfo: [CodingUserInfoKey: Any] { self.writer.rules.userInfo }

    func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        self.writer.open(isObject: true, start: self.start, level: self.level)
        return KeyedEncodingContainer(KeyedWriter(place: self))
    }

    func unkeyedContainer() -> any UnkeyedEncodingContainer {
        self.writer.open(isObject: false, start: self.start, level: self.level)
        return UnkeyedWriter(place: self)
    }

    func singleValueContainer() -> any SingleValueEncodingContainer { self }

    func encodeNil() throws { try self.writer.single(self) { self.writer.writeNull() } }

    // One generic method is the witness of all the requirements for single types.
    @inline(__always)
    func encode<Value: Encodable>(_ value: Value) throws {
        try self.writer.single(self) { try self.writer.write(value) }
    }
}

/// Writes the members of an object.
struct KeyedWriter<Key: CodingKey>: KeyedEncodingContainerProtocol {
    let place: PayloadEncoder

    var writer: JSONWriter { self.place.writer }

    var codingPath: [any CodingKey] { self.place.codingPath }

    func encodeNil(forKey key: Key) throws {
        try self.writer.member(key, in: self.place) { self.writer.writeNull() }
    }

    // One generic method is the witness of all the requirements for single types.
    @inline(__always)
    func encode<Value: Encodable>(_ value: Value, forKey key: Key) throws {
        try self.writer.member(key, in: self.place) {
            if JSONWriter.isPlain(Value.self) { return try self.writer.write(value) }
            try self.writer.write(value, under: key)
        }
    }

    func nestedContainer<NestedKey: CodingKey>(
        keyedBy type: NestedKey.Type, forKey key: Key
    ) -> KeyedEncodingContainer<NestedKey> {
        self.writer.nested(key, in: self.place).container(keyedBy: type)
    }

    func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
        self.writer.nested(key, in: self.place).unkeyedContainer()
    }

    func superEncoder() -> any Encoder { self.writer.nested(PayloadKey.super, in: self.place) }

    func superEncoder(forKey key: Key) -> any Encoder { self.writer.nested(key, in: self.place) }
}

/// Writes the elements of an array.
struct UnkeyedWriter: UnkeyedEncodingContainer {
    let place: PayloadEncoder

    var writer: JSONWriter { self.place.writer }

    var codingPath: [any CodingKey] { self.place.codingPath }

    var count: Int { self.writer.count(in: self.place) }

    func encodeNil() throws { try self.writer.element(in: self.place) { self.writer.writeNull() } }

    // One generic method is the witness of all the requirements for single types.
    @inline(__always)
    func encode<Value: Encodable>(_ value: Value) throws {
        try self.writer.element(in: self.place) {
            if JSONWriter.isPlain(Value.self) { return try self.writer.write(value) }
            try self.writer.write(value, under: PayloadKey.index(self.count))
        }
    }

    func nestedContainer<NestedKey: CodingKey>(
        keyedBy type: NestedKey.Type
    ) -> KeyedEncodingContainer<NestedKey> {
        self.writer.nested(in: self.place).container(keyedBy: type)
    }

    func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer {
        self.writer.nested(in: self.place).unkeyedContainer()
    }

    func superEncoder() -> any Encoder { self.writer.nested(in: self.place) }
}
