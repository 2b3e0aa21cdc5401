/// Writes one value: what `encode(to:)` of a type gets.
///
/// Three words, so that it fits into an existential without an allocation.
struct PayloadEncoder: Encoder, SingleValueEncodingContainer {
    let writer: JSONWriter
    let place: JSONWriter.Place

    /// Whether this is the value that was given to the coder, and not inside another one.
    var isOutermost: Bool { self.place.level == 0 && self.writer.outer == nil }

    var codingPath: [any CodingKey] { self.writer.codingPath(self.place.level) }

    var userInfo: [CodingUserInfoKey: Any] { self.writer.rules.userInfo }

    func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        self.writer.open(isObject: true, at: self.place)
        return KeyedEncodingContainer(KeyedWriter(encoder: self))
    }

    func unkeyedContainer() -> any UnkeyedEncodingContainer {
        self.writer.open(isObject: false, at: self.place)
        return UnkeyedWriter(encoder: self)
    }

    func singleValueContainer() -> any SingleValueEncodingContainer { self }

    func encodeNil() throws { try self.writer.single(self.place) { self.writer.writeNull() } }

    // One generic method is the witness of all the requirements for single types.
    @inline(__always)
    func encode<Value: Encodable>(_ value: Value) throws {
        try self.writer.single(self.place) { try self.writer.write(value) }
    }
}

extension PayloadEncoder {
    /// Makes the encoder of everything that a writer writes.
    init(_ writer: JSONWriter) { self.init(writer: writer, place: JSONWriter.Place(start: 0, level: 0)) }
}

/// Writes the members of an object.
struct KeyedWriter<Key: CodingKey>: KeyedEncodingContainerProtocol {
    let encoder: PayloadEncoder

    var writer: JSONWriter { self.encoder.writer }

    var codingPath: [any CodingKey] { self.encoder.codingPath }

    func encodeNil(forKey key: Key) throws {
        try self.writer.member(key, in: self.encoder.place) { self.writer.writeNull() }
    }

    // One generic method is the witness of all the requirements for single types.
    @inline(__always)
    func encode<Value: Encodable>(_ value: Value, forKey key: Key) throws {
        try self.writer.member(key, in: self.encoder.place) {
            if JSONWriter.isPlain(Value.self) { return try self.writer.write(value) }
            try self.writer.write(value, under: key)
        }
    }

    func nestedContainer<NestedKey: CodingKey>(
        keyedBy type: NestedKey.Type, forKey key: Key
    ) -> KeyedEncodingContainer<NestedKey> {
        PayloadEncoder(self.writer.nested(key, in: self.encoder.place)).container(keyedBy: type)
    }

    func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
        PayloadEncoder(self.writer.nested(key, in: self.encoder.place)).unkeyedContainer()
    }

    func superEncoder() -> any Encoder { PayloadEncoder(self.writer.nested(PayloadKey.super, in: self.encoder.place)) }

    func superEncoder(forKey key: Key) -> any Encoder {
        PayloadEncoder(self.writer.nested(key, in: self.encoder.place))
    }
}

/// Writes the elements of an array.
struct UnkeyedWriter: UnkeyedEncodingContainer {
    let encoder: PayloadEncoder

    var writer: JSONWriter { self.encoder.writer }

    var codingPath: [any CodingKey] { self.encoder.codingPath }

    var count: Int { self.writer.count(in: self.encoder.place) }

    func encodeNil() throws { try self.writer.element(in: self.encoder.place) { self.writer.writeNull() } }

    // One generic method is the witness of all the requirements for single types.
    @inline(__always)
    func encode<Value: Encodable>(_ value: Value) throws {
        try self.writer.element(in: self.encoder.place) {
            if JSONWriter.isPlain(Value.self) { return try self.writer.write(value) }
            try self.writer.write(value, under: PayloadKey.index(self.count))
        }
    }

    func nestedContainer<NestedKey: CodingKey>(
        keyedBy type: NestedKey.Type
    ) -> KeyedEncodingContainer<NestedKey> {
        PayloadEncoder(self.writer.nested(in: self.encoder.place)).container(keyedBy: type)
    }

    func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer {
        PayloadEncoder(self.writer.nested(in: self.encoder.place)).unkeyedContainer()
    }

    func superEncoder() -> any Encoder { PayloadEncoder(self.writer.nested(in: self.encoder.place)) }
}
