// For these two the requirements of the containers have default witnesses, which throw; the generic methods do not take
// their place.

@available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
extension PayloadDecoder {
    func decode(_ type: Int128.Type) throws -> Int128 { try self.document.integer(type, at: self.index) }

    func decode(_ type: UInt128.Type) throws -> UInt128 { try self.document.integer(type, at: self.index) }
}

@available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
extension KeyedReader {
    func decode(_ type: Int128.Type, forKey key: Key) throws -> Int128 {
        try self.document.integer(type, at: try self.index(of: key))
    }

    func decode(_ type: UInt128.Type, forKey key: Key) throws -> UInt128 {
        try self.document.integer(type, at: try self.index(of: key))
    }
}

@available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
extension UnkeyedReader {
    mutating func decode(_ type: Int128.Type) throws -> Int128 {
        let document = self.document
        return try self.take(type) { try document.integer(type, at: $0) }
    }

    mutating func decode(_ type: UInt128.Type) throws -> UInt128 {
        let document = self.document
        return try self.take(type) { try document.integer(type, at: $0) }
    }
}

@available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
extension PayloadEncoder {
    func encode(_ value: Int128) throws { try self.writer.single(self.place) { try self.writer.write(value) } }

    func encode(_ value: UInt128) throws { try self.writer.single(self.place) { try self.writer.write(value) } }
}

@available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
extension KeyedWriter {
    func encode(_ value: Int128, forKey key: Key) throws {
        try self.writer.member(key, in: self.encoder.place) { try self.writer.write(value) }
    }

    func encode(_ value: UInt128, forKey key: Key) throws {
        try self.writer.member(key, in: self.encoder.place) { try self.writer.write(value) }
    }
}

@available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
extension UnkeyedWriter {
    func encode(_ value: Int128) throws {
        try self.writer.element(in: self.encoder.place) { try self.writer.write(value) }
    }

    func encode(_ value: UInt128) throws {
        try self.writer.element(in: self.encoder.place) { try self.writer.write(value) }
    }
}
