#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

extension Payload {
    /// Encodes values as arguments, one after another, by the rules of a coder.
    ///
    /// By those of ``PayloadCoder/standard``, `Data` inside them becomes binary attachments, a `Date` a string.
    ///
    /// - Throws: ``LinkspanError`` with code `encodingFailed` when a value cannot be written as JSON.
    @inlinable
    public init<each Argument: Encodable>(
        _ arguments: repeat each Argument, coder: PayloadCoder = .standard
    ) throws(LinkspanError) {
        var writer = PayloadWriter(coder: coder)
        repeat try writer.append(each arguments)
        self = writer.finish()
    }

    /// Reads the argument at `index` as a value.
    ///
    /// A blob can be read as `Data`.
    ///
    /// - Parameters:
    ///   - type: the wanted type.
    ///   - index: which argument.
    ///   - coder: how it is written.
    /// - Returns: the value.
    /// - Throws: ``LinkspanError`` with code `decodingFailed` when there is no such argument or it has another shape.
    public func decode<Value: Decodable>(
        _ type: Value.Type = Value.self, at index: Int = 0, coder: PayloadCoder = .standard
    ) throws(LinkspanError) -> Value {
        // The first argument is scanned by the coder itself.
        if index == 0, !self.elements.isEmpty, !PayloadValue.isQuick(type) {
            return try PayloadValue(text: self.elements, attachments: self.attachments)
                .decode(type, isWhole: false, coder)
        }
        if index == 0, self.elements.isEmpty, type is any ArgumentList.Type {
            return try PayloadValue(text: Array("[]".utf8)[...], attachments: []).decode(type, isWhole: true, coder)
        }
        guard let value = self[index] else { throw LinkspanError(.decodingFailed, "there is no argument \(index)") }
        return try value.decode(type, coder: coder)
    }
}

extension PayloadValue {
    /// Reads the value as a type.
    ///
    /// - Throws: ``LinkspanError`` with code `decodingFailed` when it has another shape.
    public func decode<Value: Decodable>(
        _ type: Value.Type = Value.self, coder: PayloadCoder = .standard
    ) throws(LinkspanError) -> Value {
        if let quick = self.quickValue(type) { return quick }
        return try self.decode(type, isWhole: true, coder)
    }

    fileprivate func decode<Value: Decodable>(
        _ type: Value.Type, isWhole: Bool, _ coder: PayloadCoder
    ) throws(LinkspanError) -> Value {
        do {
            return try self.text.withUnsafeBufferPointer { text in
                try JSONDocument.decode(
                    type, from: text, isWhole: isWhole, attachments: self.attachments, rules: coder.rules)
            }
        } catch {
            throw LinkspanError(
                .decodingFailed, "the value cannot be read as \(type)", cause: error.withoutContents)
        }
    }

    /// Whether a type is read without the coder where its value has the usual form.
    static func isQuick<Value>(_ type: Value.Type) -> Bool {
        type == String.self || type == Int.self || type == Bool.self || type == Data.self || type == PayloadValue.self
    }

    /// The commonest types without the coder.
    private func quickValue<Value>(_ type: Value.Type) -> Value? {
        switch type {
        case is String.Type: self.string as? Value
        case is Int.Type: self.int as? Value
        case is Bool.Type: self.bool as? Value
        case is PayloadValue.Type: self as? Value
        case is Data.Type: self.blob.map { Data($0) } as? Value
        default: nil
        }
    }
}

extension Error {
    /// The same without the words of the coder, which may quote the value: payloads do not belong in logs.
    ///
    /// What is wrong where stays.
    fileprivate var withoutContents: any Error {
        if case .invalidValue(_, let found)? = self as? EncodingError {
            let place = EncodingError.Context(
                codingPath: found.codingPath, debugDescription: "the value has no form in JSON")
            return EncodingError.invalidValue("a value", place)
        }
        guard let error = self as? DecodingError else { return self }
        func context(_ context: DecodingError.Context, _ what: String) -> DecodingError.Context {
            DecodingError.Context(codingPath: context.codingPath, debugDescription: what)
        }
        return switch error {
        case .typeMismatch(let type, let found):
            DecodingError.typeMismatch(type, context(found, "the value has another type"))
        case .valueNotFound(let type, let found):
            DecodingError.valueNotFound(type, context(found, "the value is null"))
        case .keyNotFound(let key, let found):
            DecodingError.keyNotFound(key, context(found, "the key is missing"))
        case .dataCorrupted(let found):
            DecodingError.dataCorrupted(context(found, "the value has another form"))
        @unknown default: JSONScanError(.unexpectedByte, at: 0)
        }
    }
}

/// Writes arguments behind one another.
///
/// Inlined as far as the choice by type goes, so that it is made where the type is known.
@usableFromInline
struct PayloadWriter {
    private var elements: [UInt8] = []
    private var attachments: [ArraySlice<UInt8>] = []
    private let coder: PayloadCoder
    /// The bytes of the first argument, when it was written without the coder: that may write several, or none.
    private var firstCount: Int?
    /// Room for a small value, so that its text does not grow in steps.
    private static let initialCapacity = 128

    @usableFromInline
    init(coder: PayloadCoder) { self.coder = coder }

    @usableFromInline
    consuming func finish() -> Payload {
        let (elements, attachments) = (self.elements, self.attachments)
        return Payload(trustedElements: ArraySlice(elements), attachments: attachments, firstCount: self.firstCount)
    }

    @inlinable
    mutating func append<Value: Encodable>(_ value: Value) throws(LinkspanError) {
        if Value.self == String.self {
            self.write(sameType(value, as: String.self))
        } else if Value.self == Int.self {
            self.write(sameType(value, as: Int.self))
        } else if Value.self == Bool.self {
            self.write(sameType(value, as: Bool.self))
        } else {
            try self.encode(value)
        }
    }

    @usableFromInline
    mutating func write(_ text: String) {
        // The text makes as much room as it needs.
        if !self.elements.isEmpty { self.elements.append(UInt8(ascii: ",")) }
        self.noting { JSONString.append(text, to: &$0) }
    }

    @usableFromInline
    mutating func write(_ number: Int) {
        self.separate()
        self.noting { NumberText.append(number, to: &$0) }
    }

    @usableFromInline
    mutating func write(_ flag: Bool) {
        self.separate()
        self.noting { $0.append(contentsOf: (flag ? "true" : "false").utf8) }
    }

    /// Writes an argument, and notes its bytes if it is the first.
    private mutating func noting(_ write: (inout [UInt8]) -> Void) {
        let isFirst = self.elements.isEmpty
        write(&self.elements)
        if isFirst { self.firstCount = self.elements.count }
    }

    private mutating func separate() {
        if self.elements.isEmpty { return self.elements.reserveCapacity(Self.initialCapacity) }
        self.elements.append(UInt8(ascii: ","))
    }

    /// An empty list of arguments adds nothing.
    private mutating func removeLastSeparator() {
        if self.elements.last == UInt8(ascii: ",") { self.elements.removeLast() }
    }

    @usableFromInline
    mutating func encode<Value: Encodable>(_ value: Value) throws(LinkspanError) {
        self.separate()
        do {
            // Handed over and back, so that the coder writes behind what is there.
            let (elements, attachments) = (self.elements, self.attachments)
            (self.elements, self.attachments) = ([], [])
            let writer = JSONWriter(behind: elements, attachments: attachments, rules: self.coder.rules)
            (self.elements, self.attachments) = try writer.encode(value)
            self.removeLastSeparator()
        } catch {
            throw LinkspanError(
                .encodingFailed, "a \(Value.self) cannot be written as JSON", cause: error.withoutContents)
        }
    }
}
