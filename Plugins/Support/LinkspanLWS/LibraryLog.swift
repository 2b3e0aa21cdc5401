private import CLibwebsockets
internal import LinkspanRuntime

/// Where libwebsockets' own log lines go: nowhere, unless a handler is set.
public enum LibraryLog {
    /// How grave a line is.
    public enum Level: Sendable {
        /// Something failed.
        case error
        /// Something is odd.
        case warning
        /// Something worth knowing.
        case notice
    }

    /// A receiver of lines, called on the loops' threads.
    public typealias Handler = @Sendable (Level, String) -> Void

    /// Set by the app, read by each loop's thread when the library logs.
    private static let handler = Lock<Handler?>(nil)
    private static let setUp: Void = LibraryLog.apply(isOn: false)

    /// Sets the receiver of the lines of all loops in the process, or nil for none.
    ///
    /// The lines may name hosts. The library's log level is one for the process and not locked: set it early.
    public static func setHandler(_ handler: Handler?) {
        Self.prepare()
        Self.handler.withLock { $0 = handler }
        Self.apply(isOn: handler != nil)
    }

    /// Turns off the library's habit of writing to standard error.
    static func prepare() { Self.setUp }

    static func emit(_ level: CInt, _ line: UnsafePointer<CChar>?) {
        guard let handler = Self.handler.withLock({ $0 }), let line else { return }
        var text = String(cString: line)
        if text.last?.isNewline == true { text.removeLast() }
        switch level {
        case CInt(LLL_ERR): handler(.error, text)
        case CInt(LLL_WARN): handler(.warning, text)
        default: handler(.notice, text)
        }
    }

    private static func apply(isOn: Bool) {
        let levels = isOn ? CInt(LLL_ERR | LLL_WARN | LLL_NOTICE) : 0
        lws_set_log_level(levels) { LibraryLog.emit($0, $1) }
    }
}
