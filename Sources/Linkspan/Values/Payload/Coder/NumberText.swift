#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

/// Reads JSON numbers, and writes integers.
///
/// Everything that is read has the form of a number (RFC 8259 §6): the scanner has seen to it.
enum NumberText {
    /// An integer by its exact value: `1.50e1` is 15, `1.5` and what does not fit are none.
    static func integer<Integer: FixedWidthInteger>(
        _ text: UnsafeBufferPointer<UInt8>, as type: Integer.Type
    ) -> Integer? {
        let isNegative = text[0] == UInt8(ascii: "-")
        // Up to 18 digits nothing overflows, and that is nearly every number there is.
        guard text.count <= 18 else { return Self.exactInteger(text, as: type) }
        var value: Int64 = 0
        var position = isNegative ? 1 : 0
        while position < text.count {
            let digit = text[position] &- UInt8(ascii: "0")
            guard digit < 10 else { return Self.exactInteger(text, as: type) }
            value = value &* 10 &+ Int64(digit)
            position &+= 1
        }
        return Integer(exactly: isNegative ? -value : value)
    }

    private static func exactInteger<Integer: FixedWidthInteger>(
        _ text: UnsafeBufferPointer<UInt8>, as type: Integer.Type
    ) -> Integer? {
        guard !Self.isZero(text) else { return 0 }
        let written = String(decoding: text, as: UTF8.self)
        // A decimal is exact with up to 38 digits.
        return Integer(written) ?? (text.count < 40 ? Decimal(string: written).flatMap { Integer("\($0)") } : nil)
    }

    /// Whether every digit before the exponent is a zero.
    private static func isZero(_ text: UnsafeBufferPointer<UInt8>) -> Bool {
        text.prefix { $0 | 0x20 != UInt8(ascii: "e") }.allSatisfy { $0 &- UInt8(ascii: "1") > 8 }
    }

    /// The nearest floating-point number, or nil when there is none but infinity, or none but zero for what is not zero.
    static func double(_ text: UnsafeBufferPointer<UInt8>) -> Double? {
        if let value = Self.shortDouble(text) { return value }
        return Self.nearest(text, as: Double.self)
    }

    /// The fast path: a number with at most 15 digits and a small exponent is exact as a quotient of two exact numbers.
    private static func shortDouble(_ text: UnsafeBufferPointer<UInt8>) -> Double? {
        guard text.count <= 17 else { return nil }
        let isNegative = text[0] == UInt8(ascii: "-")
        var value: Int64 = 0
        var digits = 0
        var fraction: Int?
        var position = isNegative ? 1 : 0
        while position < text.count {
            let byte = text[position]
            if byte == UInt8(ascii: ".") {
                fraction = 0
            } else {
                guard byte &- UInt8(ascii: "0") < 10 else { return nil }
                value = value &* 10 &+ Int64(byte &- UInt8(ascii: "0"))
                digits &+= 1
                if let count = fraction { fraction = count &+ 1 }
            }
            position &+= 1
        }
        guard digits <= 15 else { return nil }
        let magnitude = Double(value) / Self.powersOfTen[fraction ?? 0]
        return isNegative ? -magnitude : magnitude
    }

    private static let powersOfTen: [Double] = [
        1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
    ]

    static func nearest<Number: BinaryFloatingPoint & LosslessStringConvertible>(
        _ text: UnsafeBufferPointer<UInt8>, as type: Number.Type
    ) -> Number? {
        guard let value = Number(String(decoding: text, as: UTF8.self)), value.isFinite else { return nil }
        guard value == 0 else { return value }
        return Self.isZero(text) ? value : nil
    }

    /// Appends an integer in decimal.
    static func append(_ number: some FixedWidthInteger, to output: inout [UInt8]) {
        guard var rest = UInt64(exactly: number.magnitude) else {
            output.append(contentsOf: String(number).utf8)
            return
        }
        if number < 0 { output.append(UInt8(ascii: "-")) }
        var digits = 1
        var bound: UInt64 = 10
        while rest >= bound {
            digits &+= 1
            guard digits < 20 else { break }
            bound &*= 10
        }
        let start = output.count
        output.append(contentsOf: repeatElement(UInt8(ascii: "0"), count: digits))
        var position = start &+ digits
        while rest > 0 {
            position &-= 1
            output[position] = UInt8(ascii: "0") &+ UInt8(truncatingIfNeeded: rest % 10)
            rest /= 10
        }
    }
}
