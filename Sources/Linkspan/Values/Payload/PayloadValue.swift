/// One JSON value of a payload that is still text: raw access by key and index without decoding the rest.
///
/// Every accessor answers nil when the value has another type. Nothing is cached: reading the same member twice scans
/// twice.
public struct PayloadValue: Sendable, Hashable {
    /// The value's JSON text.
    public let text: ArraySlice<UInt8>
    let attachments: [ArraySlice<UInt8>]

    /// The member with this key, when the value is an object.
    ///
    /// Of repeated keys the first counts.
    public subscript(key: String) -> PayloadValue? {
        var key = key
        let found: Range<Int>? = key.withUTF8 { wanted in
            self.text.withUnsafeBufferPointer { text in
                Self.member(wanted, of: text)
            }
        }
        guard let found else { return nil }
        return self.nested(found)
    }

    /// The element at this index, when the value is an array.
    public subscript(index: Int) -> PayloadValue? {
        self.inside.flatMap { ElementCursor.element(index, of: $0) }.map {
            PayloadValue(text: $0, attachments: self.attachments)
        }
    }

    /// The elements, when the value is an array.
    public var elements: [PayloadValue]? {
        self.inside.map(ElementCursor.elements(of:))?.map { PayloadValue(text: $0, attachments: self.attachments) }
    }

    /// The names as they are written and the values of the members, when the value is an object.
    package var members: [(name: PayloadValue, value: PayloadValue)]? {
        guard self.text.first == UInt8(ascii: "{") else { return nil }
        var ranges: [(Range<Int>, Range<Int>)] = []
        self.text.withUnsafeBufferPointer { text in
            JSONScanner.members(text, from: 0) { key, value in
                if let key { ranges.append((key.lowerBound - 1..<key.upperBound + 1, value)) }
                return true
            }
        }
        return ranges.map { (self.nested($0), self.nested($1)) }
    }

    /// The text between the brackets, when the value is an array.
    private var inside: ArraySlice<UInt8>? {
        guard self.text.first == UInt8(ascii: "["), self.text.count >= 2 else { return nil }
        return self.text.dropFirst().dropLast()
    }

    /// Whether the value is `null`.
    public var isNull: Bool { self.text.first == UInt8(ascii: "n") }

    /// The value as a Boolean.
    public var bool: Bool? {
        switch self.text.first {
        case UInt8(ascii: "t"): true
        case UInt8(ascii: "f"): false
        default: nil
        }
    }

    /// The value as an integer, when it is written as one and fits.
    public var int: Int? {
        self.text.withUnsafeBufferPointer { text in
            guard !text.isEmpty, text.allSatisfy({ $0 == UInt8(ascii: "-") || $0 &- UInt8(ascii: "0") < 10 }) else {
                return nil
            }
            return NumberText.integer(text, as: Int.self)
        }
    }

    /// The value as a floating-point number.
    public var double: Double? {
        guard self.isNumber else { return nil }
        return Double(String(decoding: self.text, as: UTF8.self))
    }

    /// The value as a string, escapes resolved.
    ///
    /// A lone surrogate becomes U+FFFD.
    public var string: String? {
        guard self.text.count >= 2, self.text.first == UInt8(ascii: "\"") else { return nil }
        let plain = self.text.withUnsafeBufferPointer { text -> String? in
            // Nothing but the closing quote ends a string without escapes.
            guard JSONScanner.skipPlain(text, from: 1) >= text.count - 1 else { return nil }
            return String(decoding: UnsafeBufferPointer(rebasing: text[1..<text.count - 1]), as: UTF8.self)
        }
        return plain ?? JSONString.unescape(self.text.dropFirst().dropLast())
    }

    /// The blob that the value stands for, when it is a placeholder.
    public var blob: ArraySlice<UInt8>? {
        guard self["_placeholder"]?.bool == true, let index = self["num"]?.int else { return nil }
        guard self.attachments.indices.contains(index) else { return nil }
        return self.attachments[index]
    }

    private var isNumber: Bool {
        self.text.first.map { $0 == UInt8(ascii: "-") || $0 &- UInt8(ascii: "0") < 10 } ?? false
    }

    private func nested(_ range: Range<Int>) -> PayloadValue {
        let base = self.text.startIndex
        return PayloadValue(
            text: self.text[base + range.lowerBound..<base + range.upperBound], attachments: self.attachments)
    }

    private static func member(
        _ wanted: UnsafeBufferPointer<UInt8>, of text: UnsafeBufferPointer<UInt8>
    ) -> Range<Int>? {
        guard text.first == UInt8(ascii: "{") else { return nil }
        var found: Range<Int>?
        JSONScanner.members(text, from: 0) { key, value in
            if let key, JSONString.matches(UnsafeBufferPointer(rebasing: text[key]), wanted) { found = value }
            return found == nil
        }
        return found
    }
}

extension PayloadValue: Redacted {
    /// Only the size: payloads do not belong in logs.
    public var description: String { "\(self.text.count) bytes of JSON" }
}
