#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

extension Payload {
    /// Encodes values as arguments, one after another.
    ///
    /// `Data` inside them becomes binary attachments.
    ///
    /// - Throws: ``LinkspanError`` with code `encodingFailed` when a value cannot be written as JSON.
    @inlinable
    public init<each Argument: Encodable>(_ arguments: repeat each Argument) throws(LinkspanError) {
        var writer = PayloadWriter()
        for argument in repeat each arguments {
            try writer.append(argument)
        }
        self = writer.finish()
    }

    /// Reads the argument at `index` as a value.
    ///
    /// A blob can be read as `Data`.
    ///
    /// - Parameters:
    ///   - type: the wanted type.
    ///   - index: which argument.
    /// - Returns: the value.
    /// - Throws: ``LinkspanError`` with code `decodingFailed` when there is no such argument or it has another shape.
    public func decode<Value: Decodable>(
        _ type: Value.Type = Value.self, at index: Int = 0
    ) throws(LinkspanError) -> Value {
        guard let value = self[index] else {
            throw LinkspanError(.decodingFailed, "there is no argument \(index)")
        }
        return try value.decode(type)
    }
}

extension PayloadValue {
    /// Reads the value as a type.
    ///
    /// - Throws: ``LinkspanError`` with code `decodingFailed` when it has another shape.
    public func decode<Value: Decodable>(_ type: Value.Type = Value.self) throws(LinkspanError) -> Value {
        if let quick = self.quickValue(type) { return quick }
        do {
            // The decoder below recurses: the scan bounds its depth, whoever made this value.
            _ = try Payload(checking: self.text)
            let decoder = JSONDecoder()
            let blobs = self.attachments
            decoder.dataDecodingStrategy = .custom { decoder in
                let placeholder = try AttachmentPlaceholder(from: decoder)
                guard placeholder.isPlaceholder, blobs.indices.contains(placeholder.index) else {
                    throw DecodingError.dataCorrupted(
                        .init(codingPath: decoder.codingPath, debugDescription: "there is no such attachment"))
                }
                return Data(blobs[placeholder.index])
            }
            return try decoder.decode(type, from: Data(self.text))
        } catch {
            throw LinkspanError(
                .decodingFailed, "the value cannot be read as \(type)", cause: error.withoutContents)
        }
    }

    /// The commonest types without the coder, which costs eight times as much.
    private func quickValue<Value>(_ type: Value.Type) -> Value? {
        switch type {
        case is String.Type: self.string as? Value
        case is Int.Type: self.int as? Value
        case is Bool.Type: self.bool as? Value
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
            DecodingError.typeMismatch(type, context(found, "another type is there"))
        case .valueNotFound(let type, let found):
            DecodingError.valueNotFound(type, context(found, "null is there"))
        case .keyNotFound(let key, let found):
            DecodingError.keyNotFound(key, context(found, "the key is missing"))
        case .dataCorrupted(let found):
            DecodingError.dataCorrupted(context(found, "the value has another form"))
        @unknown default: JSONScanError(.unexpectedByte, at: 0)
        }
    }
}

/// The form in which a blob stands in the text (Socket.IO protocol v5, "Binary event").
private struct AttachmentPlaceholder: Codable {
    var isPlaceholder: Bool
    var index: Int

    enum CodingKeys: String, CodingKey {
        case isPlaceholder = "_placeholder"
        case index = "num"
    }
}

/// Writes arguments behind one another.
///
/// Inlined as far as the choice by type goes, so that it is made where the type is known.
@usableFromInline
struct PayloadWriter {
    private var elements: [UInt8] = []
    private var attachments: [ArraySlice<UInt8>] = []

    @usableFromInline
    init() {}

    @usableFromInline
    consuming func finish() -> Payload {
        let (elements, attachments) = (self.elements, self.attachments)
        return Payload(trustedElements: ArraySlice(elements), attachments: attachments)
    }

    @inlinable
    mutating func append<Value: Encodable>(_ value: Value) throws(LinkspanError) {
        // Bit casts, because a dynamic cast would cost as much as writing the value does.
        if Value.self == String.self {
            self.write(unsafeBitCast(value, to: String.self))
        } else if Value.self == Int.self {
            self.write(unsafeBitCast(value, to: Int.self))
        } else if Value.self == Bool.self {
            self.write(unsafeBitCast(value, to: Bool.self))
        } else if Value.self == PayloadText.self {
            self.write(unsafeBitCast(value, to: PayloadText.self))
        } else {
            try self.encode(value)
        }
    }

    @usableFromInline
    mutating func write(_ text: String) {
        self.separate()
        JSONString.append(text, to: &self.elements)
    }

    @usableFromInline
    mutating func write(_ number: Int) {
        self.separate()
        self.elements.append(contentsOf: String(number).utf8)
    }

    @usableFromInline
    mutating func write(_ flag: Bool) {
        self.separate()
        self.elements.append(contentsOf: (flag ? "true" : "false").utf8)
    }

    @usableFromInline
    mutating func write(_ text: PayloadText) {
        self.separate()
        self.elements.append(contentsOf: text.json)
    }

    private mutating func separate() { if !self.elements.isEmpty { self.elements.append(UInt8(ascii: ",")) } }

    @usableFromInline
    mutating func encode<Value: Encodable>(_ value: Value) throws(LinkspanError) {
        self.separate()
        let collector = AttachmentCollector(firstIndex: self.attachments.count)
        do {
            let encoder = JSONEncoder()
            encoder.outputFormatting = .withoutEscapingSlashes
            encoder.dataEncodingStrategy = .custom { data, encoder in
                try AttachmentPlaceholder(isPlaceholder: true, index: collector.add(data)).encode(to: encoder)
            }
            self.elements.append(contentsOf: try encoder.encode(value))
            self.attachments.append(contentsOf: collector.attachments)
        } catch {
            throw LinkspanError(
                .encodingFailed, "a \(Value.self) cannot be written as JSON", cause: error.withoutContents)
        }
    }
}

/// JSON text that is sent as it is, as one argument.
public struct PayloadText: Encodable, Sendable, Hashable {
    let json: ArraySlice<UInt8>

    /// Checks and wraps one JSON value.
    ///
    /// - Throws: ``LinkspanError`` with code `encodingFailed` when the text is not exactly one acceptable JSON value.
    public init(_ json: String) throws(LinkspanError) {
        let payload: Payload
        do throws(LinkspanError) {
            payload = try Payload(checking: Array(json.utf8)[...])
        } catch {
            throw LinkspanError(.encodingFailed, "the text is not JSON that can be sent", cause: error)
        }
        guard payload.values.count == 1 else {
            throw LinkspanError(.encodingFailed, "the text holds \(payload.values.count) JSON values and not one")
        }
        self.json = payload.elements
    }

    /// Writes the text as a string; the SDK's own writer puts it in place unchanged instead.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(String(decoding: self.json, as: UTF8.self))
    }
}
