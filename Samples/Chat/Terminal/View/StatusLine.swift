import LinkspanTerminal

/// The line that tells where the connection stands.
struct StatusLine: Sendable {
    var room: String?
    /// The topic of the room.
    var topic: String?
    var connection = ShownStatus.connecting
    var waiting = 0
    var roundTrip: Duration?

    /// The line for a width: what matters least goes first when there is no room for all.
    func spans(width: Int, now: ContinuousClock.Instant) -> [Span] {
        var parts = self.parts(now: now)
        while parts.count > 1, Self.columns(parts) > width {
            let least = parts.indices.min { parts[$0].weight < parts[$1].weight }
            parts.remove(at: least ?? 0)
        }
        var spans: [Span] = [Span("── ", .rule)]
        for (index, part) in parts.enumerated() {
            if index > 0 { spans.append(Span(" · ", .rule)) }
            spans.append(part.span)
        }
        let rest = width - spans.columns
        spans.append(Span(rest > 0 ? " " + String(repeating: "─", count: rest - 1) : "", .rule))
        return spans.fitted(to: width)
    }

    /// When the line will read differently, if nothing happens until then.
    func nextChange(after now: ContinuousClock.Instant) -> ContinuousClock.Instant? {
        guard case .reconnecting(let attempt) = self.connection, attempt > now else { return nil }
        let left = now.duration(to: attempt)
        let whole = Duration.seconds(left.components.seconds)
        return whole == left ? now + .seconds(1) : now + (left - whole)
    }

    private struct Part {
        var span: Span
        var weight: Int
    }

    private func parts(now: ContinuousClock.Instant) -> [Part] {
        var parts: [Part] = []
        if let room = self.room { parts.append(Part(span: Span(VisibleText.of(room), .plain), weight: 2)) }
        if let topic = self.topic { parts.append(Part(span: Span(Self.short(topic), .hint), weight: 0)) }
        parts.append(Part(span: self.link(now: now), weight: 4))
        if let roundTrip = self.roundTrip, case .connected = self.connection {
            parts.append(Part(span: Span(Self.text(roundTrip), .hint), weight: 1))
        }
        if self.waiting > 0 {
            let text = self.waiting == 1 ? "1 message waiting" : "\(self.waiting) messages waiting"
            parts.append(Part(span: Span(text, .warning), weight: 3))
        }
        return parts
    }

    private func link(now: ContinuousClock.Instant) -> Span {
        switch self.connection {
        case .connecting: Span("connecting", .warning)
        case .connected(let transport): Span("connected over \(VisibleText.of(transport))", .good)
        case .reconnecting(let attempt):
            attempt > now
                ? Span("reconnecting in \(Self.seconds(now.duration(to: attempt))) s", .warning)
                : Span("reconnecting", .warning)
        case .offline: Span("offline", .bad)
        case .failed: Span("failed", .bad)
        }
    }

    private static func short(_ topic: String) -> String {
        [Span(VisibleText.of(topic), .hint)].fitted(to: 40).text
    }

    private static func columns(_ parts: [Part]) -> Int {
        parts.reduce(1 + 3 * parts.count) { $0 + [$1.span].columns }
    }

    /// Whole seconds, rounded up: it says 1 until the moment comes.
    private static func seconds(_ duration: Duration) -> Int64 {
        duration.components.seconds + (duration.components.attoseconds > 0 ? 1 : 0)
    }

    private static func text(_ duration: Duration) -> String {
        let milliseconds = duration / .milliseconds(1)
        guard milliseconds >= 1 else { return "< 1 ms" }
        guard milliseconds < 100_000 else { return "\(Int(min(milliseconds / 1_000, 1e9))) s" }
        return "\(Int(milliseconds.rounded())) ms"
    }
}

/// Who is typing, as far as anybody can know: who has said so lately and has not said a line since.
struct TypingMarks: Sendable {
    /// A mark is renewed every few seconds by who goes on.
    private static let lifetime = Duration.seconds(5)
    private static let capacity = 100

    private var ends: [String: ContinuousClock.Instant] = [:]

    /// Somebody types.
    mutating func add(_ name: String, now: ContinuousClock.Instant) {
        self.ends = self.ends.filter { $0.value > now }
        if self.ends.count < Self.capacity || self.ends[name] != nil { self.ends[name] = now + Self.lifetime }
    }

    /// Somebody is done with it.
    mutating func remove(_ name: String) { self.ends[name] = nil }

    /// Nobody types here.
    mutating func removeAll() { self.ends = [:] }

    /// The sentence that tells it, or nil.
    func sentence(now: ContinuousClock.Instant) -> String? {
        let names = self.ends.filter { $0.value > now }.keys.sorted().map { VisibleText.name($0) }
        return switch names.count {
        case 0: nil
        case 1: "\(names[0]) is typing …"
        case 2: "\(names[0]) and \(names[1]) are typing …"
        default: "\(names.count) people are typing …"
        }
    }

    /// When the next mark ends.
    func nextChange(after now: ContinuousClock.Instant) -> ContinuousClock.Instant? {
        self.ends.values.filter { $0 > now }.min()
    }
}
