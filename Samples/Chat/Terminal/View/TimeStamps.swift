import Foundation

/// The times in front of lines: when they came here, by the clock on the wall.
struct TimeStamps: Sendable {
    private let text: @Sendable (Duration) -> String
    private let origin = ContinuousClock.now

    /// Times as text.
    ///
    /// - Parameter text: the text for a moment, given as the time since these stamps were made.
    init(_ text: @escaping @Sendable (Duration) -> String) { self.text = text }

    /// No times.
    static let none = TimeStamps { _ in "" }

    /// Hours and minutes, where the user is.
    static func local(timeZone: TimeZone = .current, since start: Date = .now) -> Self {
        TimeStamps { elapsed in
            let moment = start.addingTimeInterval(elapsed / .seconds(1))
            var calendar = Calendar(identifier: .gregorian)
            calendar.timeZone = timeZone
            let parts = calendar.dateComponents([.hour, .minute], from: moment)
            let digits = [parts.hour ?? 0, parts.minute ?? 0].map { ($0 < 10 ? "0" : "") + "\($0)" }
            return digits.joined(separator: ":")
        }
    }

    /// The time of a moment.
    func stamp(_ now: ContinuousClock.Instant) -> String { self.text(self.origin.duration(to: now)) }
}
