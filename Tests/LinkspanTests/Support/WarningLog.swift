internal import LinkspanRuntime
internal import Logging

/// Keeps the metadata of warnings.
final class WarningLog: LogHandler {
    private let kept = Lock<[Logger.Metadata]>([])

    var warnings: [Logger.Metadata] { self.kept.withLock { $0 } }
    var metadata: Logger.Metadata {
        get { [:] }
        set {}
    }
    var logLevel: Logger.Level {
        get { .warning }
        set {}
    }
    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { nil }
        set {}
    }

    func log(event: LogEvent) { self.kept.withLock { $0.append(event.metadata ?? [:]) } }
}
