/// The reason why a text is not acceptable JSON.
package struct JSONScanError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The kinds of problems.
    package enum Reason: String, Sendable, Hashable {
        /// The text ends inside a value.
        case truncated
        /// A byte that RFC 8259 does not allow here.
        case unexpectedByte
        /// More nested arrays and objects than the limit.
        case tooDeep
        /// More values than the limit.
        case tooManyValues
    }

    /// The kind of the problem.
    package var reason: Reason
    /// The offset of the offending byte, counted from the start of the scanned text.
    package var offset: Int

    /// Makes an error.
    package init(_ reason: Reason, at offset: Int) {
        self.reason = reason
        self.offset = offset
    }

    /// The problem as a sentence about `text`, which names a limit as one of this side.
    package func sentence(about text: String) -> String {
        switch self.reason {
        case .truncated, .unexpectedByte: "\(text) is not acceptable JSON"
        case .tooDeep: "\(text) is nested deeper than the \(JSONScanner.maximumDepth) levels that are accepted here"
        case .tooManyValues: "\(text) has more than the \(JSONScanner.maximumValues) values that are accepted here"
        }
    }

    /// The reason and the offset.
    package var description: String { "JSON \(self.reason.rawValue) at byte \(self.offset)" }
}

/// Checks and skips JSON in one pass, without recursion and without building anything.
///
/// It stands in front of every recursive decoder, so that a kilobyte of brackets can cost neither seconds nor the
/// stack. Grammar: RFC 8259. That strings are valid UTF-8 is the framing layer's check.
package struct JSONScanner: Sendable {
    /// Nested arrays and objects allowed.
    ///
    /// At most 64: the open ones are kept in one machine word.
    package static let maximumDepth = 64
    /// Values allowed in one text.
    package static let maximumValues = 100_000

    /// The values that may still be scanned.
    private var remainingValues: Int
    /// The end of the first value that stands directly in the arrays of ``skipValue(_:from:inArrays:)``; nil before
    /// that.
    package private(set) var firstEnd: Int?

    /// Makes a scanner for one text.
    ///
    /// - Parameter maximumValues: how many values, nested ones included, the text may have.
    package init(maximumValues: Int = Self.maximumValues) {
        self.remainingValues = maximumValues
    }

    /// Skips white space from `position`.
    package static func skipSpace(_ text: UnsafeBufferPointer<UInt8>, from position: Int) -> Int {
        var position = position
        while position < text.count, Self.isSpace(text[position]) { position &+= 1 }
        return position
    }

    /// Skips exactly one value that starts at `position` (no leading space) and returns the offset behind it.
    ///
    /// - Parameters:
    ///   - text: the text.
    ///   - position: where the value starts.
    ///   - arrays: how many arrays the value stands in, which are skipped to their end with it.
    /// - Returns: the offset behind the value, or behind the outermost of those arrays.
    /// - Throws: what is wrong with the text, and where.
    package mutating func skipValue(
        _ text: UnsafeBufferPointer<UInt8>, from position: Int, inArrays arrays: Int = 0
    ) throws(JSONScanError) -> Int {
        var nothing = NoTokens()
        return try self.scan(text, from: position, inArrays: arrays, into: &nothing)
    }

    /// The same, which tells of everything that it skips.
    mutating func scan(
        _ text: UnsafeBufferPointer<UInt8>, from position: Int, inArrays arrays: Int, into tokens: inout some JSONTokens
    ) throws(JSONScanError) -> Int {
        self.firstEnd = nil
        var position = position
        var depth = arrays
        var objects: UInt64 = 0  // bit d is set when level d is an object
        value: while true {
            self.remainingValues &-= 1
            guard self.remainingValues >= 0 else { throw JSONScanError(.tooManyValues, at: position) }
            guard position < text.count else { throw JSONScanError(.truncated, at: position) }
            switch text[position] {
            case UInt8(ascii: "\""):
                position = try Self.scanString(text, from: position, into: &tokens)
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                guard depth < Self.maximumDepth else { throw JSONScanError(.tooDeep, at: position) }
                let isObject = text[position] == UInt8(ascii: "{")
                let bit: UInt64 = 1 << UInt64(depth)
                objects = isObject ? objects | bit : objects & ~bit
                depth &+= 1
                tokens.open(isObject: isObject, at: position)
                position = Self.skipSpace(text, from: position &+ 1)
                guard position < text.count else { throw JSONScanError(.truncated, at: position) }
                if text[position] != UInt8(ascii: isObject ? "}" : "]") {
                    tokens.element()
                    if isObject { position = try Self.scanKey(text, from: position, into: &tokens) }
                    continue value
                }
                position &+= 1
                depth &-= 1
                tokens.close()
            default:
                let end = try Self.skipScalar(text, from: position)
                tokens.scalar(text[position], position..<end)
                position = end
            }
            if self.firstEnd == nil, depth == arrays { self.firstEnd = position }
            // A value has ended: close what ends with it, or go on to the next one.
            while depth > 0 {
                position = Self.skipSpace(text, from: position)
                guard position < text.count else { throw JSONScanError(.truncated, at: position) }
                let isObject = objects & (1 << UInt64(depth &- 1)) != 0
                let byte = text[position]
                if byte == UInt8(ascii: ",") {
                    position = Self.skipSpace(text, from: position &+ 1)
                    tokens.element()
                    if isObject { position = try Self.scanKey(text, from: position, into: &tokens) }
                    continue value
                }
                guard byte == UInt8(ascii: isObject ? "}" : "]") else {
                    throw JSONScanError(.unexpectedByte, at: position)
                }
                position &+= 1
                depth &-= 1
                tokens.close()
                if self.firstEnd == nil, depth == arrays { self.firstEnd = position }
            }
            return position
        }
    }

    /// Skips a string, both quotes included, and returns the offset behind it.
    package static func skipString(
        _ text: UnsafeBufferPointer<UInt8>, from position: Int
    ) throws(JSONScanError) -> Int {
        var position = position &+ 1
        while true {
            position = Self.skipPlain(text, from: position)
            guard position < text.count else { throw JSONScanError(.truncated, at: position) }
            switch text[position] {
            case UInt8(ascii: "\""):
                return position &+ 1
            case UInt8(ascii: "\\"):
                position = try Self.skipEscape(text, from: position)
            default:
                throw JSONScanError(.unexpectedByte, at: position)
            }
        }
    }
}

extension JSONScanner {
    /// Calls `body` with each member of the object, or element of the array, that begins at `start`: with the inside of its
    /// key, and its value; ends with the container or the text, or when `body` says so.
    @inline(__always)
    static func members(
        _ text: UnsafeBufferPointer<UInt8>, from start: Int, _ body: (_ key: Range<Int>?, _ value: Range<Int>) -> Bool
    ) {
        let isObject = text[start] == UInt8(ascii: "{")
        var scanner = JSONScanner(maximumValues: .max)
        var position = Self.skipSpace(text, from: start + 1)
        while position < text.count {
            var key: Range<Int>?
            if isObject {
                guard text[position] == UInt8(ascii: "\""), let end = try? Self.skipString(text, from: position) else {
                    return
                }
                key = position + 1..<end - 1
                position = Self.skipSpace(text, from: Self.skipSpace(text, from: end) + 1)
            }
            guard let end = try? scanner.skipValue(text, from: position), body(key, position..<end) else { return }
            position = Self.skipSpace(text, from: Self.skipSpace(text, from: end) + 1)
        }
    }

    static func isSpace(_ byte: UInt8) -> Bool {
        byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09
    }

    /// Skips string bytes that mean themselves, sixteen at a time where possible.
    @inline(__always)
    static func skipPlain(_ text: UnsafeBufferPointer<UInt8>, from start: Int) -> Int {
        var position = start
        guard let raw = text.baseAddress.map({ UnsafeRawPointer($0) }) else { return start }
        while position &+ 16 <= text.count {
            let first = Self.special(in: raw.loadUnaligned(fromByteOffset: position, as: UInt64.self))
            let second = Self.special(in: raw.loadUnaligned(fromByteOffset: position &+ 8, as: UInt64.self))
            guard first == 0 else { return position &+ first.trailingZeroBitCount / 8 }
            guard second == 0 else { return position &+ 8 &+ second.trailingZeroBitCount / 8 }
            position &+= 16
        }
        if position &+ 8 <= text.count {
            let found = Self.special(in: raw.loadUnaligned(fromByteOffset: position, as: UInt64.self))
            guard found == 0 else { return position &+ found.trailingZeroBitCount / 8 }
            position &+= 8
        }
        while position < text.count {
            let byte = text[position]
            if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") || byte < 0x20 { break }
            position &+= 1
        }
        return position
    }

    /// Marks the first of eight bytes in memory order that does not mean itself in a string, by its highest bit.
    ///
    /// The difference of a byte of ASCII and a larger one has the highest bit. Those behind the first may be marked without a
    /// reason, since the subtraction borrows from them.
    private static func special(in word: UInt64) -> UInt64 {
        let word = UInt64(littleEndian: word)
        let ones: UInt64 = 0x0101_0101_0101_0101
        let control = word &- (ones &* 0x20)
        let quote = (word ^ (ones &* 0x22)) &- ones
        let slash = (word ^ (ones &* 0x5C)) &- ones
        return (control | quote | slash) & ~word & (ones &* 0x80)
    }

    private static func skipEscape(
        _ text: UnsafeBufferPointer<UInt8>, from position: Int
    ) throws(JSONScanError) -> Int {
        guard position &+ 1 < text.count else { throw JSONScanError(.truncated, at: text.count) }
        switch text[position &+ 1] {
        case UInt8(ascii: "u"):
            guard position &+ 6 <= text.count else { throw JSONScanError(.truncated, at: text.count) }
            for offset in position &+ 2..<position &+ 6 where Self.hexValue(text[offset]) == nil {
                throw JSONScanError(.unexpectedByte, at: offset)
            }
            return position &+ 6
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"), UInt8(ascii: "f"),
            UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"):
            return position &+ 2
        default:
            throw JSONScanError(.unexpectedByte, at: position &+ 1)
        }
    }

    /// Skips `"key" :` and the space around it, up to the first byte of the member's value.
    private static func scanKey(
        _ text: UnsafeBufferPointer<UInt8>, from position: Int, into tokens: inout some JSONTokens
    ) throws(JSONScanError) -> Int {
        guard position < text.count else { throw JSONScanError(.truncated, at: position) }
        guard text[position] == UInt8(ascii: "\"") else { throw JSONScanError(.unexpectedByte, at: position) }
        let end = Self.skipSpace(text, from: try Self.scanString(text, from: position, into: &tokens))
        guard end < text.count else { throw JSONScanError(.truncated, at: end) }
        guard text[end] == UInt8(ascii: ":") else { throw JSONScanError(.unexpectedByte, at: end) }
        return Self.skipSpace(text, from: end &+ 1)
    }

    private static func scanString(
        _ text: UnsafeBufferPointer<UInt8>, from position: Int, into tokens: inout some JSONTokens
    ) throws(JSONScanError) -> Int {
        let plain = Self.skipPlain(text, from: position &+ 1)
        let isPlain = plain < text.count && text[plain] == UInt8(ascii: "\"")
        let end = isPlain ? plain &+ 1 : try Self.skipString(text, from: position)
        tokens.string(position..<end, isPlain: isPlain)
        return end
    }

    private static func skipScalar(
        _ text: UnsafeBufferPointer<UInt8>, from position: Int
    ) throws(JSONScanError) -> Int {
        switch text[position] {
        case UInt8(ascii: "t"): try Self.skip("true", text, from: position)
        case UInt8(ascii: "f"): try Self.skip("false", text, from: position)
        case UInt8(ascii: "n"): try Self.skip("null", text, from: position)
        default: try Self.skipNumber(text, from: position)
        }
    }

    private static func skip(
        _ word: StaticString, _ text: UnsafeBufferPointer<UInt8>, from position: Int
    ) throws(JSONScanError) -> Int {
        for offset in 0..<word.utf8CodeUnitCount {
            guard position &+ offset < text.count else { throw JSONScanError(.truncated, at: text.count) }
            guard text[position &+ offset] == word.utf8Start[offset] else {
                throw JSONScanError(.unexpectedByte, at: position &+ offset)
            }
        }
        return position &+ word.utf8CodeUnitCount
    }

    private static func skipNumber(
        _ text: UnsafeBufferPointer<UInt8>, from start: Int
    ) throws(JSONScanError) -> Int {
        let first = text[start] == UInt8(ascii: "-") ? start &+ 1 : start
        var position = try Self.skipDigits(text, from: first)
        // No digit of the same number follows a leading zero.
        if text[first] == UInt8(ascii: "0") { position = first &+ 1 }
        if position < text.count, text[position] == UInt8(ascii: ".") {
            position = try Self.skipDigits(text, from: position &+ 1)
        }
        if position < text.count, text[position] | 0x20 == UInt8(ascii: "e") {
            position &+= 1
            if position < text.count, text[position] == UInt8(ascii: "+") || text[position] == UInt8(ascii: "-") {
                position &+= 1
            }
            position = try Self.skipDigits(text, from: position)
        }
        return position
    }

    private static func skipDigits(
        _ text: UnsafeBufferPointer<UInt8>, from start: Int
    ) throws(JSONScanError) -> Int {
        var position = start
        while position < text.count, text[position] &- UInt8(ascii: "0") < 10 { position &+= 1 }
        guard position > start else {
            throw JSONScanError(position < text.count ? .unexpectedByte : .truncated, at: position)
        }
        return position
    }

    static func hexValue(_ byte: UInt8) -> UInt16? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt16(byte &- UInt8(ascii: "0"))
        case UInt8(ascii: "a")...UInt8(ascii: "f"): UInt16(byte &- UInt8(ascii: "a") &+ 10)
        case UInt8(ascii: "A")...UInt8(ascii: "F"): UInt16(byte &- UInt8(ascii: "A") &+ 10)
        default: nil
        }
    }
}

/// Notes what a scanner passes, in the order of the text.
protocol JSONTokens {
    /// An array or object begins.
    mutating func open(isObject: Bool, at position: Int)
    /// A further element of the innermost array, or member of the innermost object, begins.
    mutating func element()
    /// The innermost array or object has ended.
    mutating func close()
    /// A string or a key, with its quotes; it is plain when it has no escapes.
    mutating func string(_ range: Range<Int>, isPlain: Bool)
    /// A number, Boolean or null, which begins with this byte.
    mutating func scalar(_ first: UInt8, _ range: Range<Int>)
}

/// Notes nothing.
private struct NoTokens: JSONTokens {
    // Without a size it would have the address of every other value without one, which the thread sanitizer takes for a race.
    private let size: UInt8 = 0

    func open(isObject: Bool, at position: Int) {}
    func element() {}
    func close() {}
    func string(_ range: Range<Int>, isPlain: Bool) {}
    func scalar(_ first: UInt8, _ range: Range<Int>) {}
}
