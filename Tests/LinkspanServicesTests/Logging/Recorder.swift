internal import LinkspanRuntime
internal import Logging

/// Keeps what is logged.
struct Recorder: Sendable {
    /// A line as it reached the handler.
    struct Line: Sendable, Equatable {
        var level: Logger.Level
        var sentence: String
        var metadata: [String: String]
    }

    private let kept = Lock<[Line]>([])

    var lines: [Line] { self.kept.withLock { $0 } }

    /// A logger that writes everything here.
    func logger(level: Logger.Level = .trace) -> Logger {
        var logger = Logger(label: "test") { _ in Handler(recorder: self) }
        logger.logLevel = level
        return logger
    }

    fileprivate func keep(_ line: Line) { self.kept.withLock { $0.append(line) } }
}

private struct Handler: LogHandler {
    let recorder: Recorder
    var metadata: Logger.Metadata = [:]
    var logLevel = Logger.Level.trace

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { self.metadata[key] }
        set { self.metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        self.recorder.keep(
            Recorder.Line(
                level: event.level, sentence: "\(event.message)",
                metadata: (event.metadata ?? [:]).mapValues { "\($0)" }))
    }
}
