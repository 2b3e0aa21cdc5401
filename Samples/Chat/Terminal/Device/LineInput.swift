import Foundation

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
