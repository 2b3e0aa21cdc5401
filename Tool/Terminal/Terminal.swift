import Foundation

/// An interactive terminal.
public protocol Terminal: Sendable {
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
public enum TerminalInput: Hashable, Sendable {
    /// Bytes of keys.
    case bytes([UInt8])
    /// Nobody sits there any more.
    case ended
    /// The window has another size.
    case resized
    /// The process goes on after it was stopped: others may have used the terminal meanwhile.
    case resumed
    /// Somebody wants the process to end.
    case terminated(signal: Int32)
    /// Something was written to standard error.
    case stray(String)
}

/// The size of a terminal, in character cells.
public struct TerminalSize: Hashable, Sendable {
    /// The width in cells.
    public var columns: Int
    /// The height in cells.
    public var rows: Int

    /// A size with at least one cell, and not more than anybody has.
    public init(columns: Int, rows: Int) {
        self.columns = min(max(1, columns), 1_000)
        self.rows = min(max(1, rows), 1_000)
    }
}

/// Lines of standard input as they are typed.
public enum LineInput {
    /// The lines, without their ends, until the end of input.
    ///
    /// A thread of its own reads them, because a read cannot be cancelled; the process does not wait for it.
    public static func lines() -> AsyncStream<String> {
        AsyncStream { lines in
            let thread = Thread {
                while let line = readLine(strippingNewline: true) { lines.yield(line) }
                lines.finish()
            }
            thread.start()
        }
    }
}
