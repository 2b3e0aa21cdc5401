/// A terminal as far as the chat uses one: what would be seen on it, and what would be in its scrollback.
///
/// It knows nothing of the chat's own code, and counts what it does not know.
package struct TerminalEmulator: Sendable {
    /// A cell; a wide character leaves the next one empty.
    private typealias Cell = String

    package private(set) var columns: Int
    package private(set) var rows: Int
    /// What went out at the top.
    package private(set) var scrollback: [String] = []
    /// Sequences that are not known.
    package private(set) var unknown: [String] = []
    /// How often colours and other attributes were asked for.
    package private(set) var attributes = 0
    /// How often the bell was rung.
    package private(set) var bells = 0
    /// Modes by their number, as they were set last.
    package private(set) var modes: [Int: Bool] = [:]
    package private(set) var cursor = (row: 0, column: 0)
    private var cells: [[Cell]]
    private var region: ClosedRange<Int>
    private var bytes: [UInt8] = []
    private var pending = ""

    package init(columns: Int, rows: Int) {
        (self.columns, self.rows) = (columns, rows)
        self.cells = Array(repeating: Array(repeating: " ", count: columns), count: rows)
        self.region = 0...(rows - 1)
    }

    /// The rows, without the blanks at their ends.
    package var lines: [String] { self.cells.map(Self.line) }

    /// All rows.
    package var text: String { self.lines.joined(separator: "\n") }

    /// Whether the scroll region is the whole screen.
    package var isWhole: Bool { self.region == 0...(self.rows - 1) }

    /// Somebody makes the window larger or smaller: what is cut off at the top goes to the scrollback.
    package mutating func resize(columns: Int, rows: Int) {
        let surplus = max(0, self.cursor.row + 1 - rows)
        self.scrollback += self.cells.prefix(surplus).map(Self.line)
        var cells = self.cells.dropFirst(surplus).prefix(rows).map { row in
            Array((row + Array(repeating: " ", count: columns)).prefix(columns))
        }
        while cells.count < rows { cells.append(Array(repeating: " ", count: columns)) }
        (self.cells, self.columns, self.rows) = (cells, columns, rows)
        self.region = 0...(rows - 1)
        self.cursor = (min(self.cursor.row - surplus, rows - 1), min(self.cursor.column, columns - 1))
    }

    /// Takes output, in any parts.
    package mutating func feed(_ output: some Sequence<UInt8>) {
        self.bytes += output
        var text = String.UnicodeScalarView()
        var whole = self.bytes.count
        // The last scalar may have come in part.
        if let lead = self.bytes.lastIndex(where: { $0 < 0x80 || $0 >= 0xC0 }) {
            let byte = self.bytes[lead]
            let needed = byte < 0x80 ? 1 : byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4
            if self.bytes.count - lead < needed { whole = lead }
        }
        text.append(contentsOf: String(decoding: self.bytes[..<whole], as: UTF8.self).unicodeScalars)
        self.bytes.removeFirst(whole)
        for scalar in text { self.take(scalar) }
    }

    private mutating func take(_ scalar: Unicode.Scalar) {
        guard self.pending.isEmpty else {
            self.pending.unicodeScalars.append(scalar)
            let isEnd =
                self.pending.hasPrefix("\u{1B}[")
                ? self.pending.unicodeScalars.count > 2 && ("@"..."~").contains(scalar) : scalar != "["
            if isEnd {
                self.sequence(self.pending)
                self.pending = ""
            }
            return
        }
        switch scalar {
        case "\u{1B}": self.pending = "\u{1B}"
        case "\n": self.feedLine()
        case "\r": self.cursor.column = 0
        case "\u{7}": self.bells += 1
        case "\u{0}"..."\u{1F}", "\u{7F}"..."\u{9F}": self.unknown.append("control \(scalar.value)")
        default: self.put(scalar)
        }
    }

    private mutating func put(_ scalar: Unicode.Scalar) {
        var before = self.cursor.column - 1
        while before > 0, self.cells[self.cursor.row][before].isEmpty { before -= 1 }
        // A scalar that belongs to the character before it takes no cell.
        if before >= 0 {
            let joined = self.cells[self.cursor.row][before] + String(scalar)
            if joined.count == 1, self.cells[self.cursor.row][before] != " " {
                self.cells[self.cursor.row][before] = joined
                return
            }
        }
        let width = Self.isWide(scalar) ? 2 : 1
        // Autowrap is off.
        guard self.cursor.column + width <= self.columns else { return }
        self.cells[self.cursor.row][self.cursor.column] = String(scalar)
        if width == 2 { self.cells[self.cursor.row][self.cursor.column + 1] = "" }
        self.cursor.column += width
    }

    private mutating func feedLine() {
        if self.cursor.row == self.region.upperBound {
            let gone = self.cells.remove(at: self.region.lowerBound)
            if self.region.lowerBound == 0 { self.scrollback.append(Self.line(gone)) }
            self.cells.insert(Array(repeating: " ", count: self.columns), at: self.region.upperBound)
        } else if self.cursor.row < self.rows - 1 {
            self.cursor.row += 1
        }
    }

    private mutating func sequence(_ text: String) {
        let body = text.dropFirst(2).dropLast()
        let numbers = body.drop { $0 == "?" }.split(separator: ";", omittingEmptySubsequences: false)
            .map { Int($0) ?? 0 }
        switch (body.hasPrefix("?"), text.hasPrefix("\u{1B}[") ? text.last : nil) {
        case (false, "H"):
            let (row, column) = (numbers.first ?? 1, numbers.dropFirst().first ?? 1)
            self.cursor = (min(max(row, 1), self.rows) - 1, min(max(column, 1), self.columns) - 1)
        case (false, "C"): self.cursor.column = min(self.cursor.column + (numbers.first ?? 1), self.columns - 1)
        case (false, "K"): self.erase(self.cursor.row, from: self.cursor.column)
        case (false, "J"):
            self.erase(self.cursor.row, from: self.cursor.column)
            for row in (self.cursor.row + 1)..<max(self.rows, self.cursor.row + 1) { self.erase(row, from: 0) }
        case (false, "r"):
            let bottom = numbers.dropFirst().first ?? self.rows
            self.region = 0...(min(max(bottom, 2), self.rows) - 1)
            self.cursor = (0, 0)
        case (false, "m"): self.attributes += 1
        case (true, "h"), (true, "l"): for number in numbers { self.modes[number] = text.last == "h" }
        default: self.unknown.append(text.replacing("\u{1B}", with: "ESC "))
        }
    }

    private mutating func erase(_ row: Int, from column: Int) {
        for place in column..<self.columns { self.cells[row][place] = " " }
    }

    private static func line(_ row: [Cell]) -> String {
        var line = row.joined()
        while line.last == " " { line.removeLast() }
        return line
    }

    private static func isWide(_ scalar: Unicode.Scalar) -> Bool {
        scalar.properties.isEmojiPresentation || (0x1100...0x115F).contains(scalar.value)
            || (0x2E80...0xA4CF).contains(scalar.value) || (0xAC00...0xD7A3).contains(scalar.value)
            || (0xFF01...0xFF60).contains(scalar.value)
    }
}
