internal import Foundation
@testable import Linkspan
internal import LinkspanRuntime

/// Foundation's coders under the rules of a `PayloadCoder`: the reference that the SDK's own coder is compared with.
struct FoundationCoder: Sendable {
    /// Foundation's own form of dates, seconds since 2001, and `Data` as attachments.
    static let standard = Self(PayloadCoder(dates: .deferred))

    private let rules: CodingRules

    init(_ coder: PayloadCoder) { self.rules = coder.rules }

    func encode<Value: Encodable>(_ value: Value) throws -> Payload {
        let attachments = Lock<[ArraySlice<UInt8>]>([])
        let encoder = JSONEncoder()
        encoder.outputFormatting = .withoutEscapingSlashes
        encoder.userInfo = self.rules.userInfo
        switch self.rules.writesBase64 {
        case true: encoder.dataEncodingStrategy = .base64
        case false:
            encoder.dataEncodingStrategy = .custom { data, encoder in
                var container = encoder.singleValueContainer()
                let number = attachments.withLock {
                    $0.append(Array(data)[...])
                    return $0.count - 1
                }
                try container.encode(
                    [Attachment.flag: .flag(true), Attachment.number: PlaceholderMember.number(number)])
            }
        }
        encoder.dateEncodingStrategy =
            switch self.rules.dates {
            case .deferred: .deferredToDate
            case .secondsSince1970: .secondsSince1970
            case .millisecondsSince1970: .millisecondsSince1970
            case .iso8601: .custom { try Self.write($0, to: $1) }
            case .custom(let encode, _): .custom { try encode($0.timeIntervalSince1970, $1) }
            }
        encoder.keyEncodingStrategy =
            self.rules.usesSnakeCase ? .convertToSnakeCase : .useDefaultKeys
        if let (positiveInfinity, negativeInfinity, nan) = self.rules.floats {
            encoder.nonConformingFloatEncodingStrategy = .convertToString(
                positiveInfinity: positiveInfinity, negativeInfinity: negativeInfinity, nan: nan)
        }
        let text = try encoder.encode(value)
        return Payload(trustedElements: Array(text)[...], attachments: attachments.withLock { $0 })
    }

    /// Reads the first argument.
    func decode<Value: Decodable>(_ type: Value.Type, from payload: Payload) throws -> Value {
        let text = payload[0]?.text ?? []
        let attachments = payload.attachments
        // The decoder below recurses: the scan bounds the depth of every value, of any origin.
        _ = try Payload(checking: text)
        let decoder = JSONDecoder()
        decoder.userInfo = self.rules.userInfo
        switch self.rules.writesBase64 {
        case true: decoder.dataDecodingStrategy = .base64
        case false:
            decoder.dataDecodingStrategy = .custom { decoder in
                let members = try decoder.singleValueContainer().decode([String: PlaceholderMember].self)
                guard case .flag(true)? = members[Attachment.flag],
                    case .number(let index)? = members[Attachment.number],
                    attachments.indices.contains(index)
                else {
                    throw DecodingError.dataCorrupted(
                        .init(codingPath: decoder.codingPath, debugDescription: "there is no such attachment"))
                }
                return Data(attachments[index])
            }
        }
        decoder.dateDecodingStrategy =
            switch self.rules.dates {
            case .deferred: .deferredToDate
            case .secondsSince1970: .secondsSince1970
            case .millisecondsSince1970: .millisecondsSince1970
            case .iso8601: .custom { try Self.readDate(from: $0) }
            case .custom(_, let decode): .custom { Date(timeIntervalSince1970: try decode($0)) }
            }
        decoder.keyDecodingStrategy =
            self.rules.usesSnakeCase ? .convertFromSnakeCase : .useDefaultKeys
        if let (positiveInfinity, negativeInfinity, nan) = self.rules.floats {
            decoder.nonConformingFloatDecodingStrategy = .convertFromString(
                positiveInfinity: positiveInfinity, negativeInfinity: negativeInfinity, nan: nan)
        }
        return try decoder.decode(type, from: Data(text))
    }

    private static func write(_ date: Date, to encoder: any Encoder) throws {
        guard let text = DateText.write(date.timeIntervalSince1970) else {
            throw EncodingError.invalidValue(
                date, .init(codingPath: encoder.codingPath, debugDescription: "the date is out of range"))
        }
        var container = encoder.singleValueContainer()
        try container.encode(text)
    }

    private static func readDate(from decoder: any Decoder) throws -> Date {
        let text = try decoder.singleValueContainer().decode(String.self)
        guard let seconds = DateText.read(text.utf8) else {
            throw DecodingError.dataCorrupted(
                .init(codingPath: decoder.codingPath, debugDescription: "the string is not an ISO 8601 date"))
        }
        return Date(timeIntervalSince1970: seconds)
    }
}

/// A value in the placeholder of a blob, which is a dictionary here: no conversion of keys may touch it.
private enum PlaceholderMember: Codable {
    case flag(Bool)
    case number(Int)
    case other

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if let flag = try? container.decode(Bool.self) {
            self = .flag(flag)
        } else if let number = try? container.decode(Int.self) {
            self = .number(number)
        } else {
            self = .other
        }
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .flag(let flag): try container.encode(flag)
        case .number(let number): try container.encode(number)
        case .other: try container.encodeNil()
        }
    }
}
