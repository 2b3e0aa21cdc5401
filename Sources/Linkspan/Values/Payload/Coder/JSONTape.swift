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
    /// The token of the innermost array or object that is open; -1 for none.
    private var innermost = -1

    /// The tokens that there is room for at first: 1 KiB, which the allocator keeps at hand.
    static let initialCapacity = 64

    /// Makes an empty tape.
    init() { self.tokens = .allocate(capacity: self.capacity) }

    /// Scans exactly one value that starts at `start` (no leading space) and returns the offset behind it.
    mutating func scan(_ text: UnsafeBufferPointer<UInt8>, from start: Int) throws(JSONScanError) -> Int {
        // Offsets are 32 bits wide.
        guard text.count <= Int32.max else { throw JSONScanError(.tooManyValues, at: start) }
        var scanner = JSONScanner()
        return try scanner.scan(text, from: start, inArrays: 0, into: &self)
    }

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

extension JSONTape: JSONTokens {
    mutating func open(isObject: Bool, at position: Int) {
        // The outermost notes -1, which comes back as it went in.
        let outer = UInt32(truncatingIfNeeded: self.innermost)
        self.append(isObject ? .object : .array, start: position, count: 0, next: outer)
        self.innermost = self.count &- 1
    }

    mutating func element() { self.tokens[self.innermost].count &+= 1 }

    mutating func close() {
        let outer = Int(Int32(truncatingIfNeeded: self.tokens[self.innermost].next))
        self.tokens[self.innermost].next = UInt32(truncatingIfNeeded: self.count)
        self.innermost = outer
    }

    mutating func string(_ range: Range<Int>, isPlain: Bool) {
        self.append(isPlain ? .string : .escapedString, start: range.lowerBound, count: range.count)
    }

    mutating func scalar(_ first: UInt8, _ range: Range<Int>) {
        let kind: JSONToken.Kind =
            switch first {
            case UInt8(ascii: "n"): .null
            case UInt8(ascii: "t"): .true
            case UInt8(ascii: "f"): .false
            default: .number
            }
        self.append(kind, start: range.lowerBound, count: range.count)
    }
}
