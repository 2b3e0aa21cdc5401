internal import LinkspanRuntime
internal import Logging

/// Keeps what is logged at a level or above.
final class LogRecorder: LogHandler {
    struct Line: Sendable {
        let level: Logger.Level
        let message: String
        let metadata: Logger.Metadata
    }

    private let kept = Lock<[Line]>([])
    private let level: Logger.Level

    init(from level: Logger.Level) { self.level = level }

    var lines: [Line] { self.kept.withLock { $0 } }
    var metadata: Logger.Metadata {
        get { [:] }
        set {}
    }
    var logLevel: Logger.Level {
        get { self.level }
        set {}
    }
    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { nil }
        set {}
    }

    func log(event: LogEvent) {
        let line = Line(level: event.level, message: "\(event.message)", metadata: event.metadata ?? [:])
        self.kept.withLock { $0.append(line) }
    }
}
