/// Refuses texts that would exhaust the YAML parser, which recurses without a limit of its own and expands aliases.
///
/// It never takes a deep text for a shallow one: where quotation is ambiguous, it counts brackets instead of
/// following them.
struct NestingLimit {
    /// The depth to which flow collections may nest.
    static let depth = 64
    /// The number of brackets that may be opened in all, where nesting cannot be followed.
    static let brackets = 200
    /// The largest indentation of a line, in columns.
    ///
    /// Every column can hold two levels.
    static let column = 100
    /// The number of aliases that may stand in a text.
    ///
    /// Ten of them can multiply it by forty at most.
    static let aliases = 10
    /// The bytes after which `*` may begin an alias: spaces, line ends and indicators.
    private static let beforeAlias: Set<UInt8> = [
        0x09, 0x0A, 0x0D, 0x20, 0x2C, 0x2D, 0x3A, 0x3F, 0x5B, 0x5D, 0x7B, 0x7D,
    ]

    private var depth = 0
    private var deepest = 0
    private var opened = 0
    private var aliases = 0
    private var isSure = true

    /// The reason to reject a text; nil if it may be parsed.
    static func violation(in bytes: [UInt8]) -> String? {
        var limit = Self()
        guard !limit.hasForeignLineEnds(bytes) else { return "it has line ends that are neither LF nor CR" }
        guard limit.checkColumns(bytes) else { return "it is nested too deeply" }
        limit.scan(bytes)
        let isTooDeep = limit.isSure ? limit.deepest > Self.depth : limit.opened > Self.brackets
        if isTooDeep { return "it is nested too deeply" }
        return limit.aliases > Self.aliases ? "it has more than \(Self.aliases) aliases" : nil
    }

    /// Whether the text has Unicode line separators, which YAML accepts and these checks do not see.
    private func hasForeignLineEnds(_ bytes: [UInt8]) -> Bool {
        bytes.indices.dropLast().contains { index in
            let next = bytes[index + 1]
            if bytes[index] == 0xC2 { return next == 0x85 }
            guard bytes[index] == 0xE2, next == 0x80, index + 2 < bytes.count else { return false }
            return bytes[index + 2] == 0xA8 || bytes[index + 2] == 0xA9
        }
    }

    private func checkColumns(_ bytes: [UInt8]) -> Bool {
        bytes.split(whereSeparator: { $0 == 0x0A || $0 == 0x0D }).allSatisfy { line in
            // Each dash of `- - - a` is a level.
            let indicators: Set<UInt8> = [0x20, 0x09, 0x2D, 0x3F, 0x3A]
            let begin = line.firstIndex { !indicators.contains($0) } ?? line.endIndex
            return begin - line.startIndex <= Self.column
        }
    }

    private mutating func scan(_ bytes: [UInt8]) {
        var quote: UInt8?
        var isComment = false
        var previous: UInt8 = 0x0A
        /// The last two bytes other than spaces.
        var token: (before: UInt8, last: UInt8) = (0x0A, 0x0A)
        var isEscaped = false
        for byte in bytes {
            defer { previous = byte }
            if byte == 0x5B || byte == 0x7B { self.open(isVisible: quote == nil && !isComment) }
            if byte == 0x2A, Self.beforeAlias.contains(previous) { self.aliases += 1 }
            if isComment {
                isComment = byte != 0x0A && byte != 0x0D
                guard !isComment else { continue }
            }
            if let open = quote {
                // What seems to be a quotation over lines may as well be two marks in two plain texts.
                if byte == 0x0A || byte == 0x0D { self.isSure = false }
                guard !isEscaped else {
                    isEscaped = false
                    continue
                }
                isEscaped = open == 0x22 && byte == 0x5C
                if byte == open { quote = nil }
                continue
            }
            switch byte {
            case 0x22, 0x27:
                // A doubled apostrophe goes on with the text that it seems to have ended.
                if !self.canOpenQuote(token, previous, byte) { self.isSure = false }
                quote = byte
            case 0x23 where previous == 0x20 || previous == 0x09 || previous == 0x0A || previous == 0x0D:
                isComment = true
            case 0x5D, 0x7D:
                self.depth = max(0, self.depth - 1)
            default:
                ()
            }
            if byte == 0x0A || byte == 0x0D {
                // Inside brackets, a line end counts as a space.
                if self.depth == 0 { token = (0x0A, 0x0A) }
            } else if byte != 0x20, byte != 0x09 {
                token = (token.last, byte)
            }
        }
    }

    /// Whether a quotation mark certainly begins a quoted text.
    private func canOpenQuote(_ token: (before: UInt8, last: UInt8), _ previous: UInt8, _ mark: UInt8) -> Bool {
        switch token.last {
        // At a line's beginning. If a plain text goes on from the line before, it hides no bracket that counts.
        case 0x0A: true
        case 0x5B, 0x7B, 0x2C: true
        case 0x3A: previous == 0x20 || token.before == 0x22
        case 0x2D: token.before == 0x0A && previous == 0x20
        case 0x27: mark == 0x27 && previous == 0x27
        default: false
        }
    }

    private mutating func open(isVisible: Bool) {
        self.opened += 1
        guard isVisible else { return }
        self.depth += 1
        self.deepest = max(self.deepest, self.depth)
    }
}
