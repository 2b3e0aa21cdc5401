// Raw JSON in and out: as an argument, as the value of an event, and inside values.

extension PayloadValue: Codable {
    /// Checks JSON text from outside, to be sent as it is.
    ///
    /// ```swift
    /// try connection.send("filter", PayloadValue(json: #"{"price":{"$lt":100}}"#))
    /// ```
    ///
    /// - Throws: ``LinkspanError`` with code `encodingFailed` when the text is not exactly one acceptable JSON value.
    public init(json: String) throws(LinkspanError) {
        let payload: Payload
        do throws(LinkspanError) {
            payload = try Payload(checking: Array(json.utf8)[...])
        } catch {
            throw LinkspanError(.encodingFailed, "the text is not valid JSON", cause: error)
        }
        let values = payload.values
        guard values.count == 1 else {
            throw LinkspanError(.encodingFailed, "the text has \(values.count) JSON values instead of one")
        }
        self = values[0]
    }

    /// Takes the value over: the SDK's own coder as text with its blobs, others value by value.
    public init(from decoder: any Decoder) throws {
        if let place = decoder as? PayloadDecoder {
            self = place.document.json(at: place.index)
        } else {
            self.init(text: try Payload(try JSONTree(from: decoder)).elements, attachments: [])
        }
    }

    /// Puts the value in place: the SDK's own coder as text with its blobs, others value by value.
    public func encode(to encoder: any Encoder) throws {
        if let place = encoder as? PayloadEncoder {
            try place.encode(self)
        } else {
            try self.decode(JSONTree.self).encode(to: encoder)
        }
    }
}

/// A JSON value for coders that do not know text.
private indirect enum JSONTree: Codable {
    case null
    case bool(Bool)
    case integer(Int64)
    case number(Double)
    case string(String)
    case array([JSONTree])
    case object([String: JSONTree])

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            self = .null
        } else if let flag = try? container.decode(Bool.self) {
            self = .bool(flag)
        } else if let integer = try? container.decode(Int64.self) {
            self = .integer(integer)
        } else if let number = try? container.decode(Double.self) {
            self = .number(number)
        } else if let text = try? container.decode(String.self) {
            self = .string(text)
        } else if let elements = try? container.decode([JSONTree].self) {
            self = .array(elements)
        } else {
            self = .object(try container.decode([String: JSONTree].self))
        }
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .null: try container.encodeNil()
        case .bool(let flag): try container.encode(flag)
        case .integer(let integer): try container.encode(integer)
        case .number(let number): try container.encode(number)
        case .string(let text): try container.encode(text)
        case .array(let elements): try container.encode(elements)
        case .object(let members): try container.encode(members)
        }
    }
}
