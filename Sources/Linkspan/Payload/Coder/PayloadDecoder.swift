#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

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

extension JSONDocument {
    /// Reads a value as any type.
    ///
    /// The types that JSON knows are told apart by comparing pointers; each comparison is gone where the type is known.
    @inline(__always)
    func value<Value: Decodable>(_ type: Value.Type, at index: Int) throws -> Value {
        if type == String.self { return unsafeBitCast(try self.string(at: index), to: type) }
        if type == Int.self { return unsafeBitCast(try self.integer(Int.self, at: index), to: type) }
        if type == Bool.self { return unsafeBitCast(try self.bool(at: index), to: type) }
        if type == Double.self { return unsafeBitCast(try self.double(at: index), to: type) }
        return try self.rarerValue(type, at: index)
    }

    @inline(__always)
    private func rarerValue<Value: Decodable>(_ type: Value.Type, at index: Int) throws -> Value {
        if type == Float.self { return unsafeBitCast(try self.float(at: index), to: type) }
        if type == Int8.self { return unsafeBitCast(try self.integer(Int8.self, at: index), to: type) }
        if type == Int16.self { return unsafeBitCast(try self.integer(Int16.self, at: index), to: type) }
        if type == Int32.self { return unsafeBitCast(try self.integer(Int32.self, at: index), to: type) }
        if type == Int64.self { return unsafeBitCast(try self.integer(Int64.self, at: index), to: type) }
        if type == UInt.self { return unsafeBitCast(try self.integer(UInt.self, at: index), to: type) }
        if type == UInt8.self { return unsafeBitCast(try self.integer(UInt8.self, at: index), to: type) }
        if type == UInt16.self { return unsafeBitCast(try self.integer(UInt16.self, at: index), to: type) }
        if type == UInt32.self { return unsafeBitCast(try self.integer(UInt32.self, at: index), to: type) }
        if type == UInt64.self { return unsafeBitCast(try self.integer(UInt64.self, at: index), to: type) }
        if #available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *) {
            if type == Int128.self { return unsafeBitCast(try self.integer(Int128.self, at: index), to: type) }
            if type == UInt128.self { return unsafeBitCast(try self.integer(UInt128.self, at: index), to: type) }
        }
        if type == Date.self { return unsafeBitCast(try self.date(at: index), to: type) }
        if type == Data.self { return unsafeBitCast(try self.data(at: index), to: type) }
        if type == URL.self { return unsafeBitCast(try self.url(at: index), to: type) }
        if type == Decimal.self { return unsafeBitCast(try self.decimal(at: index), to: type) }
        if type == PayloadValue.self { return unsafeBitCast(self.json(at: index), to: type) }
        // The keys of a dictionary are data, which no conversion may touch.
        if !self.rules.keepsKeys, let dictionary = type as? any DecodableDictionary.Type,
            let value = try dictionary.read(from: self, at: index) as? Value
        {
            return value
        }
        return try type.init(from: PayloadDecoder(document: self, index: index))
    }
}

/// A dictionary with strings as keys.
private protocol DecodableDictionary {
    static func read(from document: JSONDocument, at index: Int) throws -> Self
}

extension Dictionary: DecodableDictionary where Key == String, Value: Decodable {
    fileprivate static func read(from document: JSONDocument, at index: Int) throws -> Self {
        guard document.tokens[index].kind == .object else { throw document.mismatch([String: Any].self, at: index) }
        var dictionary: Self = [:]
        var key = index + 1
        while key < Int(document.tokens[index].next) {
            let name = document.key(at: key)
            let value = try document.value(Value.self, at: key + 1)
            // Of repeated keys the first counts.
            if dictionary[name] == nil { dictionary[name] = value }
            key = Int(document.tokens[key + 1].next)
        }
        return dictionary
    }
}
