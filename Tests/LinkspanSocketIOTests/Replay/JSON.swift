internal import Foundation

/// A value that JSON describes, however it is written.
enum JSON: Decodable, Hashable {
    case null
    case bool(Bool)
    case number(Double)
    case string(String)
    case array([JSON])
    case object([String: JSON])

    init(_ text: String) throws { self = try JSONDecoder().decode(Self.self, from: Data(text.utf8)) }

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            self = .null
        } else if let value = try? container.decode(Bool.self) {
            self = .bool(value)
        } else if let value = try? container.decode(Double.self) {
            self = .number(value)
        } else if let value = try? container.decode(String.self) {
            self = .string(value)
        } else if let value = try? container.decode([JSON].self) {
            self = .array(value)
        } else {
            self = .object(try container.decode([String: JSON].self))
        }
    }

    /// The value as the official client's log has it: attachments in their places, an argument in hexadecimal and a
    /// deeper one as Node.js writes a buffer.
    func filled(with attachments: [[UInt8]], isArgument: Bool) -> JSON {
        switch self {
        case .array(let elements):
            return .array(elements.map { $0.filled(with: attachments, isArgument: false) })
        case .object(let members):
            guard members["_placeholder"] == .bool(true), case .number(let index)? = members["num"],
                attachments.indices.contains(Int(index))
            else { return .object(members.mapValues { $0.filled(with: attachments, isArgument: false) }) }
            let bytes = attachments[Int(index)]
            if isArgument { return .string("<\(bytes.map(Self.hex).joined())>") }
            return .object(["type": .string("Buffer"), "data": .array(bytes.map { .number(Double($0)) })])
        case .null, .bool, .number, .string:
            return self
        }
    }

    private static func hex(_ byte: UInt8) -> String {
        let digits = String(byte, radix: 16)
        return digits.count == 1 ? "0\(digits)" : digits
    }
}
