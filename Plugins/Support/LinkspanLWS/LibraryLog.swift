private import CLibwebsockets

/// Log lines of libwebsockets itself: dropped, unless a loop was made with a handler for those of its thread.
public enum LibraryLog {
    /// The severity of a log line.
    public enum Level: Sendable {
        /// Something failed.
        case error
        /// Something is odd.
        case warning
        /// Something worth knowing.
        case notice
    }

    /// A receiver of lines, called on the loop's thread.
    ///
    /// The lines may name hosts.
    public typealias Handler = @Sendable (Level, String) -> Void

    // The library's log level is one for the process. Off, it does not even make its lines.
    private static let off: Void = LibraryLog.apply(isOn: false)
    private static let on: Void = LibraryLog.apply(isOn: true)

    /// Turns off the library's habit of writing to standard error, and its log on if it is wanted.
    static func prepare(isWanted: Bool) {
        Self.off
        if isWanted { Self.on }
    }

    private static func emit(_ level: CInt, _ line: UnsafePointer<CChar>?) {
        guard let handler = LoopIdentity.current?.log, let line else { return }
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
