/// A value or key of a scanned text.
struct JSONToken {
    enum Kind: UInt8 {
        case null, `true`, `false`, number, array, object
        /// A string without escapes.
        case string
        /// A string with escapes.
        case escapedString
    }

    /// The start in the text, quotes included.
    let start: UInt32
    /// Its bytes, quotes included; of arrays and objects the number of elements or members.
    var count: UInt32
    /// The token behind it and all that is inside; while it is open, the token around it.
    var next: UInt32
    let kind: Kind
}

/// The tokens of one JSON value in the order of the text: the members of an object are keys and values by turns.
///
/// Made in one pass without recursion, under the limits of ``JSONScanner``. Behind it, every step from value to value costs
/// the same, in whatever order a type asks for its members, and no byte is looked at again but those of scalars.
///
/// The document that it was made for frees the tokens, which are trivial.
struct JSONTape {
    private(set) var tokens: UnsafeMutablePointer<JSONToken>
    private(set) var count = 0
    private var capacity = JSONTape.initialCapacity

    /// The tokens that there is room for at first: 1 KiB, which the allocator keeps at hand.
    static let initialCapacity = 64

    /// Makes an empty tape.
    init() { self.tokens = .allocate(capacity: self.capacity) }

    /// Scans exactly one value that starts at `start` (no leading space) and returns the offset behind it.
    mutating func scan(_ text: UnsafeBufferPointer<UInt8>, from start: Int) throws(JSONScanError) -> Int {
        // Offsets are 32 bits wide.
        guard text.count <= Int32.max else { throw JSONScanError(.tooManyValues, at: start) }
        var position = start
        var open = -1
        var depth = 0
        var remainingValues = JSONScanner.maximumValues
        value: while true {
            remainingValues &-= 1
            guard remainingValues >= 0 else { throw JSONScanError(.tooManyValues, at: position) }
            guard position < text.count else { throw JSONScanError(.truncated, at: position) }
            let first = text[position]
            switch first {
            case UInt8(ascii: "\""):
                position = try self.appendString(text, from: position)
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                guard depth < JSONScanner.maximumDepth else { throw JSONScanError(.tooDeep, at: position) }
                depth &+= 1
                let isObject = first == UInt8(ascii: "{")
                // `open` is -1 for the outermost: it comes back as it went in.
                self.append(
                    isObject ? .object : .array, start: position, count: 0,
                    next: UInt32(truncatingIfNeeded: open))
                open = self.count &- 1
                position = JSONScanner.skipSpace(text, from: position &+ 1)
                guard position < text.count else { throw JSONScanError(.truncated, at: position) }
                if text[position] != (isObject ? UInt8(ascii: "}") : UInt8(ascii: "]")) {
                    if isObject { position = try self.appendKey(text, from: position) }
                    self.tokens[open].count = 1
                    continue value
                }
            default:
                position = try self.appendScalar(text, from: position, first)
            }
            // A value has ended: close what ends with it, or go on to the next one.
            while open >= 0 {
                position = JSONScanner.skipSpace(text, from: position)
                guard position < text.count else { throw JSONScanError(.truncated, at: position) }
                let isObject = self.tokens[open].kind == .object
                let byte = text[position]
                if byte == UInt8(ascii: ","), self.tokens[open].count > 0 {
                    position = JSONScanner.skipSpace(text, from: position &+ 1)
                    if isObject { position = try self.appendKey(text, from: position) }
                    self.tokens[open].count &+= 1
                    continue value
                }
                guard byte == (isObject ? UInt8(ascii: "}") : UInt8(ascii: "]")) else {
                    throw JSONScanError(.unexpectedByte, at: position)
                }
                position &+= 1
                let outer = Int(Int32(truncatingIfNeeded: self.tokens[open].next))
                self.tokens[open].next = UInt32(truncatingIfNeeded: self.count)
                open = outer
                depth &-= 1
            }
            return position
        }
    }

    /// Takes `"key" :` and returns the first byte of the member's value.
    private mutating func appendKey(
        _ text: UnsafeBufferPointer<UInt8>, from position: Int
    ) throws(JSONScanError) -> Int {
        guard position < text.count else { throw JSONScanError(.truncated, at: position) }
        guard text[position] == UInt8(ascii: "\"") else { throw JSONScanError(.unexpectedByte, at: position) }
        let end = JSONScanner.skipSpace(text, from: try self.appendString(text, from: position))
        guard end < text.count else { throw JSONScanError(.truncated, at: end) }
        guard text[end] == UInt8(ascii: ":") else { throw JSONScanError(.unexpectedByte, at: end) }
        return JSONScanner.skipSpace(text, from: end &+ 1)
    }

    private mutating func appendString(
        _ text: UnsafeBufferPointer<UInt8>, from position: Int
    ) throws(JSONScanError) -> Int {
        let plain = JSONScanner.skipPlain(text, from: position &+ 1)
        let isPlain = plain < text.count && text[plain] == UInt8(ascii: "\"")
        let end = isPlain ? plain &+ 1 : try JSONScanner.skipString(text, from: position)
        self.append(isPlain ? .string : .escapedString, start: position, count: end &- position)
        return end
    }

    private mutating func appendScalar(
        _ text: UnsafeBufferPointer<UInt8>, from position: Int, _ first: UInt8
    ) throws(JSONScanError) -> Int {
        var scanner = JSONScanner(maximumValues: 1)
        let end = try scanner.skipValue(text, from: position)
        let kind: JSONToken.Kind =
            switch first {
            case UInt8(ascii: "n"): .null
            case UInt8(ascii: "t"): .true
            case UInt8(ascii: "f"): .false
            default: .number
            }
        self.append(kind, start: position, count: end &- position)
        return end
    }

    @inline(__always)
    private mutating func append(_ kind: JSONToken.Kind, start: Int, count: Int, next: UInt32? = nil) {
        if self.count == self.capacity { self.grow(to: self.capacity &* 4) }
        let token = JSONToken(
            start: UInt32(truncatingIfNeeded: start), count: UInt32(truncatingIfNeeded: count),
            next: next ?? UInt32(truncatingIfNeeded: self.count &+ 1), kind: kind)
        (self.tokens + self.count).initialize(to: token)
        self.count &+= 1
    }

    private mutating func grow(to capacity: Int) {
        let tokens = UnsafeMutablePointer<JSONToken>.allocate(capacity: capacity)
        tokens.initialize(from: self.tokens, count: self.count)
        self.tokens.deallocate()
        (self.tokens, self.capacity) = (tokens, capacity)
    }
}
