#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

extension JSONDocument {
    /// Reads a value as any type.
    ///
    /// The types that JSON knows are told apart by comparing pointers; each comparison is gone where the type is known.
    @inline(__always)
    func value<Value: Decodable>(_ type: Value.Type, at index: Int) throws -> Value {
        if type == String.self { return sameType(try self.string(at: index)) }
        if type == Int.self { return sameType(try self.integer(Int.self, at: index)) }
        if type == Bool.self { return sameType(try self.bool(at: index)) }
        if type == Double.self { return sameType(try self.double(at: index)) }
        return try self.rarerValue(type, at: index)
    }

    private func rarerValue<Value: Decodable>(_ type: Value.Type, at index: Int) throws -> Value {
        if type == Float.self { return sameType(try self.float(at: index)) }
        if type == Int8.self { return sameType(try self.integer(Int8.self, at: index)) }
        if type == Int16.self { return sameType(try self.integer(Int16.self, at: index)) }
        if type == Int32.self { return sameType(try self.integer(Int32.self, at: index)) }
        if type == Int64.self { return sameType(try self.integer(Int64.self, at: index)) }
        if type == UInt.self { return sameType(try self.integer(UInt.self, at: index)) }
        if type == UInt8.self { return sameType(try self.integer(UInt8.self, at: index)) }
        if type == UInt16.self { return sameType(try self.integer(UInt16.self, at: index)) }
        if type == UInt32.self { return sameType(try self.integer(UInt32.self, at: index)) }
        if type == UInt64.self { return sameType(try self.integer(UInt64.self, at: index)) }
        if type == Date.self { return sameType(try self.date(at: index)) }
        if type == Data.self { return sameType(try self.data(at: index)) }
        if type == URL.self { return sameType(try self.url(at: index)) }
        if type == Decimal.self { return sameType(try self.decimal(at: index)) }
        if type == PayloadValue.self { return sameType(self.json(at: index)) }
        if self.rules.usesSnakeCase { return try self.convertedValue(type, at: index) }
        return try type.init(from: PayloadDecoder(document: self, index: index))
    }

    // Apart, because the optional value costs what it does wherever the function may need it (W1 Codable).
    @inline(never)
    private func convertedValue<Value: Decodable>(_ type: Value.Type, at index: Int) throws -> Value {
        // The keys of a dictionary are data, which no conversion may touch.
        if let dictionary = type as? any DecodableDictionary.Type,
            let value = try dictionary.read(from: self, at: index) as? Value
        {
            return value
        }
        return try type.init(from: PayloadDecoder(document: self, index: index))
    }

    func decimal(at index: Int) throws -> Decimal {
        let token = self.tokens[index]
        guard token.kind == .number else { throw self.mismatch(Decimal.self, at: index) }
        let text = String(decoding: self.bytes(of: token), as: UTF8.self)
        if let value = Decimal(string: text), value.isFinite { return value }
        throw self.corrupted("the number does not fit Decimal", at: index)
    }

    func url(at index: Int) throws -> URL {
        guard !self.isNull(at: index) else { throw self.mismatch(URL.self, at: index) }
        if let url = URL(string: try self.string(at: index)) { return url }
        throw self.corrupted("the string is not a URL", at: index)
    }

    func date(at index: Int) throws -> Date {
        let token = self.tokens[index]
        guard token.kind != .null else { throw self.mismatch(Date.self, at: index) }
        switch self.rules.dates {
        case .iso8601:
            guard token.kind == .string || token.kind == .escapedString else {
                throw self.mismatch(String.self, at: index)
            }
            let isPlain = token.kind == .string
            let seconds =
                isPlain ? DateText.read(self.inside(of: token)) : DateText.read(try self.string(at: index).utf8)
            if let seconds { return Date(timeIntervalSince1970: seconds) }
            throw self.corrupted("the string is not an ISO 8601 date", at: index)
        case .secondsSince1970:
            return Date(timeIntervalSince1970: try self.double(at: index))
        case .millisecondsSince1970:
            return Date(timeIntervalSince1970: try self.double(at: index) / 1000)
        case .deferred:
            return try Date(from: PayloadDecoder(document: self, index: index))
        case .custom(_, let decode):
            return Date(timeIntervalSince1970: try decode(PayloadDecoder(document: self, index: index)))
        }
    }

    func data(at index: Int) throws -> Data {
        guard !self.isNull(at: index) else { throw self.mismatch(Data.self, at: index) }
        guard !self.rules.writesBase64 else {
            if let data = Data(base64Encoded: try self.string(at: index)) { return data }
            throw self.corrupted("the string is not Base64", at: index)
        }
        let members = try ObjectMembers(self, index, convertingKeys: false)
        guard let flag = members.find(Attachment.flag), self.tokens[flag].kind == .true,
            let number = members.find(Attachment.number),
            let attachment = try? self.integer(Int.self, at: number), self.attachments.indices.contains(attachment)
        else { throw self.corrupted("there is no such attachment", at: index) }
        return Data(self.attachments[attachment])
    }
}

extension JSONDocument {
    /// Decodes the first value of a text; nothing may follow it when `isWhole`.
    static func decode<Value: Decodable>(
        _ type: Value.Type, from text: UnsafeBufferPointer<UInt8>, isWhole: Bool,
        attachments: [ArraySlice<UInt8>], rules: CodingRules
    ) throws -> Value {
        var document = try JSONDocument(text, isWhole: isWhole, attachments: attachments, rules: rules)
        defer { if !isKnownUniquelyReferenced(&document) { document.keepText() } }
        return try document.value(type, at: 0)
    }

    /// The value and all that follow it as the elements of one array; nil when the value is not the first of several.
    func list<Value: Decodable>(_ type: Value.Type, at index: Int) throws -> Value? {
        guard index == 0, let whole = self.whole else { return nil }
        let list = [UInt8(ascii: "[")] + whole + [UInt8(ascii: "]")]
        return try list.withUnsafeBufferPointer {
            try Self.decode(type, from: $0, isWhole: true, attachments: self.attachments, rules: self.rules)
        }
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
