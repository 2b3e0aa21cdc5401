#if Metrics
internal import CoreMetrics

/// The counters, timers and gauges of a backend, each made when it is first needed and then kept.
struct Instruments: Sendable {
    fileprivate enum Instrument: Sendable {
        case counter(Counter)
        case timer(Timer)
        case gauge(Gauge)
    }

    let prefix: String
    private let factory: any MetricsFactory
    private var known: [Measurement.Series: Instrument] = [:]

    init(prefix: String, factory: any MetricsFactory) {
        self.prefix = prefix
        self.factory = factory
    }

    mutating func record(_ measurement: Measurement) {
        let instrument = self.known[measurement.series] ?? self.make(measurement)
        self.known[measurement.series] = instrument
        instrument.record(measurement.value)
    }

    /// Asks the backend for the instrument of a measurement.
    private func make(_ measurement: Measurement) -> Instrument {
        let name = "\(self.prefix)_\(measurement.series.name)"
        let labels = measurement.series.labels.map { ($0.name, $0.value) }
        return switch measurement.value {
        case .count: .counter(Counter(label: name, dimensions: labels, factory: self.factory))
        case .times: .timer(Timer(label: name, dimensions: labels, factory: self.factory))
        case .level: .gauge(Gauge(label: name, dimensions: labels, factory: self.factory))
        }
    }
}

extension Instruments.Instrument {
    fileprivate func record(_ value: Measurement.Value) {
        switch (value, self) {
        case (.count(let number), .counter(let counter)): counter.increment(by: number)
        // A backend takes times one by one: as many are recorded as there were, and their sum is right.
        case (.times(let mean, let count), .timer(let timer)):
            for _ in 0..<count { timer.recordNanoseconds(Self.nanoseconds(mean)) }
        case (.level(let level), .gauge(let gauge)): gauge.record(level)
        case (.count, _), (.times, _), (.level, _): ()
        }
    }

    private static func nanoseconds(_ time: Duration) -> Int64 {
        let (seconds, attoseconds) = time.components
        let (whole, isTooLong) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        return isTooLong ? .max : whole.addingReportingOverflow(attoseconds / 1_000_000_000).partialValue
    }
}
#endif
