/// Reads one value of a document: what `init(from:)` of a type gets.
///
/// Two words, so that it fits into an existential without an allocation.
struct PayloadDecoder: Decoder, SingleValueDecodingContainer {
    let document: JSONDocument
    let index: Int

    var codingPath: [any CodingKey] { self.document.path(to: self.index) }

    var userInfo: [CodingUserInfoKey: Any] { self.document.rules.userInfo }

    func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
        KeyedDecodingContainer(try KeyedReader(self.document, self.index))
    }

    func unkeyedContainer() throws -> any UnkeyedDecodingContainer { try UnkeyedReader(self.document, self.index) }

    func singleValueContainer() throws -> any SingleValueDecodingContainer { self }

    func decodeNil() -> Bool { self.document.isNull(at: self.index) }

    // One generic method is the witness of all the requirements for single types.
    @inline(__always)
    func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
        try self.document.value(type, at: self.index)
    }
}

/// The members of an object.
struct KeyedReader<Key: CodingKey>: KeyedDecodingContainerProtocol {
    private let members: ObjectMembers

    init(_ document: JSONDocument, _ index: Int) throws { self.members = try ObjectMembers(document, index) }

    var document: JSONDocument { self.members.document }

    var codingPath: [any CodingKey] { self.document.path(to: self.members.object) }

    var allKeys: [Key] { self.members.keys.compactMap { Key(stringValue: $0) } }

    func contains(_ key: Key) -> Bool { self.members.find(key.stringValue) != nil }

    /// The value of a key, or the error that there is none.
    @inline(__always)
    func index(of key: Key) throws -> Int {
        if let index = self.members.find(key.stringValue) { return index }
        throw self.missing(key)
    }

    @inline(never)
    private func missing(_ key: Key) -> DecodingError {
        .keyNotFound(
            key,
            .init(
                codingPath: self.codingPath,
                debugDescription: "No value associated with key \(key) (\"\(key.stringValue)\")."))
    }

    func decodeNil(forKey key: Key) throws -> Bool { self.document.isNull(at: try self.index(of: key)) }

    // One generic method each is the witness of all the requirements for single types.
    @inline(__always)
    func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value {
        try self.document.value(type, at: try self.index(of: key))
    }

    @inline(__always)
    func decodeIfPresent<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value? {
        guard let index = self.members.find(key.stringValue), !self.document.isNull(at: index) else { return nil }
        return try self.document.value(type, at: index)
    }

    func nestedContainer<NestedKey: CodingKey>(
        keyedBy type: NestedKey.Type, forKey key: Key
    ) throws -> KeyedDecodingContainer<NestedKey> {
        KeyedDecodingContainer(try KeyedReader<NestedKey>(self.document, try self.index(of: key)))
    }

    func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
        try UnkeyedReader(self.document, try self.index(of: key))
    }

    func superDecoder() throws -> any Decoder {
        guard let index = self.members.find(PayloadKey.super.stringValue) else {
            throw DecodingError.keyNotFound(
                PayloadKey.super,
                .init(codingPath: self.codingPath, debugDescription: "No value associated with key super (\"super\")."))
        }
        return PayloadDecoder(document: self.document, index: index)
    }

    func superDecoder(forKey key: Key) throws -> any Decoder {
        PayloadDecoder(document: self.document, index: try self.index(of: key))
    }
}

/// The elements of an array, one after another.
struct UnkeyedReader: UnkeyedDecodingContainer {
    let document: JSONDocument
    /// The token of the array.
    private let array: Int
    /// The token of the next element.
    private var next: Int
    private(set) var currentIndex = 0

    init(_ document: JSONDocument, _ array: Int) throws {
        guard document.tokens[array].kind == .array else { throw document.mismatch([Any].self, at: array) }
        self.document = document
        self.array = array
        self.next = array + 1
    }

    var codingPath: [any CodingKey] { self.document.path(to: self.array) }

    var count: Int? { Int(self.document.tokens[self.array].count) }

    var isAtEnd: Bool { self.next >= Int(self.document.tokens[self.array].next) }

    /// Reads the next element and goes on to the one behind it, unless that fails.
    mutating func take<Value>(_ type: Any.Type, _ read: (Int) throws -> Value) throws -> Value {
        guard !self.isAtEnd else { throw self.ended(type) }
        let value = try read(self.next)
        self.advance()
        return value
    }

    private mutating func advance() {
        self.next = Int(self.document.tokens[self.next].next)
        self.currentIndex &+= 1
    }

    @inline(never)
    private func ended(_ type: any Any.Type) -> DecodingError {
        .valueNotFound(
            type,
            .init(
                codingPath: self.codingPath + [PayloadKey.index(self.currentIndex)],
                debugDescription: "Unkeyed container is at end."))
    }

    mutating func decodeNil() throws -> Bool {
        guard !self.isAtEnd else { throw self.ended(Never.self) }
        guard self.document.isNull(at: self.next) else { return false }
        self.advance()
        return true
    }

    // One generic method is the witness of all the requirements for single types.
    @inline(__always)
    mutating func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
        let document = self.document
        return try self.take(type) { try document.value(type, at: $0) }
    }

    mutating func nestedContainer<NestedKey: CodingKey>(
        keyedBy type: NestedKey.Type
    ) throws -> KeyedDecodingContainer<NestedKey> {
        let document = self.document
        return try self.take(KeyedDecodingContainer<NestedKey>.self) {
            KeyedDecodingContainer(try KeyedReader<NestedKey>(document, $0))
        }
    }

    mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
        let document = self.document
        return try self.take((any UnkeyedDecodingContainer).self) { try UnkeyedReader(document, $0) }
    }

    mutating func superDecoder() throws -> any Decoder {
        let document = self.document
        return try self.take((any Decoder).self) { PayloadDecoder(document: document, index: $0) }
    }
}
