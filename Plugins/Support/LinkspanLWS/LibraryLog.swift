#if LWS
private import CLibwebsockets
internal import LinkspanNetwork

/// Log lines of libwebsockets itself: dropped, unless a loop was made with a handler for those of its thread.
package enum LibraryLog {
    /// The severity of a log line.
    package enum Level: Sendable {
        /// Something failed.
        case error
        /// Something is odd.
        case warning
        /// Something worth knowing.
        case notice
    }

    /// The listener of a loop whose log lines are wanted.
    struct Listener: Sendable { let hear: Handler }

    /// A receiver of lines, called on the loop's thread.
    ///
    /// The lines may name hosts.
    package typealias Handler = @Sendable (Level, String) -> Void

    // The library's log level is one for the process. Off, it does not even make its lines.
    private static let off: Void = LibraryLog.apply(isOn: false)
    private static let on: Void = LibraryLog.apply(isOn: true)

    /// Turns off the library's habit of writing to standard error, and its log on if it is wanted.
    static func prepare(isWanted: Bool) {
        Self.off
        if isWanted { Self.on }
    }

    private static func emit(_ level: CInt, _ line: UnsafePointer<CChar>?) {
        guard let listener = LoopIdentity.current?.attachment as? Listener, let line else { return }
        var text = String(cString: line)
        if text.last?.isNewline == true { text.removeLast() }
        switch level {
        case CInt(LLL_ERR): listener.hear(.error, text)
        case CInt(LLL_WARN): listener.hear(.warning, text)
        default: listener.hear(.notice, text)
        }
    }

    private static func apply(isOn: Bool) {
        let levels = isOn ? CInt(LLL_ERR | LLL_WARN | LLL_NOTICE) : 0
        lws_set_log_level(levels) { LibraryLog.emit($0, $1) }
    }
}
#endif
