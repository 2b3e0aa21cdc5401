import Foundation

/// An interactive terminal.
protocol Terminal: Sendable {
    /// Events of the model, for one listener.
    var inputs: AsyncStream<TerminalInput> { get }

    /// Its size now.
    func size() -> TerminalSize

    /// Takes it over: every key comes at once and unseen.
    func enter()

    /// Gives it back as it was.
    func restore()

    /// Gives it back and stops the process, as Ctrl-Z does, and takes it over again once the process goes on.
    func suspend()

    /// Writes text with its sequences, and returns when the terminal has taken it.
    func write(_ text: String) async
}

/// Input of a terminal.
enum TerminalInput: Hashable, Sendable {
    case bytes([UInt8])
    /// Nobody sits there any more.
    case ended
    case resized
    /// The process goes on after it was stopped: others may have used the terminal meanwhile.
    case resumed
    /// Somebody wants the process to end.
    case terminated(signal: Int32)
    /// Something was written to standard error.
    case stray(String)
}

/// Lines of standard input as they are typed.
enum LineInput {
    /// The lines, without their ends, until the end of input.
    ///
    /// A thread of its own reads them, because a read cannot be cancelled; the process does not wait for it.
    static func lines() -> AsyncStream<String> {
        AsyncStream { lines in
            let thread = Thread {
                while let line = readLine(strippingNewline: true) { lines.yield(line) }
                lines.finish()
            }
            thread.start()
        }
    }
}
