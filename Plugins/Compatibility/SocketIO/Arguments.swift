internal import Foundation
internal import Linkspan

/// A value of `Any` on its way to the wire: what JSON knows, and `Data` inside it.
private struct Argument: Encodable {
    let value: Any

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self.value {
        case let text as String: try container.encode(text)
        case let number as NSNumber: try Self.encode(number, to: &container)
        // No `NSNumber` on Linux.
        case let number as CGFloat: try container.encode(Double(number))
        // A nil of any type, as a value that may be missing becomes in a dictionary of `Any`.
        case is NSNull, is Never?: try container.encodeNil()
        case let data as Data: try container.encode(data)
        case let list as [Any]: try container.encode(list.map { Argument(value: $0) })
        case let object as [String: Any]: try container.encode(object.mapValues { Argument(value: $0) })
        default:
            let context = EncodingError.Context(
                codingPath: encoder.codingPath, debugDescription: "a \(type(of: self.value)) cannot be sent")
            throw EncodingError.invalidValue(self.value, context)
        }
    }

    /// Numbers of Foundation are of several kinds, of which `objCType` tells: `c` for a Boolean.
    private static func encode(_ number: NSNumber, to container: inout any SingleValueEncodingContainer) throws {
        switch UInt8(bitPattern: number.objCType.pointee) {
        case UInt8(ascii: "c"), UInt8(ascii: "B"): try container.encode(number.boolValue)
        case UInt8(ascii: "d"), UInt8(ascii: "f"): try container.encode(number.doubleValue)
        case UInt8(ascii: "Q"): try container.encode(number.uint64Value)
        default: try container.encode(number.int64Value)
        }
    }
}

extension Payload {
    /// Writes arguments, each as what it represents.
    ///
    /// - Throws: `LinkspanError` with code `encodingFailed` for a value that JSON does not know; what a value's
    ///   ``SocketData/socketRepresentation()`` throws.
    init<Item>(arguments items: [Item]) throws {
        if items.count == 1, let text = items[0] as? String {
            self = try Payload(text)
        } else {
            let values = try items.map { Argument(value: try ($0 as? SocketData)?.socketRepresentation() ?? $0) }
            let list = try Payload(values)
            // The inside of an array is the form of arguments.
            self.init(trustedElements: list.elements.dropFirst().dropLast(), attachments: list.attachments)
        }
    }

    /// The arguments as values of Foundation: numbers and Booleans are `NSNumber`, which `as?` reads as `Int` and `Double`.
    var arguments: [Any] {
        let hasBlobs = !self.attachments.isEmpty
        if let first = self[0], first.text.count == self.elements.count { return [first.plain(hasBlobs: hasBlobs)] }
        return self.values.map { $0.plain(hasBlobs: hasBlobs) }
    }
}

extension PayloadValue {
    fileprivate func plain(hasBlobs: Bool) -> Any {
        switch self.text.first {
        case UInt8(ascii: "\""): return self.string ?? ""
        case UInt8(ascii: "{"):
            if hasBlobs, let blob = self.blob { return Data(blob) }
            let members = (try? self.decode([String: PayloadValue].self)) ?? [:]
            return members.mapValues { $0.plain(hasBlobs: hasBlobs) }
        case UInt8(ascii: "["): return (self.elements ?? []).map { $0.plain(hasBlobs: hasBlobs) }
        case UInt8(ascii: "t"), UInt8(ascii: "f"): return NSNumber(value: self.bool == true)
        case UInt8(ascii: "n"), nil: return NSNull()
        default:
            if let number = self.int { return NSNumber(value: number) }
            return UInt64(String(decoding: self.text, as: UTF8.self)).map { NSNumber(value: $0) }
                ?? NSNumber(value: self.double ?? 0)
        }
    }
}
