internal import Linkspan
internal import LinkspanRuntime
internal import LinkspanWebSocketProtocol

/// The server's secret and the last event, by which a namespace is resumed after a loss (connection state recovery).
struct SocketIORecovery: Sendable {
    /// The longest secret that is kept.
    static let maximumLength = 256

    /// The server's private name for the session.
    var pid: Secret
    /// The offset at which its replay would go on; without one it resumes nothing.
    var offset: RecoveryOffset
}

extension SocketIORecovery {
    /// Reads what ``exported`` wrote; nil when it is anything else.
    init?(_ resumption: Secret) {
        guard let payload = try? Payload(checking: Array(resumption.exposed.utf8)[...]),
            let pid = payload[0]?.string, let offset = payload[1]?.string, payload[2] == nil,
            (1...Self.maximumLength).contains(pid.utf8.count),
            (1...RecoveryOffset.maximumLength).contains(offset.utf8.count)
        else { return nil }
        self.init(pid: Secret(pid), offset: RecoveryOffset(latest: offset))
    }

    /// The recovery for the next link, of this process or another; nil when there is nothing to resume from.
    var exported: Secret? {
        guard let offset = self.offset.latest, let payload = try? Payload(self.pid.exposed, offset) else { return nil }
        return Secret(String(decoding: payload.elements, as: UTF8.self))
    }

    /// The auth object with `pid` and `offset` merged in; `auth` is an object's text or empty.
    func merged(into auth: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        guard let offset = self.offset.latest else { return auth }
        guard let own = try? Payload(self.pid.exposed, offset), let pid = own[0]?.text, let offset = own[1]?.text else {
            return auth
        }
        // Behind the opening brace. Members of `auth` follow, so that with doubled keys the caller's win.
        var merged: [UInt8] = Array("{\"pid\":".utf8) + pid + Array(",\"offset\":".utf8) + offset
        let members = auth.dropFirst()
        let isEmpty = members.first { $0 > 0x20 }.map { $0 == UInt8(ascii: "}") } ?? true
        if isEmpty {
            merged.append(UInt8(ascii: "}"))
        } else {
            merged.append(UInt8(ascii: ","))
            merged.append(contentsOf: members)
        }
        return merged[...]
    }
}

/// The offset at which a server's replay would go on: the last string argument of the latest event that it would repeat
/// (S41).
///
/// The protocol does not say which events those are. The server appends an offset to what it would repeat, and a
/// volatile event that happens to end in a string looks the same; taken for an offset, it spoils the next recovery
/// (S44). But offsets have the time in them and grow by as much as passes, and other strings hardly ever fit in between. One
/// that fits no known form counts only as long as none has been seen that does, for adapters that make offsets of their own.
struct RecoveryOffset: Sendable {
    /// The longest offset that is kept.
    static let maximumLength = 256

    /// The forms of offsets that servers use.
    private enum Form: Sendable {
        /// socket.io-adapter: milliseconds in base 64, and a count behind a dot for those of one millisecond.
        case adapter
        /// A Redis stream: milliseconds and a count.
        case stream
        /// A MongoDB document: seconds in its first eight hexadecimal digits.
        case document
        case unknown
    }

    private struct Candidate: Sendable {
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
        let times: [(Form, UInt64?)] = [
            (.adapter, Self.adapterTime(text)), (.stream, Self.streamTime(text)), (.document, Self.documentTime(text)),
        ]
        for case (let form, let time?) in times where Self.times.contains(time) {
            return Candidate(text: text, form: form, time: time)
        }
        return Candidate(text: text, form: .unknown, time: 0)
    }

    private static let adapterDigits = Array("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-_".utf8)

    private static func adapterTime(_ text: String) -> UInt64? {
        let digits = text.utf8.prefix { $0 != UInt8(ascii: ".") }
        guard digits.count == 7 else { return nil }
        var time: UInt64 = 0
        for digit in digits {
            guard let value = Self.adapterDigits.firstIndex(of: digit) else { return nil }
            time = time << 6 | UInt64(value)
        }
        return time
    }

    private static func streamTime(_ text: String) -> UInt64? {
        let parts = text.utf8.split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
        guard parts.count == 2, parts[0].count == 13, (1...16).contains(parts[1].count),
            parts.allSatisfy({ $0.allSatisfy(\.isDigit) })
        else { return nil }
        return UInt64(Substring(parts[0]))
    }

    private static func documentTime(_ text: String) -> UInt64? {
        let isHexadecimal = text.utf8.allSatisfy { $0.isDigit || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains($0) }
        guard text.utf8.count == 24, isHexadecimal else { return nil }
        return UInt64(text.prefix(8), radix: 16).map { $0 * 1000 }
    }
}
