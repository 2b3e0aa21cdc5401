internal import LinkspanRuntime

/// The form in which a blob stands in the text (Socket.IO protocol v5, "Binary event").
enum Attachment {
    static let flag = "_placeholder"
    static let number = "num"
}

/// One JSON value while it is decoded: its text, its tokens, and what reads scalars from them.
///
/// The text belongs to the call that decodes. A type that keeps its decoder outlives that call; for this case it is copied
/// when the call ends.
final class JSONDocument {
    private(set) var text: UnsafeBufferPointer<UInt8>
    let tokens: UnsafeMutablePointer<JSONToken>
    let attachments: [ArraySlice<UInt8>]
    let rules: CodingRules
    /// The text with what follows the value, as long as the call lasts; nil when nothing may follow it.
    private(set) var whole: UnsafeBufferPointer<UInt8>?
    private var ownsText = false
    /// For each array and object that a path led through: the element, or the key, where it went on.
    private var steps: [Int: (ordinal: Int, element: Int)] = [:]

    /// Scans the first value of a text; nothing may follow it when `isWhole`.
    init(
        _ text: UnsafeBufferPointer<UInt8>, isWhole: Bool, attachments: [ArraySlice<UInt8>], rules: CodingRules
    ) throws {
        var tape = JSONTape()
        do throws(JSONScanError) {
            let end = try tape.scan(text, from: JSONScanner.skipSpace(text, from: 0))
            if isWhole {
                let rest = JSONScanner.skipSpace(text, from: end)
                guard rest == text.count else { throw JSONScanError(.unexpectedByte, at: rest) }
            }
            self.text = UnsafeBufferPointer(rebasing: text[..<end])
        } catch {
            tape.tokens.deallocate()
            throw DecodingError.dataCorrupted(
                .init(codingPath: [], debugDescription: "the text is not JSON", underlyingError: error))
        }
        self.whole = isWhole ? nil : text
        self.tokens = tape.tokens
        self.attachments = attachments
        self.rules = rules
    }

    deinit {
        self.tokens.deallocate()
        if self.ownsText { self.text.deallocate() }
    }

    /// Keeps the text in memory of its own: somebody decodes on.
    func keepText() {
        let copy = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: self.text.count)
        _ = copy.initialize(from: self.text)
        (self.text, self.whole, self.ownsText) = (UnsafeBufferPointer(copy), nil, true)
    }
}

// MARK: - Raw values

extension JSONDocument {
    /// The text of a value, in memory of its own.
    func json(at index: Int) -> PayloadValue {
        let start = Int(self.tokens[index].start)
        var scanner = JSONScanner(maximumValues: .max)
        // Scanned already, so that it has an end.
        let end = (try? scanner.skipValue(self.text, from: start)) ?? self.text.count
        return PayloadValue(text: Array(self.text[start..<end])[...], attachments: self.attachments)
    }
}

// MARK: - Scalars

extension JSONDocument {
    func isNull(at index: Int) -> Bool { self.tokens[index].kind == .null }

    func bytes(of token: JSONToken) -> UnsafeBufferPointer<UInt8> {
        UnsafeBufferPointer(rebasing: self.text[Int(token.start)..<Int(token.start &+ token.count)])
    }

    /// The bytes of a string or key without its quotes, escapes and all.
    func inside(of token: JSONToken) -> UnsafeBufferPointer<UInt8> {
        UnsafeBufferPointer(rebasing: self.text[Int(token.start &+ 1)..<Int(token.start &+ token.count &- 1)])
    }

    /// The text of a key, which is repaired where it is not UTF-8.
    func key(at index: Int) -> String {
        let token = self.tokens[index]
        let inside = self.inside(of: token)
        return token.kind == .string ? String(decoding: inside, as: UTF8.self) : JSONString.unescape(inside)
    }

    @inline(__always)
    func string(at index: Int) throws -> String {
        let token = self.tokens[index]
        switch token.kind {
        case .string:
            let inside = self.inside(of: token)
            let text = String(decoding: inside, as: UTF8.self)
            if text.isSame(as: inside) { return text }
        case .escapedString:
            let inside = self.inside(of: token)
            let text = JSONString.unescape(inside)
            if String(decoding: inside, as: UTF8.self).isSame(as: inside) { return text }
        default:
            throw self.mismatch(String.self, at: index)
        }
        throw self.corrupted("the string is not UTF-8", at: index)
    }

    func bool(at index: Int) throws -> Bool {
        switch self.tokens[index].kind {
        case .true: true
        case .false: false
        default: throw self.mismatch(Bool.self, at: index)
        }
    }

    @inline(__always)
    func integer<Integer: FixedWidthInteger>(_ type: Integer.Type, at index: Int) throws -> Integer {
        let token = self.tokens[index]
        guard token.kind == .number else { throw self.mismatch(type, at: index) }
        if let value = NumberText.integer(self.bytes(of: token), as: type) { return value }
        throw self.corrupted("the number does not fit \(type)", at: index)
    }

    func double(at index: Int) throws -> Double {
        let token = self.tokens[index]
        guard token.kind == .number else { return try self.nonConforming(Double.self, at: index) }
        if let value = NumberText.double(self.bytes(of: token)) { return value }
        throw self.corrupted("the number does not fit Double", at: index)
    }

    func float(at index: Int) throws -> Float {
        let token = self.tokens[index]
        guard token.kind == .number else { return try self.nonConforming(Float.self, at: index) }
        if let value = NumberText.nearest(self.bytes(of: token), as: Float.self) { return value }
        throw self.corrupted("the number does not fit Float", at: index)
    }

    private func nonConforming<Number: BinaryFloatingPoint>(_ type: Number.Type, at index: Int) throws -> Number {
        guard let (positiveInfinity, negativeInfinity, nan) = self.rules.floats,
            [.string, .escapedString].contains(self.tokens[index].kind)
        else { throw self.mismatch(type, at: index) }
        return switch try self.string(at: index) {
        case positiveInfinity: .infinity
        case negativeInfinity: -.infinity
        case nan: .nan
        default: throw self.mismatch(type, at: index)
        }
    }
}

// MARK: - Errors

extension JSONDocument {
    /// The error for a value that has another type than the wanted one.
    @inline(never)
    func mismatch(_ type: any Any.Type, at index: Int) -> DecodingError {
        let found =
            switch self.tokens[index].kind {
            case .null: "null"
            case .true, .false: "bool"
            case .number: "number"
            case .string, .escapedString: "a string"
            case .array: "an array"
            case .object: "a dictionary"
            }
        let path = self.path(to: index)
        guard found != "null" else {
            return .valueNotFound(
                type,
                .init(
                    codingPath: path,
                    debugDescription: "Cannot get value of type \(type) -- found null value instead"))
        }
        return .typeMismatch(
            type,
            .init(codingPath: path, debugDescription: "Expected to decode \(type) but found \(found) instead."))
    }

    @inline(never)
    func corrupted(_ what: String, at index: Int) -> DecodingError {
        .dataCorrupted(.init(codingPath: self.path(to: index), debugDescription: what))
    }

    /// The keys that lead to a value, found by walking down to it: a path costs nothing until somebody asks for it.
    ///
    /// Each array and object is walked on from where the last path left it, so that the paths to all elements together cost
    /// no more than one walk.
    func path(to target: Int) -> [any CodingKey] {
        var path: [any CodingKey] = []
        var index = 0
        while index < target {
            assert(Growth.step())
            if self.tokens[index].kind == .object {
                var key = index + 1
                if let last = self.steps[index], last.element <= target { key = last.element }
                while Int(self.tokens[key + 1].next) <= target {
                    assert(Growth.step())
                    key = Int(self.tokens[key + 1].next)
                }
                self.steps[index] = (0, key)
                path.append(PayloadKey.name(self.rules.read(self.key(at: key))))
                index = key + 1
            } else {
                var (ordinal, element) = (0, index + 1)
                if let last = self.steps[index], last.element <= target { (ordinal, element) = last }
                while Int(self.tokens[element].next) <= target {
                    assert(Growth.step())
                    element = Int(self.tokens[element].next)
                    ordinal += 1
                }
                self.steps[index] = (ordinal, element)
                path.append(PayloadKey.index(ordinal))
                index = element
            }
        }
        return path
    }
}
