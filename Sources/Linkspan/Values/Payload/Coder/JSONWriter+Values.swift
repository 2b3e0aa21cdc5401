#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

extension JSONWriter {
    func writeNull() { self.text.append(contentsOf: "null".utf8) }

    /// Writes a value that may ask for its path.
    func write<Value: Encodable>(_ value: Value, under key: some CodingKey) throws {
        self.path.append(key)
        defer { self.path.removeLast() }
        try self.write(value)
    }

    /// Writes the value of a single-value container.
    func single(_ place: Place, _ write: () throws -> Void) throws {
        guard self.text.count == place.start, self.levels.count == place.level, !self.hasFailed else {
            throw self.refusal(place.level)
        }
        try write()
    }

    /// Writes a value of any type.
    ///
    /// The types that JSON knows are told apart by comparing pointers; each comparison is gone where the type is known.
    @inline(__always)
    func write<Value: Encodable>(_ value: Value) throws {
        if Value.self == String.self { return JSONString.append(sameType(value, as: String.self), to: &self.text) }
        if Value.self == Int.self { return NumberText.append(sameType(value, as: Int.self), to: &self.text) }
        if Value.self == Bool.self {
            return self.text.append(contentsOf: (sameType(value, as: Bool.self) ? "true" : "false").utf8)
        }
        if Value.self == Double.self { return try self.write(float: sameType(value, as: Double.self)) }
        try self.writeRarer(value)
    }

    /// Whether writing a type neither fails nor runs code of the app's, so that no path is needed.
    static func isPlain<Value>(_ type: Value.Type) -> Bool {
        type == String.self || type == Int.self || type == Bool.self
    }

    private func writeRarer<Value: Encodable>(_ value: Value) throws {
        let type = Value.self
        if type == Float.self { return try self.write(float: sameType(value, as: Float.self)) }
        if type == Int8.self { return NumberText.append(sameType(value, as: Int8.self), to: &self.text) }
        if type == Int16.self { return NumberText.append(sameType(value, as: Int16.self), to: &self.text) }
        if type == Int32.self { return NumberText.append(sameType(value, as: Int32.self), to: &self.text) }
        if type == Int64.self { return NumberText.append(sameType(value, as: Int64.self), to: &self.text) }
        if type == UInt.self { return NumberText.append(sameType(value, as: UInt.self), to: &self.text) }
        if type == UInt8.self { return NumberText.append(sameType(value, as: UInt8.self), to: &self.text) }
        if type == UInt16.self { return NumberText.append(sameType(value, as: UInt16.self), to: &self.text) }
        if type == UInt32.self { return NumberText.append(sameType(value, as: UInt32.self), to: &self.text) }
        if type == UInt64.self { return NumberText.append(sameType(value, as: UInt64.self), to: &self.text) }
        if type == Date.self { return try self.write(sameType(value, as: Date.self)) }
        if type == Data.self { return try self.write(sameType(value, as: Data.self)) }
        if type == URL.self {
            return JSONString.append(sameType(value, as: URL.self).absoluteString, to: &self.text)
        }
        if type == Decimal.self { return try self.write(sameType(value, as: Decimal.self)) }
        if type == PayloadValue.self { return self.write(json: sameType(value, as: PayloadValue.self)) }
        try self.writeByItself(value)
    }

    private func writeByItself<Value: Encodable>(_ value: Value) throws {
        // The keys of a dictionary are data, which no conversion may touch.
        if self.rules.usesSnakeCase, let dictionary = value as? any EncodableDictionary {
            return try dictionary.write(to: self)
        }
        try self.encode { try value.encode(to: $0) }
    }

    private func encode(_ body: (PayloadEncoder) throws -> Void) throws {
        let (start, level) = (self.text.count, self.levels.count)
        try body(PayloadEncoder(writer: self, place: Place(start: start, level: level)))
        if self.hasFailed, let failure = self.failure { throw failure }
        if self.levels.count > level { self.close() }
        // At the top it is an error instead.
        if self.text.count == start, level + self.baseDepth > 0 { self.text.append(contentsOf: "{}".utf8) }
    }

    private func write<Number: BinaryFloatingPoint & CustomStringConvertible>(float number: Number) throws {
        if number.isFinite {
            var written = number.description
            return written.withUTF8 { bytes in
                // Foundation writes 1 and not 1.0, and so does JavaScript.
                let isWhole =
                    bytes.count > 2 && bytes[bytes.count - 1] == UInt8(ascii: "0")
                    && bytes[bytes.count - 2] == UInt8(ascii: ".")
                self.text.append(contentsOf: UnsafeBufferPointer(rebasing: bytes.dropLast(isWhole ? 2 : 0)))
            }
        }
        guard let (positiveInfinity, negativeInfinity, nan) = self.rules.floats else {
            throw self.invalid(number, "Unable to encode \(Number.self).\(number) directly in JSON.")
        }
        JSONString.append(number.isNaN ? nan : number < 0 ? negativeInfinity : positiveInfinity, to: &self.text)
    }

    private func write(_ decimal: Decimal) throws {
        guard decimal.isFinite else { throw self.invalid(decimal, "NaN has no form in JSON") }
        self.text.append(contentsOf: decimal.description.utf8)
    }

    private func write(_ date: Date) throws {
        switch self.rules.dates {
        case .iso8601:
            guard let text = DateText.write(date.timeIntervalSince1970) else {
                throw self.invalid(date, "the date is out of range")
            }
            JSONString.append(text, to: &self.text)
        case .secondsSince1970: try self.write(float: date.timeIntervalSince1970)
        case .millisecondsSince1970: try self.write(float: date.timeIntervalSince1970 * 1000)
        case .deferred: try self.encode { try date.encode(to: $0) }
        case .custom(let encode, _): try self.encode { try encode(date.timeIntervalSince1970, $0) }
        }
    }

    private func write(_ data: Data) throws {
        guard !self.rules.writesBase64 else { return JSONString.append(data.base64EncodedString(), to: &self.text) }
        guard self.baseDepth + self.levels.count < JSONScanner.maximumDepth else {
            throw self.invalid(data, "more than \(JSONScanner.maximumDepth) levels")
        }
        self.appendPlaceholder(of: self.attach(Array(data)[...]))
    }

    /// Puts JSON text in place, and its blobs behind those that there are.
    private func write(json value: PayloadValue) {
        guard !value.attachments.isEmpty else { return self.text.append(contentsOf: value.text) }
        var position = value.text.startIndex
        while position < value.text.endIndex {
            let byte = value.text[position]
            guard byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "{") else {
                self.text.append(byte)
                position += 1
                continue
            }
            // Well-formed, so that each string and object has an end.
            let text = ElementCursor.element(0, of: value.text[position...]) ?? value.text[position...]
            let part = PayloadValue(text: text, attachments: value.attachments)
            if byte == UInt8(ascii: "\"") {
                self.text.append(contentsOf: part.text)
                position = text.endIndex
            } else if let blob = part.blob {
                self.appendPlaceholder(of: self.attach(blob))
                position = text.endIndex
            } else {
                self.text.append(byte)
                position += 1
            }
        }
    }

    private func appendPlaceholder(of number: Int) {
        self.text.append(contentsOf: "{\"\(Attachment.flag)\":true,\"\(Attachment.number)\":".utf8)
        NumberText.append(number, to: &self.text)
        self.text.append(UInt8(ascii: "}"))
    }

    private func attach(_ blob: ArraySlice<UInt8>) -> Int {
        if let outer = self.outer { return outer.attach(blob) }
        self.attachments.append(blob)
        return self.attachments.count - 1
    }

    @inline(never)
    private func invalid(_ value: Any, _ what: String) -> EncodingError {
        .invalidValue(value, .init(codingPath: self.codingPath(self.path.count), debugDescription: what))
    }
}

extension JSONWriter {
    /// Writes values with commas between and no brackets: the arguments of an event.
    func write<each Value: Encodable>(arguments values: repeat each Value) throws {
        self.isArgumentList = true
        var count = 0
        for value in repeat each values {
            if count > 0 { self.text.append(UInt8(ascii: ",")) }
            try self.write(value, under: PayloadKey.index(count))
            count += 1
        }
    }
}

/// A dictionary with strings as keys.
private protocol EncodableDictionary {
    func write(to writer: JSONWriter) throws
}

extension Dictionary: EncodableDictionary where Key == String, Value: Encodable {
    fileprivate func write(to writer: JSONWriter) throws {
        let place = JSONWriter.Place(start: writer.text.count, level: writer.levels.count)
        writer.open(isObject: true, at: place)
        try writer.check(place)
        for (key, value) in self {
            writer.separate(place.level)
            JSONString.append(key, to: &writer.text)
            writer.text.append(UInt8(ascii: ":"))
            try writer.write(value, under: PayloadKey.name(key))
            writer.levels[place.level].count += 1
        }
        if writer.hasFailed, let failure = writer.failure { throw failure }
        writer.close()
    }
}
