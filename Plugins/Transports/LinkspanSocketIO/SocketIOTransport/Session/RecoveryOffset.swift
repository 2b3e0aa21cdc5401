internal import LinkspanRuntime

/// The offset at which a server's replay would go on: the last string argument of the latest event that it would repeat
/// (S41).
///
/// The protocol does not say which events those are. The server appends an offset to what it would repeat, and a
/// volatile event that happens to end in a string looks the same; taken for an offset, it spoils the next recovery
/// (S44). But offsets have the time in them and grow by as much as passes, and other strings hardly ever fit in between. One
/// that fits no known form counts only as long as none has been seen that does, for adapters that make offsets of their own.
struct RecoveryOffset: Sendable, Hashable {
    /// The longest offset that is kept.
    static let maximumLength = 256

    /// The forms of offsets that servers use.
    private enum Form: Sendable, Hashable {
        /// socket.io-adapter: milliseconds in base 64, and a count behind a dot for those of one millisecond.
        case adapter
        /// A Redis stream: milliseconds and a count.
        case stream
        /// A MongoDB document: seconds in its first eight hexadecimal digits.
        case document
        case unknown
    }

    private struct Candidate: Sendable, Hashable {
        var text: String
        var form: Form
        /// Milliseconds since 1970.
        var time: UInt64
        /// The instant at which it came; nil for one that was kept elsewhere.
        var arrival: Moment?

        /// Whether this may be the offset of an event after that of `other`.
        func follows(_ other: Self) -> Bool {
            guard self.form == other.form, self.time >= other.time else { return false }
            var passed = Duration.zero
            if let former = other.arrival, let arrival = self.arrival { passed = former.duration(to: arrival) }
            return .milliseconds(self.time - other.time) < passed + RecoveryOffset.tolerance
        }

        /// Whenever they came: form and time are those of the text.
        static func == (one: Self, other: Self) -> Bool { one.text == other.text }

        func hash(into hasher: inout Hasher) { hasher.combine(self.text) }
    }

    /// The time by which offsets may grow beyond what has passed between them: one may have been kept for long, or sent late.
    private static let tolerance = Duration.seconds(86_400)

    private var accepted: Candidate?
    /// The latest that did not follow the accepted one: two in a row prove that one wrong.
    private var rival: Candidate?

    init() {}

    /// Goes on from an offset that was kept elsewhere.
    init(latest: String) { self.accepted = Self.read(latest) }

    /// The offset to give to the server; nil when no event had one.
    var latest: String? { self.accepted?.text }

    /// The server goes on from an offset that was kept elsewhere.
    mutating func resumed(now: Moment) {
        if self.accepted?.arrival == nil { self.accepted?.arrival = now }
    }

    /// Takes note of the last string argument of an event.
    mutating func note(_ text: String, now: Moment) {
        var candidate = Self.read(text)
        candidate.arrival = now
        guard let accepted = self.accepted, accepted.form != .unknown else {
            self.accepted = candidate
            return
        }
        guard candidate.form != .unknown else { return }
        if candidate.follows(accepted) || self.rival.map(candidate.follows) ?? false {
            self.accepted = candidate
            self.rival = nil
        } else {
            self.rival = candidate
        }
    }

    /// The last argument, when it is a string.
    ///
    /// Read backwards, because it is looked for in every event. A string with escapes or one that is too long is none.
    static func candidate(in elements: ArraySlice<UInt8>) -> String? {
        guard elements.last == UInt8(ascii: "\"") else { return nil }
        let body = elements.dropLast()
        guard let quote = body.lastIndex(of: UInt8(ascii: "\"")) else { return nil }
        let text = body[(quote + 1)...]
        guard text.count <= Self.maximumLength, !text.isEmpty, !text.contains(UInt8(ascii: "\\")) else { return nil }
        // Before the quote there may be only the comma: otherwise the quote ended a string that has an escaped one.
        let before = body[..<quote].last { $0 > 0x20 }
        guard before == nil || before == UInt8(ascii: ",") else { return nil }
        return String(decoding: text, as: UTF8.self)
    }
}

extension RecoveryOffset {
    /// From late 2023 to 2049: a time outside of these is none.
    private static let times: ClosedRange<UInt64> = 1_700_000_000_000...2_500_000_000_000

    private static func read(_ text: String) -> Candidate {
        let forms: [(Form, (Substring.UTF8View) -> UInt64?)] = [
            (.adapter, Self.adapterTime), (.stream, Self.streamTime), (.document, Self.documentTime),
        ]
        for (form, time) in forms {
            if let time = time(text[...].utf8), Self.times.contains(time) {
                return Candidate(text: text, form: form, time: time)
            }
        }
        return Candidate(text: text, form: .unknown, time: 0)
    }

    private static func adapterTime(_ text: Substring.UTF8View) -> UInt64? {
        let digits = text.prefix { $0 != UInt8(ascii: ".") }
        guard digits.count == 7 else { return nil }
        return self.number(digits, base: 64) { byte in
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
            case UInt8(ascii: "A")...UInt8(ascii: "Z"): byte - UInt8(ascii: "A") + 10
            case UInt8(ascii: "a")...UInt8(ascii: "z"): byte - UInt8(ascii: "a") + 36
            case UInt8(ascii: "-"): 62
            case UInt8(ascii: "_"): 63
            default: nil
            }
        }
    }

    private static func streamTime(_ text: Substring.UTF8View) -> UInt64? {
        let parts = text.split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
        guard parts.count == 2, parts[0].count == 13, Self.decimal(parts[1]) != nil else { return nil }
        return Self.decimal(parts[0])
    }

    private static func documentTime(_ text: Substring.UTF8View) -> UInt64? {
        guard text.count == 24, let seconds = Self.hexadecimal(text.prefix(8)) else { return nil }
        guard Self.hexadecimal(text.dropFirst(8).prefix(8)) != nil, Self.hexadecimal(text.suffix(8)) != nil else {
            return nil
        }
        return seconds * 1000
    }

    private static func decimal(_ text: Substring.UTF8View) -> UInt64? {
        self.number(text, base: 10) { byte in
            (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) ? byte - UInt8(ascii: "0") : nil
        }
    }

    private static func hexadecimal(_ text: Substring.UTF8View) -> UInt64? {
        self.number(text, base: 16) { byte in
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
            case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
            default: nil
            }
        }
    }

    private static func number(_ text: Substring.UTF8View, base: UInt64, digit: (UInt8) -> UInt8?) -> UInt64? {
        guard (1...16).contains(text.count) else { return nil }
        var value: UInt64 = 0
        for byte in text {
            guard let digit = digit(byte) else { return nil }
            let (product, overflowed) = value.multipliedReportingOverflow(by: base)
            guard !overflowed, product <= .max - UInt64(digit) else { return nil }
            value = product + UInt64(digit)
        }
        return value
    }
}
