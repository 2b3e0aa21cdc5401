#if Metrics
internal import CoreMetrics

/// The counters, timers and gauges of a backend, each made when it is first needed and then kept.
///
/// A value: the backend is foreign code, so instruments are made and used outside the service's lock.
struct Instruments: Sendable {
    private struct Key: Sendable, Hashable {
        var name: String
        var labels: [Measurement.Label]
    }

    enum Instrument: Sendable {
        case counter(Counter)
        case timer(Timer)
        case gauge(Gauge)
    }

    let prefix: String
    private let factory: any MetricsFactory
    private var known: [Key: Instrument] = [:]

    init(prefix: String, factory: any MetricsFactory) {
        self.prefix = prefix
        self.factory = factory
    }

    /// The instrument of a measurement, if it has been made.
    func instrument(for measurement: Measurement) -> Instrument? {
        self.known[Key(name: measurement.name, labels: measurement.labels)]
    }

    /// Keeps an instrument, unless there is one.
    mutating func keep(_ instrument: Instrument, for measurement: Measurement) {
        let key = Key(name: measurement.name, labels: measurement.labels)
        if self.known[key] == nil { self.known[key] = instrument }
    }

    /// Asks the backend for the instrument of a measurement.
    func make(_ measurement: Measurement) -> Instrument {
        let name = "\(self.prefix)_\(measurement.name)"
        let labels = measurement.labels.map { ($0.name, $0.value) }
        return switch measurement.value {
        case .count: .counter(Counter(label: name, dimensions: labels, factory: self.factory))
        case .time, .times: .timer(Timer(label: name, dimensions: labels, factory: self.factory))
        case .level: .gauge(Gauge(label: name, dimensions: labels, factory: self.factory))
        }
    }
}

extension Instruments.Instrument {
    func record(_ value: Measurement.Value) {
        switch (value, self) {
        case (.count(let number), .counter(let counter)): counter.increment(by: number)
        case (.time(let time), .timer(let timer)): timer.recordNanoseconds(Self.nanoseconds(time))
        // A backend takes times one by one: as many are recorded as there were, and their sum is right.
        case (.times(let mean, let count), .timer(let timer)):
            for _ in 0..<count { timer.recordNanoseconds(Self.nanoseconds(mean)) }
        case (.level(let level), .gauge(let gauge)): gauge.record(level)
        case (.count, _), (.time, _), (.times, _), (.level, _): ()
        }
    }

    private static func nanoseconds(_ time: Duration) -> Int64 {
        let (seconds, attoseconds) = time.components
        let (whole, isTooLong) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        return isTooLong ? .max : whole.addingReportingOverflow(attoseconds / 1_000_000_000).partialValue
    }
}
#endif
