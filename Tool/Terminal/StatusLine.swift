import Foundation
import Linkspan

/// A line on standard error that stands for what is under way, and gives way to other output; only at a terminal.
public enum StatusLine {
    private static let isShown = isatty(STDERR_FILENO) == 1

    /// Shows a text in place of the former one.
    public static func show(_ text: String) { self.write("\r\u{1B}[K\(ForeignText.shown(text))") }

    /// Removes the line.
    public static func clear() { self.write("\r\u{1B}[K") }

    private static func write(_ text: String) {
        if self.isShown { try? FileHandle.standardError.write(contentsOf: Data(text.utf8)) }
    }
}
