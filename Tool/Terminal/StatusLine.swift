import Foundation
import Linkspan

/// A line on standard error that stands for what is under way, and gives way to other output; only at a terminal.
public enum StatusLine {
    private static let isShown = isatty(STDERR_FILENO) == 1

    /// Shows a text in place of the former one.
    public static func show(_ text: String) {
        guard self.isShown else { return }
        let columns = TerminalDevice.size(of: STDERR_FILENO).columns
        self.write("\r\u{1B}[K\(self.clipped(ForeignText.shown(text), columns: columns))")
    }

    /// Removes the line.
    public static func clear() { self.write("\r\u{1B}[K") }

    /// The beginning of a text that fits into a row.
    ///
    /// More would wrap, and of its rows only the last one be removed.
    public static func clipped(_ text: String, columns: Int) -> String { String(text.prefix(columns: columns - 1)) }

    private static func write(_ text: String) {
        if self.isShown { TerminalDevice.write(text, to: STDERR_FILENO) }
    }
}
