#if OUTBOX && Metrics
internal import LinkspanRuntime
internal import Logging

/// Keeps the errors that an outbox logs.
final class ReportLog: LogHandler {
    struct Report: Sendable {
        let message: String
        let metadata: [String: String]
    }

    private let kept = Lock<[Report]>([])

    var reports: [Report] { self.kept.withLock { $0 } }
    var logger: Logger { Logger(label: "outbox") { _ in self } }
    var metadata: Logger.Metadata {
        get { [:] }
        set {}
    }
    var logLevel: Logger.Level {
        get { .error }
        set {}
    }
    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { nil }
        set {}
    }

    func log(event: LogEvent) {
        let report = Report(message: "\(event.message)", metadata: (event.metadata ?? [:]).mapValues { "\($0)" })
        self.kept.withLock { $0.append(report) }
    }
}
#endif
