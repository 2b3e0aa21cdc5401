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
