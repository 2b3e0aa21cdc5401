internal import LinkspanRuntime
internal import Logging

/// Takes the lines of a log, on the queue of the handlers.
public protocol SocketLogger: AnyObject {
    /// Switches logging on; no line is written without it.
    var log: Bool { get set }
    /// Takes a line.
    func log(_ message: @autoclosure () -> String, type: String)
    /// Takes a line about a failure.
    func error(_ message: @autoclosure () -> String, type: String)
}

extension SocketLogger {
    /// Writes the line to the log of the process, while ``log`` is true.
    public func log(_ message: @autoclosure () -> String, type: String) {
        if self.log { processLog.notice("\(type): \(message())") }
    }

    /// Writes the line to the log of the process as an error, while ``log`` is true.
    public func error(_ message: @autoclosure () -> String, type: String) {
        if self.log { processLog.error("\(type): \(message())") }
    }
}

/// The log of the process, for what must be said whether or not the app logs.
let processLog = Logger(label: "linkspan.socketio")

/// Logs by `swift-log`, under the label `linkspan.socketio`.
public final class DefaultSocketLogger: SocketLogger {
    private static let shared = Lock<(logger: SocketLogger, isLogging: Bool)>((DefaultSocketLogger(), false))

    /// The logger of all managers.
    public static var Logger: SocketLogger {
        get { self.shared.withLock { $0.logger } }
        set { self.shared.withLock { $0.logger = newValue } }
    }

    /// The same, while it logs; each message asks for it, so that the lock is taken once.
    static var active: SocketLogger? {
        let (logger, isLogging) = self.shared.withLock { $0 }
        return (logger is DefaultSocketLogger ? isLogging : logger.log) ? logger : nil
    }

    /// Switches logging on; false at first.
    public var log: Bool {
        get { Self.shared.withLock { $0.isLogging } }
        set { Self.shared.withLock { $0.isLogging = newValue } }
    }
}
