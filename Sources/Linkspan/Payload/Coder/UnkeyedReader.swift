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
    @inline(__always)
    mutating func take<Value>(_ type: Any.Type, _ read: (Int) throws -> Value) throws -> Value {
        guard !self.isAtEnd else { throw self.ended(type) }
        let value = try read(self.next)
        self.advance()
        return value
    }

    @inline(__always)
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
