#if OUTBOX
internal import Foundation
internal import Linkspan

/// Payloads as blobs: the sizes of the parts as numbers of variable length, then the parts.
enum PayloadCoding {
    static func encode(_ payload: Payload) -> Data {
        var bytes = Data(capacity: payload.byteCount + 16)
        Self.append(payload.attachments.count, to: &bytes)
        Self.append(payload.elements.count, to: &bytes)
        for attachment in payload.attachments { Self.append(attachment.count, to: &bytes) }
        bytes.append(contentsOf: payload.elements)
        for attachment in payload.attachments { bytes.append(contentsOf: attachment) }
        return bytes
    }

    /// The payload in a blob; nil when there is none in it.
    static func decode(_ data: Data) -> Payload? {
        var rest = Array(data)[...]
        guard let attachmentCount = Self.number(from: &rest), let elementsSize = Self.number(from: &rest) else {
            return nil
        }
        var sizes: [Int] = []
        for _ in 0..<attachmentCount {
            guard let size = Self.number(from: &rest) else { return nil }
            sizes.append(size)
        }
        guard let elements = Self.part(elementsSize, from: &rest) else { return nil }
        var attachments: [ArraySlice<UInt8>] = []
        for size in sizes {
            guard let attachment = Self.part(size, from: &rest) else { return nil }
            attachments.append(attachment)
        }
        guard rest.isEmpty else { return nil }
        // Not checked again: a payload of the app's own may have more values than received ones may.
        return Payload(trustedElements: elements, attachments: attachments)
    }

    private static func append(_ number: Int, to bytes: inout Data) {
        var number = number
        while number >= 0x80 {
            bytes.append(UInt8(truncatingIfNeeded: number) | 0x80)
            number >>= 7
        }
        bytes.append(UInt8(number))
    }

    private static func number(from bytes: inout ArraySlice<UInt8>) -> Int? {
        var number = 0
        for shift in stride(from: 0, through: 28, by: 7) {
            guard let byte = bytes.popFirst() else { return nil }
            number |= Int(byte & 0x7F) << shift
            // Where integers have 32 bits, five groups of seven may say less than nothing.
            if byte & 0x80 == 0 { return number < 0 ? nil : number }
        }
        return nil
    }

    private static func part(_ size: Int, from bytes: inout ArraySlice<UInt8>) -> ArraySlice<UInt8>? {
        guard size <= bytes.count else { return nil }
        defer { bytes.removeFirst(size) }
        return bytes.prefix(size)
    }
}
#endif
