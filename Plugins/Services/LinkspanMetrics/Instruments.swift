internal import CoreMetrics
internal import LinkspanRuntime

/// The counters, timers and gauges of a backend, each made when it is first needed and then kept.
final class Instruments: Sendable {
    private struct Key: Sendable, Hashable {
        var name: String
        var labels: [Measurement.Label]
    }

    private enum Instrument: Sendable {
        case counter(Counter)
        case timer(Timer)
        case gauge(Gauge)
    }

    private let prefix: String
    private let factory: any MetricsFactory
    private let instruments = Lock<[Key: Instrument]>([:])

    init(prefix: String, factory: any MetricsFactory) {
        self.prefix = prefix
        self.factory = factory
    }

    func record(_ measurement: Measurement) {
        switch (measurement.value, self.instrument(for: measurement)) {
        case (.count(let number), .counter(let counter)): counter.increment(by: number)
        case (.time(let time), .timer(let timer)): timer.recordNanoseconds(Self.nanoseconds(time))
        case (.level(let level), .gauge(let gauge)): gauge.record(level)
        case (.count, _), (.time, _), (.level, _): ()
        }
    }

    private func instrument(for measurement: Measurement) -> Instrument {
        let key = Key(name: measurement.name, labels: measurement.labels)
        if let known = self.instruments.withLock({ $0[key] }) { return known }
        // Made outside the lock, because a backend is foreign code; of two that are made at once the first is kept.
        let made = self.make(measurement)
        return self.instruments.withLock { instruments in
            if let known = instruments[key] { return known }
            instruments[key] = made
            return made
        }
    }

    private func make(_ measurement: Measurement) -> Instrument {
        let name = "\(self.prefix)_\(measurement.name)"
        let labels = measurement.labels.map { ($0.name, $0.value) }
        return switch measurement.value {
        case .count: .counter(Counter(label: name, dimensions: labels, factory: self.factory))
        case .time: .timer(Timer(label: name, dimensions: labels, factory: self.factory))
        case .level: .gauge(Gauge(label: name, dimensions: labels, factory: self.factory))
        }
    }

    private static func nanoseconds(_ time: Duration) -> Int64 {
        let (seconds, attoseconds) = time.components
        let (whole, isTooLong) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        return isTooLong ? .max : whole.addingReportingOverflow(attoseconds / 1_000_000_000).partialValue
    }
}
