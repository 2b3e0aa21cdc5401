internal import LinkspanLifecycle

/// Makes levels of the kernel's figures about stalls for want of memory.
///
/// Each line says how much of the last 10, 60 and 300 seconds `some` or all (`full`) tasks stood still, in per cent:
/// `some avg10=1.53 avg60=0.87 avg300=0.21 total=3456789`.
struct MemoryPressureGauge: Sendable {
    /// Some work waits for a tenth of the time: drop caches.
    private static let warning = 10.0
    /// All work waits for a tenth of the time.
    private static let critical = 10.0
    /// A level ends well below where it began, so that it does not flutter.
    private static let relief = 0.5

    private var level = PressureEvent.Level.normal

    /// Records the kernel's present figures.
    ///
    /// - Returns: the level, if it has changed.
    mutating func read(_ text: String) -> PressureEvent.Level? {
        let some = Self.average("some", in: text) ?? 0
        let full = Self.average("full", in: text) ?? 0
        let next: PressureEvent.Level =
            if full >= Self.critical * (self.level == .critical ? Self.relief : 1) {
                .critical
            } else if some >= Self.warning * (self.level == .normal ? 1 : Self.relief) {
                .warning
            } else {
                .normal
            }
        guard next != self.level else { return nil }
        self.level = next
        return next
    }

    /// The bytes that can be had without swapping, from `/proc/meminfo`.
    static func available(_ text: String) -> UInt64? {
        let kibibytes = text.firstMatch(of: #/(?m)^MemAvailable: *([0-9]+)/#).flatMap { UInt64($0.1) }
        return kibibytes?.multipliedReportingOverflow(by: 1_024).partialValue
    }

    private static func average(_ kind: String, in text: String) -> Double? {
        let lines = text.matches(of: #/(?m)^([a-z]+) .*\bavg10=([0-9.]+)/#)
        return lines.first { $0.1 == kind }.flatMap { Double($0.2) }
    }
}
