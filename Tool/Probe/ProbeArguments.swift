import ArgumentParser
import Foundation
import Linkspan

/// The arguments of an event as they are typed: JSON values, binary, or plain text.
struct ProbeArguments {
    private var values: [String] = []
    private var attachments: [ArraySlice<UInt8>] = []

    init(_ text: Substring) throws(ValidationError) {
        var rest = text.drop { $0.isWhitespace || $0 == "," }
        while !rest.isEmpty {
            rest = try self.take(rest).drop { $0.isWhitespace || $0 == "," }
        }
    }

    /// The arguments as they are sent.
    func payload() throws(ValidationError) -> Payload {
        do throws(LinkspanError) {
            let text = Array(self.values.joined(separator: ",").utf8)
            return try Payload(checking: text[...], attachments: self.attachments)
        } catch {
            throw ValidationError("the arguments are not JSON: \(error.message)")
        }
    }

    /// Takes the first argument of a text, and returns what follows it.
    private mutating func take(_ text: Substring) throws(ValidationError) -> Substring {
        let word = text.prefix { !$0.isWhitespace }
        if let data = try Self.binary(word) {
            self.values.append(#"{"_placeholder":true,"num":\#(self.attachments.count)}"#)
            self.attachments.append(Array(data)[...])
            return text[word.endIndex...]
        }
        if let first = text.first, "{[\"".contains(first) {
            guard let end = Self.end(of: text) else {
                throw ValidationError("a quote or a bracket is not closed: \(text.prefix(40))")
            }
            self.values.append(String(text[..<end]))
            return text[end...]
        }
        let scalar = word.last == "," ? word.dropLast() : word
        // By JSON's own grammar: `0049123`, `0x10` and `1.` are text.
        if (try? PayloadValue(json: String(scalar))) != nil {
            self.values.append(String(scalar))
            return text[scalar.endIndex...]
        }
        // Whatever else is there is one text, to the end of the line.
        self.values.append(String(decoding: ((try? Payload(String(text))) ?? .empty).elements, as: UTF8.self))
        return text[text.endIndex...]
    }

    /// The bytes that a word stands for; nil when it is another argument.
    private static func binary(_ word: Substring) throws(ValidationError) -> Data? {
        let parts = word.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, case let value = String(parts[1]) else { return nil }
        switch parts[0] {
        case "hex":
            guard let bytes = self.hex(value) else { throw ValidationError("'\(value)' is not hexadecimal") }
            return bytes
        case "base64":
            guard let bytes = Data(base64Encoded: value) else { throw ValidationError("'\(value)' is not Base64") }
            return bytes
        case "file":
            guard let bytes = FileManager.default.contents(atPath: value) else {
                throw ValidationError("the file '\(value)' cannot be read")
            }
            return bytes
        default: return nil
        }
    }

    private static func hex(_ text: String) -> Data? {
        let digits = text.compactMap(\.hexDigitValue)
        guard digits.count == text.count, digits.count.isMultiple(of: 2) else { return nil }
        return Data(stride(from: 0, to: digits.count, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) })
    }

    /// The place behind a string, an object or an array; nil when the text ends before.
    private static func end(of text: Substring) -> Substring.Index? {
        do throws(JSONScanError) {
            let count = try Array(text.utf8).withUnsafeBufferPointer { bytes throws(JSONScanError) in
                var scanner = JSONScanner()
                return try scanner.skipValue(bytes, from: 0)
            }
            return text.utf8.index(text.startIndex, offsetBy: count)
        } catch {
            // What else is wrong with it is said of all arguments.
            return error.reason == .truncated ? nil : text.endIndex
        }
    }
}
