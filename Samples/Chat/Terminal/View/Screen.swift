import LinkspanTerminal

/// Makes a terminal show frames, with as little output as that takes.
///
/// It stays on the normal screen, so that the conversation is still there after leaving, and in the scrollback while it
/// goes on: new rows come in at the bottom of a scroll region whose top is the top of the screen, and what leaves it
/// there is kept by the terminal. The region is set for the time of one frame only. Whatever ends the process, the
/// terminal is left with a region that is its own.
struct Screen: Sendable {
    private static let hideCursor = "\u{1B}[?25l"
    private static let showCursor = "\u{1B}[?25h"
    private static let bracketedPaste = (on: "\u{1B}[?2004h", off: "\u{1B}[?2004l")
    /// Off, so that a character that is wider than we think cannot spoil the next row.
    private static let autowrap = (on: "\u{1B}[?7h", off: "\u{1B}[?7l")
    private static let wholeRegion = "\u{1B}[r"
    /// Buttons and wheel are reported, in decimal numbers.
    private static let mouse = (on: "\u{1B}[?1000h\u{1B}[?1006h", off: "\u{1B}[?1006l\u{1B}[?1000l")

    private let style: Style
    /// Whether the wheel is ours; then a terminal selects text only with Shift.
    private var hasMouse: Bool
    private var size: TerminalSize?
    /// What stands in each row, when that is known.
    private var painted: [String?] = []
    /// The rows of the conversation that are on the screen.
    private var filled = 0
    /// The last row of the conversation that came in at the bottom.
    private var last: MessageList.Mark?
    private var isFollowing = true

    init(_ style: Style, hasMouse: Bool = false) {
        self.style = style
        self.hasMouse = hasMouse
    }

    /// Moves the screen's contents into the scrollback.
    mutating func enter(_ size: TerminalSize) -> String {
        self.painted = []
        return "\r" + String(repeating: "\n", count: size.rows - 1) + self.modes
    }

    /// Sets the terminal's modes again, which others may have changed, and redraws everything with the next frame.
    mutating func resume() -> String {
        self.painted = []
        return self.modes
    }

    /// Takes the mouse, or gives it back.
    mutating func setMouse(_ isOn: Bool) -> String {
        self.hasMouse = isOn
        return isOn ? Self.mouse.on : Self.mouse.off
    }

    private var modes: String { Self.bracketedPaste.on + Self.autowrap.off + (self.hasMouse ? Self.mouse.on : "") }

    /// Nothing is known any more about what the terminal shows.
    mutating func invalidate() { self.painted = [] }

    /// Shows a frame.
    ///
    /// - Parameters:
    ///   - frame: what to show.
    ///   - list: the conversation it is a view of.
    /// - Returns: what the terminal has to be sent.
    mutating func show(_ frame: Frame, of list: MessageList) -> String {
        var output = ""
        if self.size != frame.size || self.painted.count != frame.size.rows {
            self.size = frame.size
            self.painted = Array(repeating: nil, count: frame.size.rows)
            self.last = frame.list.last?.mark
        } else if frame.isFollowing, frame.listHeight > 1 {
            output += self.advance(frame, list)
        }
        self.isFollowing = frame.isFollowing
        self.filled = frame.list.count
        output += self.paint(frame.rows)
        let cursor = Self.move(frame.cursor.row, frame.cursor.column)
        return output.isEmpty ? cursor : Self.hideCursor + output + cursor + Self.showCursor
    }

    /// Leaves the conversation where it is, with the cursor below it and the terminal as it was.
    mutating func leave() -> String {
        defer { self.painted = [] }
        return Self.wholeRegion + Self.autowrap.on + Self.bracketedPaste.off + (self.hasMouse ? Self.mouse.off : "")
            + Self.move(self.filled, 0) + "\u{1B}[J" + Self.showCursor
    }

    /// Lets new rows come in at the bottom, one after the other, so that none is missing in the scrollback.
    private mutating func advance(_ frame: Frame, _ list: MessageList) -> String {
        let fresh = list.rows(after: self.last, width: frame.size.columns)
        guard let end = fresh.last?.mark else { return "" }
        var output = ""
        if !self.isFollowing {
            // What was scrolled away must not go into the scrollback a second time.
            var view = frame
            view.list = list.rows(frame.listHeight, width: frame.size.columns, endingAt: self.last)
            output += self.paint(view.rows)
            self.filled = view.list.count
        }
        self.last = end
        let room = max(0, frame.listHeight - self.filled)
        guard fresh.count > room else { return output }
        output += self.paint(fresh.prefix(room), at: self.filled)
        output += "\u{1B}[1;\(frame.listHeight)r" + Self.move(frame.listHeight - 1, 0)
        for row in fresh.dropFirst(room) {
            self.painted.remove(at: 0)
            self.painted.insert("", at: frame.listHeight - 1)
            output += "\n" + self.paint([row], at: frame.listHeight - 1)
        }
        return output + Self.wholeRegion
    }

    private mutating func paint(_ rows: some Collection<MessageList.Row>, at place: Int) -> String {
        var output = ""
        for (offset, row) in rows.enumerated() { output += self.paint(row.spans, row: place + offset) }
        return output
    }

    private mutating func paint(_ rows: [[Span]]) -> String {
        var output = ""
        for (row, spans) in rows.enumerated() { output += self.paint(spans, row: row) }
        return output
    }

    private mutating func paint(_ spans: [Span], row: Int) -> String {
        let text = self.style.paint(spans)
        guard self.painted.indices.contains(row), self.painted[row] != text else { return "" }
        let isBlank = self.painted[row] == ""
        self.painted[row] = text
        // Behind the last column the cursor has not moved on, and to erase the rest would erase that column.
        let isFull = isBlank || spans.columns >= self.size?.columns ?? .max
        return Self.move(row, 0) + text + (isFull ? "" : "\u{1B}[K")
    }

    private static func move(_ row: Int, _ column: Int) -> String { "\u{1B}[\(row + 1);\(column + 1)H" }
}

/// What is to be seen: the conversation above, and what belongs to the session below.
struct Frame: Sendable {
    var size: TerminalSize
    /// How many rows the conversation has.
    var listHeight: Int
    /// The rows in view, from the top; there may be fewer than there is room for.
    var list: [MessageList.Row]
    /// Whether the view is at the end of the conversation.
    var isFollowing: Bool
    /// The rows below the conversation.
    var panel: [[Span]]
    /// Where the cursor stands, counted from 0.
    var cursor: (row: Int, column: Int)

    /// All rows.
    var rows: [[Span]] {
        let blanks = Array(repeating: [Span](), count: max(0, self.listHeight - self.list.count))
        return self.list.map(\.spans) + blanks + self.panel
    }
}
